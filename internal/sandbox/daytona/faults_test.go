//go:build linux

// This file lets everything go wrong that does in the cloud, at every step: sandboxes are made once, commands run once, nothing
// is left behind, and what is said names the cause.

package daytona

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
	"sandboxagent/internal/sandbox/sandboxtest"
)

// patience is how long a condition may take that holds within a second on an idle machine.
const patience = 90 * time.Second

// hasty makes a backend that does not wait between tries.
func hasty(t *testing.T, s *daytonatest.Server) (*Backend, *cloudtest.Waits) {
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

// retryAfterHeader asks to wait the way Daytona does.
func retryAfterHeader(seconds string) http.Header {
	return http.Header{"Retry-After-Authenticated": {seconds}}
}

// passing are the troubles that pass, by what they may hit. Those that are tried everywhere stand for their kind.
var passing = map[string]struct {
	fault                      cloudtest.Fault
	control, inner, everywhere bool
}{
	"rate limit":         {cloudtest.Fault{Status: 429, Header: retryAfterHeader("2")}, true, true, true},
	"rate limit, no say": {cloudtest.Fault{Status: 429}, true, true, false},
	"server error":       {cloudtest.Fault{Status: 500}, true, true, true},
	"empty answer":       {cloudtest.Fault{Status: 502, Body: "\n"}, true, true, false},
	"no capacity":        {cloudtest.Fault{Status: 503}, true, true, false},
	"late":               {cloudtest.Fault{Status: 504}, true, true, false},
	"page for people":    {cloudtest.Fault{Status: 502, Body: "<html><body>Bad gateway</body></html>"}, true, true, false},
	"several errors":     {cloudtest.Fault{Status: 500, Times: 2}, true, true, false},
	"lost answer":        {cloudtest.Fault{Lost: true}, true, true, true},
	"cut answer":         {cloudtest.Fault{Cut: 20}, true, true, false},
	"slow":               {cloudtest.Fault{Delay: 50 * time.Millisecond}, true, true, false},
	"not started":        {cloudtest.Fault{Status: 400, Body: `{"message": "bad request: no IP address found. Is the Sandbox started?"}`}, false, true, true},
	"not known yet":      {cloudtest.Fault{Status: 401, Body: `{"message": "unauthorized: Bearer token is invalid"}`}, false, true, false},
	"no container":       {cloudtest.Fault{Status: 404, Body: `{"message": "sandbox container not found"}`}, false, true, false},
}

func TestOpeningInTrouble(t *testing.T) {
	steps := []struct {
		op    string
		after int
		inner bool
	}{
		{"get", 0, false},
		{"create", 0, false},
		{"get", 1, false},
		{"execute", 0, true},
		{"upload", 0, true},
		{"execute", 1, true},
		{"execute", 2, true},
		{"terminals", 0, true},
		{"terminals", 1, true},
		{"connect", 0, true},
	}
	sampled := []string{"create", "connect"} // troubles of other kinds are judged alike, whatever was asked for
	for name, trouble := range passing {
		for _, step := range steps {
			if step.inner && !trouble.inner || !step.inner && !trouble.control {
				continue
			}
			if !trouble.everywhere && !slices.Contains(sampled, step.op) {
				continue
			}
			t.Run(fmt.Sprintf("%s at %s %d", name, step.op, step.after), func(t *testing.T) {
				t.Parallel()
				s := daytonatest.New(t, daytonatest.Options{})
				b, _ := hasty(t, s)
				fault := trouble.fault
				fault.Op, fault.After = step.op, step.after
				s.Inject(fault)
				box := open(t, b, "s")
				require.NoError(t, box.Start(t.Context(), "once", sandbox.Command{Script: "echo run >> count"}))
				require.Zero(t, await(t, box, "once").ExitCode)
				require.Zero(t, s.Pending(), "it did happen")
				requireOne(t, s)
				require.Equal(t, "run", succeed(t, box, "cat count"))
				require.NoError(t, b.Destroy(t.Context(), box.Ref()))
				require.Empty(t, s.Sandboxes(), "nothing is left to be paid for")
			})
		}
	}
}

// requireOne requires that there is one sandbox, and never was another.
func requireOne(t *testing.T, s *daytonatest.Server) {
	t.Helper()
	require.Len(t, s.Sandboxes(), 1)
	require.Equal(t, 1, s.Created())
}

// Connections break, and sandboxes stop, between and during calls.
func TestWorkingInTrouble(t *testing.T) {
	for name, trouble := range passing {
		if !trouble.inner || !trouble.everywhere {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Options{})
			b, _ := hasty(t, s)
			box := open(t, b, "s")
			strike := func(op string) {
				t.Helper()
				require.Zero(t, s.Pending(), "the last one did happen")
				fault := trouble.fault
				fault.Op = op
				s.Inject(fault)
				require.NoError(t, s.Cut(s.Sandboxes()[0].ID))
			}
			ctx := t.Context()
			strike("execute")
			require.NoError(t, box.Start(ctx, "once", sandbox.Command{Script: "echo run >> count; echo out; read x; echo got $x", Stdin: true}))
			strike("connect")
			require.NoError(t, box.Apply(ctx, "edit", []sandbox.Edit{{Path: "f", Content: []byte("x")}}))
			strike("terminals")
			content, err := box.ReadFile(ctx, "f", 0, 10)
			require.NoError(t, err)
			require.Equal(t, "x", string(content.Data))
			strike("execute")
			if err := box.Input(ctx, "once", []byte("it\n"), true); err != nil {
				require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(err), "%v", err)
			}
			require.NoError(t, box.Health(ctx))
			strike("connect")
			require.NoError(t, box.Start(ctx, "long", sandbox.Command{Script: "echo begun; sleep 600"}))
			strike("execute")
			require.NoError(t, box.Kill(ctx, "long"))
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
		"bad key":       {cloudtest.Fault{Op: "get", Status: 401}, sandbox.ClassDenied, "DAYTONA_API_KEY"},
		"blocked":       {cloudtest.Fault{Op: "create", Status: 403}, sandbox.ClassDenied, "permissions in Daytona's dashboard"},
		"bad request":   {cloudtest.Fault{Op: "create", Status: 400}, sandbox.ClassInvalid, "status 400"},
		"quota":         {cloudtest.Fault{Op: "create", Status: 400, Body: `{"message": "Total CPU limit exceeded. Maximum allowed: 10."}`}, sandbox.ClassLimit, "Maximum allowed: 10"},
		"no snapshot":   {cloudtest.Fault{Op: "create", Status: 400, Body: `{"message": "Snapshot x not found"}`}, sandbox.ClassInvalid, "choose another image or snapshot"},
		"long wait":     {cloudtest.Fault{Op: "create", Status: 429, Header: http.Header{"Retry-After-Sandbox-Create": {"3600"}}}, sandbox.ClassUnavailable, "1h0m0s"},
		"always busy":   {cloudtest.Fault{Op: "create", Status: 429, Times: 100}, sandbox.ClassUnavailable, "no more requests"},
		"down":          {cloudtest.Fault{Op: "get", Status: 503, Times: 100}, sandbox.ClassUnavailable, "status page"},
		"other server":  {cloudtest.Fault{Op: "get", Status: 200, Body: "<html>"}, sandbox.ClassUnavailable, "DAYTONA_API_URL"},
		"redirected":    {cloudtest.Fault{Op: "get", Status: 307}, sandbox.ClassInvalid, "status 307"},
		"name taken":    {cloudtest.Fault{Op: "create", Status: 409, Times: 100}, sandbox.ClassUnavailable, "changing its state"},
		"no disk":       {cloudtest.Fault{Op: "upload", Status: 400, Body: `{"errors": ["x: no space left on device"]}`}, sandbox.ClassLimit, "disk of the Daytona sandbox is full"},
		"not allowed":   {cloudtest.Fault{Op: "execute", Status: 403, Times: 100}, sandbox.ClassDenied, "permissions"},
		"never answers": {cloudtest.Fault{Op: "execute", Status: 502, Times: 100}, sandbox.ClassUnavailable, "status 502"},
		"other daemon":  {cloudtest.Fault{Op: "terminals", Status: 405, Times: 2}, sandbox.ClassUnsupported, "update this program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Options{})
			b, w := hasty(t, s)
			s.Inject(c.fault)
			_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
			require.Equal(t, c.class, sandbox.ClassOf(err), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), daytonatest.DefaultKey)
			require.Less(t, w.Total(), 4*time.Minute, "waiting is bounded")
			require.LessOrEqual(t, s.Created(), 1)
		})
	}
}

// When Daytona does not tell what became of a request, there is one sandbox all the same.
func TestNeverAnAnswerToCreate(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b, _ := hasty(t, s)
	s.Inject(cloudtest.Fault{Op: "create", Lost: true, Times: 100})
	s.Inject(cloudtest.Fault{Op: "get", After: 1, Times: 2, Status: 404}) // and it shows late
	box := open(t, b, "s")
	require.Equal(t, "ok", succeed(t, box, "echo ok"))
	requireOne(t, s)

	s = daytonatest.New(t, daytonatest.Options{})
	b, _ = hasty(t, s)
	s.Inject(cloudtest.Fault{Op: "create", Status: 500, Times: 100})
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.Equal(t, cloud.Tries, s.Requests("create"))
}

// A sandbox that never starts is not left, and not made again and again.
func TestStartFails(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Images: []string{"good:1"}})
	b, _ := hasty(t, s)
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s", Image: "bad:1"})
	require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "cannot build the image")
	require.ErrorContains(t, err, "told to let it fail")
	require.Empty(t, s.Sandboxes())
	require.Equal(t, 1, s.Created())

	s.Inject(cloudtest.Fault{Op: "get", After: 1, Do: func() { _ = s.Break(s.Sandboxes()[0].ID, false) }})
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.ErrorContains(t, err, "has failed")
	require.Empty(t, s.Sandboxes())
	require.Equal(t, 2, s.Created())

	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s", Image: "good:1"})
	require.NoError(t, err)
	text := s.Sandboxes()[0].Request
	require.Contains(t, text, `"buildInfo":{"dockerfileContent":"FROM good:1\n"}`)
}

// One that fails later is recovered if Daytona can do that, and never removed otherwise.
func TestFailsLater(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b, _ := hasty(t, s)
	box := open(t, b, "s")
	succeed(t, box, "echo kept > file")
	require.NoError(t, s.Break(s.Sandboxes()[0].ID, true))
	require.Equal(t, "kept", succeed(t, box, "cat file"))
	require.NoError(t, s.Break(s.Sandboxes()[0].ID, false))
	err := box.Health(t.Context())
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "look at it in Daytona's dashboard")
	require.NoError(t, b.Stop(t.Context(), box.Ref()), "it does not run")
	requireOne(t, s)
	require.NoError(t, b.Destroy(t.Context(), box.Ref()))
	require.Empty(t, s.Sandboxes())
}

func TestGone(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
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

	s.Inject(cloudtest.Fault{Op: "get", Status: 500, Times: cloud.Tries})
	_, err = b.Lost(t.Context(), box.Ref())
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), "not knowing is no loss")

	next := open(t, b, "s")
	require.Greater(t, next.Ref().Epoch, box.Ref().Epoch)
	require.Empty(t, succeed(t, next, "ls"))
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
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
