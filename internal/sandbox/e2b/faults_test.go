//go:build linux

// This file lets everything go wrong that does in the cloud, at every step: sandboxes are made once, commands run once, nothing
// is left behind, and what is said names the cause.

package e2b

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/e2b/e2btest"
	"sandboxagent/internal/sandbox/sandboxtest"
)

// patience is how long a condition may take that holds within a second on an idle machine.
const patience = 90 * time.Second

// hasty makes a backend that does not wait between tries.
func hasty(t *testing.T, s *e2btest.Server) (*Backend, *cloudtest.Waits) {
	t.Helper()
	w := &cloudtest.Waits{}
	return newBackend(t, s, func(o *Options) { o.sleep = w.Sleep }), w
}

func open(t *testing.T, b *Backend, id string) sandbox.Sandbox {
	t.Helper()
	box, err := b.Open(t.Context(), sandbox.Spec{ID: id})
	require.NoError(t, err)
	return box
}

var (
	await   = sandboxtest.Await
	succeed = sandboxtest.Succeed
)

func output(t *testing.T, s sandbox.Sandbox, id string) string {
	t.Helper()
	return sandboxtest.Output(t, s, id, sandbox.Stdout)
}

// retryAfterHeader asks to wait the way E2B does.
func retryAfterHeader(seconds string) http.Header { return http.Header{"Retry-After": {seconds}} }

// notReady is what the proxy says while a sandbox runs whose daemon does not answer yet.
const notReady = `{"sandboxId": "i", "message": "The sandbox is running but port is not open", "port": 49983, "code": 502}`

// trouble is one that passes.
type trouble struct {
	fault          cloudtest.Fault
	pause          bool // the sandbox is paused just before
	control, inner bool // what it may hit
}

// at returns the trouble with a request to the server's one sandbox.
func (d trouble) at(s *e2btest.Server, op string, after int) cloudtest.Fault {
	fault := d.fault
	fault.Op, fault.After = op, after
	if d.pause {
		fault.Do = func() { _ = s.Pause(s.Sandboxes()[0].ID) }
	}
	return fault
}

var passing = map[string]trouble{
	"rate limit":     {fault: cloudtest.Fault{Status: 429, Header: retryAfterHeader("2")}, control: true, inner: true},
	"server error":   {fault: cloudtest.Fault{Status: 500}, control: true, inner: true},
	"empty answer":   {fault: cloudtest.Fault{Status: 502, Body: "\n"}, control: true, inner: true},
	"no capacity":    {fault: cloudtest.Fault{Status: 503}, control: true},
	"late":           {fault: cloudtest.Fault{Status: 504}, control: true},
	"changing state": {fault: cloudtest.Fault{Status: 409}, control: true, inner: true},
	"several errors": {fault: cloudtest.Fault{Status: 500, Times: 2}, control: true, inner: true},
	"lost answer":    {fault: cloudtest.Fault{Lost: true}, control: true, inner: true},
	"cut answer":     {fault: cloudtest.Fault{Cut: 20}, control: true, inner: true},
	"slow start":     {fault: cloudtest.Fault{Status: 502, Body: notReady, Times: 3}, inner: true},
	"paused":         {pause: true, inner: true},
	"slow":           {fault: cloudtest.Fault{Delay: 50 * time.Millisecond}, control: true, inner: true},
}

// step is a request of opening a sandbox.
type step struct {
	op    string
	after int
	inner bool
}

var steps = []step{
	{op: "list"},
	{op: "list", after: 1},
	{op: "create"},
	{op: "connect"},
	{op: "Start", inner: true},
	{op: "upload", inner: true},
	{op: "Start", after: 1, inner: true},
	{op: "Start", after: 2, inner: true},
	{op: "SendInput", inner: true},
}

// full reports whether the slow suites were asked for.
func full() bool { return os.Getenv("SANDBOX_TEST_FULL") == "1" }

// In the slow suites trouble comes also at one step alone.
func TestOpeningInTrouble(t *testing.T) {
	for name, trouble := range passing {
		var all []step
		for _, step := range steps {
			if step.inner && !trouble.inner || !step.inner && !trouble.control {
				continue
			}
			if step.after == 0 {
				all = append(all, step)
			}
			if full() {
				t.Run(fmt.Sprintf("%s at %s %d", name, step.op, step.after), func(t *testing.T) { opensInTrouble(t, trouble, step) })
			}
		}
		t.Run(name+" at every step", func(t *testing.T) { opensInTrouble(t, trouble, all...) })
	}
}

func opensInTrouble(t *testing.T, trouble trouble, steps ...step) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	for _, step := range steps {
		s.Inject(trouble.at(s, step.op, step.after))
	}
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "once", sandbox.Command{Script: "echo run >> count"}))
	require.Zero(t, await(t, box, "once").ExitCode)
	require.Zero(t, s.Pending(), "it did happen")
	requireOne(t, s)
	require.Equal(t, "run", succeed(t, box, "cat count"))
	require.NoError(t, b.Destroy(t.Context(), box.Ref()))
	require.Empty(t, s.Sandboxes(), "nothing is left to be paid for")
}

// requireOne requires that there is one sandbox, and never was another.
func requireOne(t *testing.T, s *e2btest.Server) {
	t.Helper()
	require.Len(t, s.Sandboxes(), 1)
	require.Equal(t, 1, s.Created())
}

func TestWorkingInTrouble(t *testing.T) {
	for name, trouble := range passing {
		if !trouble.inner {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t, e2btest.Options{})
			b, _ := hasty(t, s)
			box := open(t, b, "s")
			strike := func(op string) {
				t.Helper()
				require.Zero(t, s.Pending(), "the last one did happen")
				s.Inject(trouble.at(s, op, 0))
			}
			ctx := t.Context()
			strike("SendInput")
			require.NoError(t, box.Start(ctx, "once", sandbox.Command{Script: "echo run >> count; echo out; read x; echo got $x", Stdin: true}))
			strike("SendInput")
			require.NoError(t, box.Apply(ctx, "edit", []sandbox.Edit{{Path: "f", Content: []byte("x")}}))
			strike("SendInput")
			content, err := box.ReadFile(ctx, "f", 0, 10)
			require.NoError(t, err)
			require.Equal(t, "x", string(content.Data))
			strike("SendInput")
			if err := box.Input(ctx, "once", []byte("it\n"), true); err != nil {
				require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(err), "%v", err)
			}
			require.NoError(t, box.Health(ctx))
			require.NoError(t, s.Cut(s.Sandboxes()[0].ID))
			strike("Start")
			require.NoError(t, box.Start(ctx, "long", sandbox.Command{Script: "echo begun; sleep 600"}))
			strike("SendInput")
			require.NoError(t, box.Kill(ctx, "long"))
			strike("SendInput")
			require.True(t, await(t, box, "long").Killed)
			require.NoError(t, box.Kill(ctx, "once"))
			require.Equal(t, "out\n", output(t, box, "once")[:4])
			require.Equal(t, "run", succeed(t, box, "cat count"))
			requireOne(t, s)
		})
	}
}

// What does not pass by itself is told at once, with what to do about it.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		fault cloudtest.Fault
		class sandbox.Class
		says  string
	}{
		"bad key":      {cloudtest.Fault{Op: "list", Status: 401}, sandbox.ClassDenied, "E2B_API_KEY"},
		"blocked":      {cloudtest.Fault{Op: "create", Status: 403}, sandbox.ClassDenied, "E2B's dashboard"},
		"bad request":  {cloudtest.Fault{Op: "create", Status: 400}, sandbox.ClassInvalid, "status 400"},
		"too many":     {cloudtest.Fault{Op: "create", Status: 429}, sandbox.ClassLimit, "pause or destroy another session"},
		"long wait":    {cloudtest.Fault{Op: "connect", Status: 429, Header: retryAfterHeader("3600")}, sandbox.ClassUnavailable, "1h0m0s"},
		"down":         {cloudtest.Fault{Op: "list", Status: 503, Times: 100}, sandbox.ClassUnavailable, "status page"},
		"always moves": {cloudtest.Fault{Op: "connect", Status: 409, Times: 100}, sandbox.ClassUnavailable, "changing its state"},
		"no template":  {cloudtest.Fault{Op: "create", Status: 404, Body: `{"code": 404, "message": "template 'base' not found"}`}, sandbox.ClassInvalid, "choose another one"},
		"other server": {cloudtest.Fault{Op: "list", Status: 404, Body: "no such page", Times: 100}, sandbox.ClassUnavailable, "E2B_API_URL"},
		"redirected":   {cloudtest.Fault{Op: "list", Status: 302}, sandbox.ClassInvalid, "status 302"},
		"full disk":    {cloudtest.Fault{Op: "upload", Status: 507}, sandbox.ClassLimit, "disk of the E2B sandbox is full"},
		"bad token":    {cloudtest.Fault{Op: "Start", Status: 401}, sandbox.ClassDenied, "access token"},
		"old daemon":   {cloudtest.Fault{Op: "Start", Status: 415}, sandbox.ClassUnsupported, "newer template"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t, e2btest.Options{})
			b, w := hasty(t, s)
			s.Inject(c.fault)
			_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
			require.Equal(t, c.class, sandbox.ClassOf(err), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), e2btest.DefaultKey)
			require.Less(t, w.Total(), 2*time.Minute, "waiting is bounded")
			require.LessOrEqual(t, s.Created(), 1)
		})
	}
}

// When E2B does not tell what became of a request, no sandbox is left that nobody uses.
func TestNeverAnAnswerToCreate(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	s.Inject(cloudtest.Fault{Op: "create", Status: 500, Times: 100})
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.Equal(t, makeTries, s.Requests("create"))

	// the list lags behind, so that the one made without an answer shows only when another was made
	s = e2btest.New(t, e2btest.Options{})
	b, _ = hasty(t, s)
	s.Inject(cloudtest.Fault{Op: "create", Lost: true})
	s.Inject(cloudtest.Fault{Op: "list", After: 1, Times: lookTries, Status: 200, Body: "[]"})
	box := open(t, b, "s")
	require.Equal(t, "ok", succeed(t, box, "echo ok"))
	require.Equal(t, 2, s.Created())
	require.Len(t, s.Sandboxes(), 1, "the other one is removed")
}

func TestGone(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	box := open(t, b, "s")
	lost, err := b.Lost(t.Context(), box.Ref())
	require.NoError(t, err)
	require.False(t, lost)
	require.NoError(t, box.Start(t.Context(), "c", sandbox.Command{Script: "echo one > f; sleep 600"}))
	require.NoError(t, s.Kill(s.Sandboxes()[0].ID))
	for range 2 {
		_, err := box.Wait(t.Context(), "c", sandbox.Offsets{}, time.Minute)
		require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err), "%v", err)
	}
	require.Equal(t, 1, s.Created(), "a stale sandbox does not bring it back")
	lost, err = b.Lost(t.Context(), box.Ref())
	require.NoError(t, err)
	require.True(t, lost)
	_, err = b.Attach(t.Context(), box.Ref())
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err))
	require.Equal(t, 1, s.Created(), "attaching makes none")

	s.Inject(cloudtest.Fault{Op: "list", Status: 500, Times: cloud.Tries})
	_, err = b.Lost(t.Context(), box.Ref())
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), "not knowing is no loss")

	next := open(t, b, "s")
	require.Greater(t, next.Ref().Epoch, box.Ref().Epoch)
	require.Empty(t, succeed(t, next, "ls"))
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	key := ""
	var log journal
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b := newBackend(t, s, func(o *Options) { o.APIKey, o.Logger = func() string { return key }, logger })
	err := b.Available(t.Context())
	require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "set E2B_API_KEY")
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(err))
	key = " " + e2btest.DefaultKey + "\n"
	require.NoError(t, b.Available(t.Context()))
	box := open(t, b, "s")
	require.NotContains(t, succeed(t, box, "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"), e2btest.DefaultKey, "the key does not get into the sandbox")
	s.Inject(cloudtest.Fault{Op: "list", Status: 429, Header: retryAfterHeader("1")})
	require.NoError(t, b.Destroy(t.Context(), box.Ref()))
	require.Contains(t, log.String(), "asked again")
	require.NotContains(t, log.String(), e2btest.DefaultKey, "nor into the log")
	key = ""
	require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(b.Destroy(t.Context(), box.Ref())), "nobody can tell whether something was made")
}

// An error of E2B that repeats the key does not get it into a log.
func TestKeyIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	s.Inject(cloudtest.Fault{Op: "list", Status: 400, Body: `{"message": "the key ` + e2btest.DefaultKey + ` is odd"}`})
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.ErrorContains(t, err, "the key (the key) is odd")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, w := hasty(t, s)
	b.opts.APIURL = "http://127.0.0.1:1"
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "check the network connection")
	require.Len(t, w.All(), cloud.Tries-1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Open(ctx, sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassCanceled, sandbox.ClassOf(err))
}
