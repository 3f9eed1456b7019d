//go:build linux

// This file tests the life of a sandbox: made once, found again by anybody, paused, and gone.

package e2b

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/e2b/e2btest"
)

// bridges counts the connections to the helpers below a directory.
func bridges(home string) int { return len(cloudtest.Matching("stdio --state " + home + "/")) }

// Workers that know nothing of each other make one sandbox.
func TestOpenedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	one, other := newBackend(t, s), newBackend(t, s)
	var wg sync.WaitGroup
	for i, b := range []*Backend{one, other, one, other} {
		wg.Go(func() {
			box, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
			if err == nil {
				err = box.Start(t.Context(), "once", sandbox.Command{Script: "echo run >> count"})
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	box := open(t, one, "s")
	require.Equal(t, box.Ref(), open(t, other, "s").Ref())
	await(t, box, "once")
	require.Equal(t, "run", succeed(t, box, "cat count"))
	require.Len(t, s.Sandboxes(), 1)
}

// Of two sandboxes that were made by mistake the one that was worked in stays, whichever is older.
func TestMadeTwice(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("older used %t", first), func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t, e2btest.Options{})
			b, _ := hasty(t, s)
			if !first {
				_, f := b.create(t.Context(), DefaultTemplate, b.labels(sandbox.Spec{ID: "s"}))
				require.NoError(t, f.Fault())
				s.Inject(cloudtest.Fault{Op: "list", Times: 2, Status: 200, Body: "[]"})
			}
			succeed(t, open(t, b, "s"), "echo work > file")
			if first {
				_, f := b.create(t.Context(), DefaultTemplate, b.labels(sandbox.Spec{ID: "s"}))
				require.NoError(t, f.Fault())
			}
			require.Len(t, s.Sandboxes(), 2)
			next, _ := hasty(t, s)
			require.Equal(t, "work", succeed(t, open(t, next, "s"), "cat file"))
			require.Len(t, s.Sandboxes(), 1)
		})
	}
}

// Where both were worked in, nothing is removed, until the session is destroyed.
func TestWorkedInTwice(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	one, _ := hasty(t, s)
	other, _ := hasty(t, s)
	succeed(t, open(t, one, "s"), "echo older > file")
	s.Inject(cloudtest.Fault{Op: "list", Times: 2, Status: 200, Body: "[]"})
	succeed(t, open(t, other, "s"), "echo younger > file")
	next, _ := hasty(t, s)
	box := open(t, next, "s")
	require.Equal(t, "older", succeed(t, box, "cat file"))
	require.Len(t, s.Sandboxes(), 2)
	require.NoError(t, next.Destroy(t.Context(), box.Ref()))
	require.Empty(t, s.Sandboxes())
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s)
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "while [ ! -e go ]; do sleep 0.05; done; echo done"}))
	require.NoError(t, b.Stop(t.Context(), box.Ref()))
	require.False(t, s.Sandboxes()[0].Running)
	require.NoError(t, b.Stop(t.Context(), box.Ref()), "again")
	require.NoError(t, b.Stop(t.Context(), sandbox.Ref{ID: "never made"}))
	lost, err := b.Lost(t.Context(), box.Ref())
	require.NoError(t, err)
	require.False(t, lost, "what is paused is not lost")

	succeed(t, box, "touch go")
	require.Zero(t, await(t, box, "long").ExitCode, "using it wakes it with its processes")
	eventually(t, "that one connection is left", func() bool { return bridges(s.Sandboxes()[0].Home) == 1 })
	require.NoError(t, newBackend(t, s).Stop(t.Context(), box.Ref()), "by another worker")
	require.Equal(t, "file", succeed(t, open(t, b, "s"), "touch file; ls | grep file"))
}

func TestStopInTrouble(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	box := open(t, b, "s")
	for _, fault := range []cloudtest.Fault{
		{Op: "pause", Status: 409, Times: 2},
		{Op: "pause", Status: 500, Times: 2},
		{Op: "pause", Status: 429, Header: retryAfterHeader("1")},
		{Op: "pause", Lost: true},
		{Op: "pause", Do: func() { _ = s.Pause(s.Sandboxes()[0].ID) }},
		{Op: "pause", Do: func() { _ = s.Kill(s.Sandboxes()[0].ID) }},
	} {
		require.NoError(t, open(t, b, "s").Health(t.Context()))
		s.Inject(fault)
		require.NoError(t, b.Stop(t.Context(), box.Ref()), "%+v", fault)
		require.Zero(t, s.Pending())
		for _, one := range s.Sandboxes() {
			require.False(t, one.Running, "%+v", fault)
		}
	}
}

func TestDestroyInTrouble(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	for name, fault := range map[string]cloudtest.Fault{
		"lost answer":  {Op: "delete", Lost: true},
		"server error": {Op: "delete", Status: 500, Times: 2},
		"rate limit":   {Op: "delete", Status: 429, Header: retryAfterHeader("1")},
		"moving":       {Op: "delete", Status: 409, Times: 3},
		"gone":         {Op: "delete", Do: func() { _ = s.Kill(s.Sandboxes()[0].ID) }},
		"no list":      {Op: "list", Status: 503, Times: 2},
		"empty list":   {Op: "list", Status: 200, Body: "[]"},
	} {
		box := open(t, b, "s")
		s.Inject(fault)
		require.NoError(t, b.Destroy(t.Context(), box.Ref()), name)
		require.Zero(t, s.Pending(), name)
		require.Empty(t, s.Sandboxes(), name)
		require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(box.Health(t.Context())), name)
	}
}

// Giving up while a sandbox is made leaves none behind, though it may appear only when its session is destroyed.
func TestCanceledWhileItIsMade(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s, func(o *Options) {
		o.sleep = func(ctx context.Context, _ time.Duration) error {
			return cloud.SleepBy(cloud.WallClock{})(ctx, 500*time.Millisecond)
		}
	})
	s.Inject(cloudtest.Fault{Op: "create", Delay: 500 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually(t, "that it is asked for", func() bool { return s.Requests("create") == 1 })
		cancel()
	}()
	_, err := b.Open(ctx, sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassCanceled, sandbox.ClassOf(err))
	require.NoError(t, b.Destroy(t.Context(), sandbox.Ref{ID: "s"}))
	require.Equal(t, 1, s.Created())
	require.Empty(t, s.Sandboxes())
}

// The next worker finds a running command at its output, and a destroyed sandbox nowhere.
func TestNextWorker(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s)
	first := open(t, b, "s")
	home := s.Sandboxes()[0].Home
	require.NoError(t, first.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count; echo 1; while [ ! -e go ]; do sleep 0.05; done; echo 2"}))
	require.NoError(t, b.Close())
	eventually(t, "that nothing is left of the connection", func() bool { return bridges(home) == 0 })
	next := newBackend(t, s)
	second, err := next.Attach(t.Context(), first.Ref())
	require.NoError(t, err)
	require.Equal(t, first.Ref(), second.Ref())
	require.NoError(t, second.Start(t.Context(), "long", sandbox.Command{Script: "echo twice >> count"}))
	succeed(t, second, "touch go")
	require.Zero(t, await(t, second, "long").ExitCode)
	require.Equal(t, "1\n2\n", output(t, second, "long"))
	require.Equal(t, "once", succeed(t, second, "cat count"))

	old := open(t, b, "s")
	require.NoError(t, next.Destroy(t.Context(), second.Ref()))
	for _, box := range []sandbox.Sandbox{old, second} {
		require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(box.Health(t.Context())), "%v", box.Health(t.Context()))
	}
	require.Empty(t, s.Sandboxes())
}

// A connection that broke leaves no process behind once there is another.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, _ := hasty(t, s)
	box := open(t, b, "s")
	for i := range 5 {
		require.NoError(t, s.Cut(s.Sandboxes()[0].ID))
		if i%2 == 0 {
			s.Inject(cloudtest.Fault{Op: "Start", Lost: true})
			s.Inject(cloudtest.Fault{Op: "SendSignal", Status: 500})
		}
		require.Equal(t, "ok", succeed(t, box, "echo ok"))
	}
	require.Zero(t, s.Pending())
	eventually(t, "that one connection is left", func() bool { return bridges(s.Sandboxes()[0].Home) == 1 })
}

// A sandbox that does not say anything any more is connected to anew.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s, func(o *Options) { o.ping = time.Second })
	box := open(t, b, "s")
	require.NoError(t, syscall.Kill(s.Sandboxes()[0].Daemon, syscall.SIGSTOP))
	waited := make(chan error, 1)
	go func() { waited <- box.Health(t.Context()) }()
	x := b.boxes.Known("s")
	eventually(t, "that the silence is noticed", func() bool { return !x.Connected() })
	require.NoError(t, syscall.Kill(s.Sandboxes()[0].Daemon, syscall.SIGCONT))
	require.NoError(t, <-waited)
}

func TestHelperIsInstalledAgain(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s)
	box := open(t, b, "s")
	succeed(t, box, "echo kept > file; rm -r ~/.sandbox-agent/bin")
	require.NoError(t, syscall.Kill(helperOf(t, s, "s"), syscall.SIGKILL))
	require.Equal(t, "kept", succeed(t, box, "cat file"))
	require.Equal(t, 2, s.Requests("upload"))

	text, err := os.ReadFile(b.opts.HelperBinary)
	require.NoError(t, err)
	newer := filepath.Join(t.TempDir(), helper.Name)
	require.NoError(t, os.WriteFile(newer, append(text, "newer"...), 0o755))
	next := newBackend(t, s, func(o *Options) { o.HelperBinary = newer })
	require.Equal(t, "kept", succeed(t, open(t, next, "s"), "cat file"), "a newer one takes over")
	require.Equal(t, "2", succeed(t, open(t, next, "s"), "ls ~/.sandbox-agent/bin | wc -l"))
}

// A workspace may be where the user of the sandbox can make no directory, as at the root.
func TestWorkspaceAtTheRoot(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	dir, err := os.MkdirTemp("", "e2b-root") // others than its owner may not write to it
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	root := filepath.Join(dir, "workspace")
	b := newBackend(t, s, func(o *Options) { o.Root = root })
	box := open(t, b, "s")
	require.Equal(t, root, box.Ref().Workspace)
	require.Equal(t, root, succeed(t, box, "touch file; pwd"))
	if os.Getuid() != 0 {
		return // everything belongs to the same user here
	}
	b = newBackend(t, s, func(o *Options) { o.Root = dir })
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "other"})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err), "somebody else's directory")
}

func TestOlderInterface(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{Legacy: true})
	b := newBackend(t, s)
	box := open(t, b, "s")
	require.NoError(t, b.Stop(t.Context(), box.Ref()))
	require.Equal(t, "ok", succeed(t, box, "echo ok"))
	require.NoError(t, s.Kill(s.Sandboxes()[0].ID))
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(box.Health(t.Context())))
	require.Equal(t, 1, s.Created())
}

func TestList(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{Page: 1})
	b := newBackend(t, s)
	for _, spec := range []sandbox.Spec{
		{ID: "b & c=d é", Owner: "one", Realm: "r"},
		{ID: "a", Owner: "other"},
	} {
		_, err := b.Open(t.Context(), spec)
		require.NoError(t, err)
	}
	_, f := b.create(t.Context(), DefaultTemplate, map[string]string{"somebody": "else"})
	require.NoError(t, f.Fault())
	all, err := b.List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "a", all[0].ID)
	require.WithinDuration(t, time.Now(), all[0].Made, patience)
	mine, err := b.List(t.Context(), "one")
	require.NoError(t, err)
	require.Len(t, mine, 1)
	require.Equal(t, "b & c=d é", mine[0].ID)
	require.Equal(t, "r", mine[0].Realm)
	require.Equal(t, "b & c=d é", open(t, newBackend(t, s), "b & c=d é").Ref().ID)
	require.Equal(t, 3, s.Created())
}

// What a sandbox is made of and may do, as E2B is told.
func TestWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{Templates: []string{"mine:v1"}})
	b := newBackend(t, s, func(o *Options) { o.Offline, o.Timeout = true, time.Hour })
	require.False(t, b.Capabilities().Network)
	var notes []string
	box, err := b.Open(t.Context(), sandbox.Spec{ID: "s", Image: "mine:v1", Workspace: "/home/me/secret project", Notify: func(text string) { notes = append(notes, text) }})
	require.NoError(t, err)
	require.Equal(t, []string{"A new E2B sandbox is made."}, notes)
	asked := s.Sandboxes()[0].Request
	for _, want := range []string{`"templateID":"mine:v1"`, `"timeout":3600`, `"autoPause":true`, `"allow_internet_access":false`, `"allowPublicTraffic":false`} {
		require.Contains(t, asked, want)
	}
	require.NotContains(t, asked, "secret project", "paths of this machine stay here")
	err = box.Start(t.Context(), "c", sandbox.Command{Script: "true", Network: true})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))

	_, err = b.Open(t.Context(), sandbox.Spec{ID: "other"})
	require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "template 'base' not found")
}

func TestTooManySandboxes(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{Most: 1})
	b := newBackend(t, s)
	box := open(t, b, "s")
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "other"})
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(err))
	require.NoError(t, b.Stop(t.Context(), box.Ref()))
	open(t, b, "other")
}

func TestOptions(t *testing.T) {
	key := func() string { return "k" }
	for says, o := range map[string]Options{
		"where the API key is":     {},
		"E2B_API_URL":              {APIKey: key, APIURL: "api.e2b.app"},
		"E2B_SANDBOX_URL":          {APIKey: key, SandboxURL: "ftp://x"},
		"E2B_DOMAIN":               {APIKey: key, Domain: "e2b.app/evil"},
		"absolute path":            {APIKey: key, Root: "workspace"},
		"15 seconds and 24 hours":  {APIKey: key, Timeout: time.Second},
		"between 15 seconds and 2": {APIKey: key, Timeout: 25 * time.Hour},
	} {
		_, err := New(o)
		require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err), says)
		require.ErrorContains(t, err, says)
	}
	b, err := New(Options{APIKey: key, Domain: "e2b.dev"})
	require.NoError(t, err)
	require.Equal(t, "https://api.e2b.dev", b.opts.APIURL)
	a, f := b.access(opOpen, &cloud.Answer{Body: []byte(`{"sandboxID": "iabc", "envdAccessToken": "t", "domain": "e2b.example"}`)})
	require.NoError(t, f.Fault())
	require.Equal(t, "https://49983-iabc.e2b.example", a.base)
	for _, bad := range []string{`{"sandboxID": "a/b"}`, `{"sandboxID": "a", "domain": "x/y"}`, `{}`, `[]`, ``} {
		_, f := b.access(opOpen, &cloud.Answer{Body: []byte(bad)})
		require.Error(t, f.Fault(), bad)
	}
}
