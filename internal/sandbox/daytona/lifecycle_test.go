//go:build linux

// This file tests the life of a sandbox: made once, found again by anybody, stopped, archived, and gone.

package daytona

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
)

// bridges counts the connections to the helpers below a directory.
func bridges(home string) int { return len(cloudtest.Matching("stdio --state " + home + "/")) }

// Workers that know nothing of each other make one sandbox.
func TestOpenedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
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
	requireOne(t, s)
}

// A name that is somebody else's is left alone.
func TestNameIsTaken(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b, _ := hasty(t, s)
	i, f := b.create(t.Context(), sandbox.Spec{ID: "s"})
	require.NoError(t, f.Fault())
	_, f = b.call(t.Context(), opOpen, "PUT", "/sandbox/"+i.ID+"/labels", map[string]any{"labels": map[string]string{}}, true)
	require.NoError(t, f.Fault())
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
	require.ErrorContains(t, err, nameOf("s"))
	require.Error(t, b.Destroy(t.Context(), sandbox.Ref{ID: "s"}))
	requireOne(t, s)
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Looks: 3})
	b := newBackend(t, s)
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "echo begun >> file; echo begun; sleep 600"}))
	_, err := box.Wait(t.Context(), "long", sandbox.Offsets{}, patience)
	require.NoError(t, err)
	require.NoError(t, b.Stop(t.Context(), box.Ref()))
	require.Equal(t, "stopped", s.Sandboxes()[0].State)
	require.NoError(t, b.Stop(t.Context(), box.Ref()), "again")
	require.NoError(t, b.Stop(t.Context(), sandbox.Ref{ID: "never made"}))
	lost, err := b.Lost(t.Context(), box.Ref())
	require.NoError(t, err)
	require.False(t, lost, "what is stopped is not lost")

	require.Equal(t, sandbox.StateLost, await(t, box, "long").State, "using it starts it; its processes have ended")
	require.Equal(t, "begun\n", output(t, box, "long"))
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "echo twice >> file"}))
	require.Equal(t, "begun", succeed(t, box, "cat file"), "and are not run again")
	require.NoError(t, newBackend(t, s).Stop(t.Context(), box.Ref()), "by another worker")
	require.Equal(t, "begun", succeed(t, open(t, b, "s"), "cat file"))

	require.NoError(t, b.Stop(t.Context(), box.Ref()))
	require.NoError(t, s.Archive(s.Sandboxes()[0].ID))
	require.NoError(t, b.Stop(t.Context(), box.Ref()), "what is archived does not run")
	var notes []string
	again, err := newBackend(t, s).Open(t.Context(), sandbox.Spec{ID: "s", Notify: func(text string) { notes = append(notes, text) }})
	require.NoError(t, err)
	require.Equal(t, []string{"Daytona is preparing the sandbox, which may take minutes."}, notes)
	require.Equal(t, "begun", succeed(t, again, "cat file"))
	requireOne(t, s)
}

func TestStopInTrouble(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b, _ := hasty(t, s)
	box := open(t, b, "s")
	for name, fault := range map[string]cloudtest.Fault{
		"moving":       {Op: "stop", Status: 409, Times: 3},
		"server error": {Op: "stop", Status: 500, Times: 2},
		"rate limit":   {Op: "stop", Status: 429, Header: retryAfterHeader("1")},
		"lost answer":  {Op: "stop", Lost: true},
		"stopped":      {Op: "get", Do: func() { _ = s.Stop(s.Sandboxes()[0].ID) }},
		"deleted":      {Op: "get", After: 1, Do: func() { _ = s.Kill(s.Sandboxes()[0].ID) }},
	} {
		require.NoError(t, open(t, b, "s").Health(t.Context()), name)
		s.Inject(fault)
		require.NoError(t, b.Stop(t.Context(), box.Ref()), name)
		require.Zero(t, s.Pending(), name)
		for _, one := range s.Sandboxes() {
			require.False(t, one.Running, name)
		}
	}
}

func TestStartInTrouble(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Looks: 2})
	b, _ := hasty(t, s)
	box := open(t, b, "s")
	succeed(t, box, "echo kept > file")
	for name, fault := range map[string]cloudtest.Fault{
		"moving":       {Op: "start", Status: 409, Times: 3},
		"server error": {Op: "start", Status: 500, Times: 2},
		"rate limit":   {Op: "start", Status: 429, Header: retryAfterHeader("1")},
		"lost answer":  {Op: "start", Lost: true},
		"no daemon":    {Op: "execute", Status: 502, Times: 3},
		"stops again":  {Op: "execute", Do: func() { _ = s.Stop(s.Sandboxes()[0].ID) }},
	} {
		require.NoError(t, s.Stop(s.Sandboxes()[0].ID))
		s.Inject(fault)
		require.Equal(t, "kept", succeed(t, box, "cat file"), name)
		require.Zero(t, s.Pending(), name)
	}
	requireOne(t, s)
}

// A change of state that never ends is not waited for for ever.
func TestStuck(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Looks: 10_000})
	b, w := hasty(t, s)
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "takes too long to change its state")
	require.ErrorContains(t, err, "creating")
	require.InDelta(t, moveTime, w.Total(), float64(2*time.Second))
	requireOne(t, s)
}

func TestDestroyInTrouble(t *testing.T) {
	for name, fault := range map[string]cloudtest.Fault{
		"lost answer":  {Op: "delete", Lost: true},
		"server error": {Op: "delete", Status: 500, Times: 2},
		"rate limit":   {Op: "delete", Status: 429, Header: retryAfterHeader("1")},
		"moving":       {Op: "delete", Status: 409, Times: 3},
		"not found":    {Op: "get", Status: 503, Times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Options{})
			b, _ := hasty(t, s)
			box := open(t, b, "s")
			s.Inject(fault)
			require.NoError(t, b.Destroy(t.Context(), box.Ref()))
			require.Empty(t, s.Sandboxes())
			require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(box.Health(t.Context())))
		})
	}
}

// The next worker finds a running command at its output, and a destroyed sandbox nowhere.
func TestNextWorker(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b := newBackend(t, s)
	first := open(t, b, "s")
	home := s.Sandboxes()[0].Home
	require.NoError(t, first.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count; echo 1; while [ ! -e go ]; do sleep 0.05; done; echo 2"}))
	require.NoError(t, b.Close())
	require.Zero(t, bridges(home), "nothing is left of the connection")
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

// A connection that broke leaves no process behind once there is another, nor does ending a terminal end a command.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b := newBackend(t, s)
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "while [ ! -e go ]; do sleep 0.05; done"}))
	for range 5 {
		require.NoError(t, s.Cut(s.Sandboxes()[0].ID))
		require.Equal(t, "ok", succeed(t, box, "echo ok"))
	}
	home := s.Sandboxes()[0].Home
	eventually(t, "that one connection is left", func() bool { return bridges(home) == 1 })
	require.Equal(t, "1", succeed(t, box, "ls -a ~/.sandbox-agent/pipes | wc -l | sed 's/2/1/'"), "pipes are gone")
	succeed(t, box, "touch go")
	require.Zero(t, await(t, box, "long").ExitCode)
}

// A sandbox that does not say anything any more is connected to anew.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b := newBackend(t, s, func(o *Options) { o.ping = time.Second })
	box := open(t, b, "s")
	daemon := s.Sandboxes()[0].Daemon
	require.NoError(t, syscall.Kill(daemon, syscall.SIGSTOP))
	waited := make(chan error, 1)
	go func() { waited <- box.Health(t.Context()) }()
	x := b.boxes.Known("s")
	eventually(t, "that the silence is noticed", func() bool { return !x.Connected() })
	require.NoError(t, syscall.Kill(daemon, syscall.SIGCONT))
	require.NoError(t, <-waited)
}

func TestHelperIsInstalledAgain(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
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

// Whatever shell people find in a sandbox, and whatever it does when it starts, any bytes pass.
func TestShells(t *testing.T) {
	for _, shell := range []string{"bash", "sh", "/bin/dash", "zsh"} {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Options{Shell: shell})
			b, _ := hasty(t, s)
			i, f := b.create(t.Context(), sandbox.Spec{ID: "s"})
			require.NoError(t, f.Fault())
			home := s.Sandboxes()[0].Home
			for _, name := range []string{".profile", ".bash_profile", ".bashrc", ".zshenv", ".zshrc"} {
				require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte("echo noise; sleep 600\n"), 0o644))
			}
			box, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
			if shell == "zsh" && err != nil {
				t.Skip("zsh is not installed")
			}
			require.NoError(t, err)
			require.Equal(t, i.Labels.Epoch(), box.Ref().Epoch)
			require.Equal(t, home+"/workspace "+home, succeed(t, box, `echo "$PWD $HOME"`))
		})
	}
}

// A shell that reads nothing first is typed to.
func TestShellThatReadsNothing(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "shell")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho 'Welcome!'\nexec bash --norc --noprofile -i\n"), 0o755))
	for dir := filepath.Dir(script); dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, chmodIfOwn(dir))
	}
	s := daytonatest.New(t, daytonatest.Options{Shell: script})
	require.Equal(t, "ok", succeed(t, open(t, newBackend(t, s), "s"), "echo ok"))
}

// chmodIfOwn lets everybody pass through a directory of a test.
func chmodIfOwn(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o001 != 0 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

func TestUnfitSandboxes(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{Shell: "true"})
	b, _ := hasty(t, s)
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err), "no shell: %v", err)
	require.ErrorContains(t, err, "choose another image")
	b = newBackend(t, s, func(o *Options) { o.Root = "/proc/workspace" })
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "other"})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "may not write to /proc/workspace")
	b = newBackend(t, s, func(o *Options) { o.HelperBinary = "/bin/sh/none" })
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "install sandbox-helper-linux-")
}
