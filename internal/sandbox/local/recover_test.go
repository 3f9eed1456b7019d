// This file tests that commands run once, whoever dies in between.

package local

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

func TestSameIDRunsOnce(t *testing.T) {
	b, ws := newBackend(t), t.TempDir()
	sb := open(t, b, "s1", ws)
	cmd := sandbox.Command{Script: "echo run >> count; echo out"}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			other, err := b.Open(context.Background(), sandbox.Spec{ID: "s1", Workspace: ws})
			if err != nil {
				t.Error(err)
				return
			}
			defer other.Close()
			if err := other.Start(context.Background(), "c", cmd); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	first := await(t, sb, "c")
	require.NoError(t, sb.Start(t.Context(), "c", sandbox.Command{Script: "echo another >> count"}))
	require.Equal(t, first, await(t, sb, "c"))
	require.Equal(t, "run\n", content(t, filepath.Join(ws, "count")))
	helperOf(t, b, "s1")
}

func TestClientDies(t *testing.T) {
	b, ws := newBackend(t), t.TempDir()
	text := "echo run >> count; echo one; read x < gate; echo two"
	require.NoError(t, syscall.Mkfifo(filepath.Join(ws, "gate"), 0o600))
	doomed := exec.Command(selfPath(), clientVerb, b.opts.StateDir, ws, text)
	out, err := doomed.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, doomed.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "<nil>\n", line)
	require.NoError(t, doomed.Process.Kill())
	_ = doomed.Wait()

	sb := open(t, b, "s1", ws)
	require.NoError(t, sb.Start(t.Context(), "c1", sandbox.Command{Script: text}))
	awaitOutput(t, sb, "c1", "one")
	require.NoError(t, os.WriteFile(filepath.Join(ws, "gate"), []byte("go\n"), 0))
	st := await(t, sb, "c1")
	require.Equal(t, 0, st.ExitCode)
	require.Equal(t, "one\ntwo\n", read(t, sb, "c1", sandbox.Stdout))
	require.Equal(t, "run\n", content(t, filepath.Join(ws, "count")))
}

func killHelper(t *testing.T, b *Backend) {
	t.Helper()
	require.NoError(t, syscall.Kill(helperOf(t, b, "s1"), syscall.SIGKILL))
}

func TestHelperDies(t *testing.T) {
	b, ws, mark := newBackend(t), t.TempDir(), marker(t)
	sb := open(t, b, "s1", ws)
	done, _ := run(t, sb, "done", sandbox.Command{Script: "seq 100000; exit 4", OutputCap: 1000})
	tail := read(t, sb, "done", sandbox.Stdout)
	running := sandbox.Command{Script: "echo run >> count; " + hostile(mark) + "sleep " + mark}
	require.NoError(t, sb.Start(t.Context(), "lost", running))
	awaitOutput(t, sb, "lost", "started")
	killHelper(t, b)

	// the same client goes on, with a new helper
	require.NoError(t, sb.Start(t.Context(), "lost", running))
	st := await(t, sb, "lost")
	require.Equal(t, sandbox.StateLost, st.State)
	require.NotEmpty(t, st.Failure)
	require.Equal(t, "started\n", read(t, sb, "lost", sandbox.Stdout))
	require.Equal(t, "run\n", content(t, filepath.Join(ws, "count")))
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 0 })

	again := await(t, sb, "done")
	require.True(t, done.Started.Equal(again.Started) && done.Ended.Equal(again.Ended))
	done.Started, done.Ended, again.Started, again.Ended = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	require.Equal(t, done, again)
	require.Equal(t, tail, read(t, sb, "done", sandbox.Stdout))
	live, err := sb.Commands(t.Context())
	require.NoError(t, err)
	require.Empty(t, live)
}

func TestHelperAndSupervisorsDie(t *testing.T) {
	b, ws, mark := newBackendWith(t, confine.LevelNone), t.TempDir(), marker(t) // so that the command knows its supervisor by the id it has here
	sb := open(t, b, "s1", ws)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: "setsid sleep " + mark + " & echo $PPID; sleep " + mark}))
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 2 })
	supervisor, err := strconv.Atoi(strings.TrimSpace(read(t, sb, "a", sandbox.Stdout)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGSTOP))
	killHelper(t, b)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))
	require.Equal(t, sandbox.StateLost, await(t, sb, "a").State)
	require.Empty(t, processes("sleep\x00"+mark))
}

func TestDestroyAfterHelperDied(t *testing.T) {
	b, ws, mark := newBackend(t), t.TempDir(), marker(t)
	sb := open(t, b, "s1", ws)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: hostile(mark) + "sleep " + mark}))
	awaitOutput(t, sb, "a", "started")
	killHelper(t, b)
	require.NoError(t, b.Destroy(t.Context(), sb.Ref()))
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 0 })
}

func TestOpenIsExclusive(t *testing.T) {
	b, ws := newBackend(t), t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			sb, err := b.Open(context.Background(), sandbox.Spec{ID: "s1", Workspace: ws})
			if err != nil {
				t.Error(err)
				return
			}
			_ = sb.Close()
		})
	}
	wg.Wait()
	sb := open(t, b, "s1", ws)
	helperOf(t, b, "s1")
	require.Equal(t, sandbox.Ref{Kind: sandbox.KindLocal, ID: "s1", HostID: "host", Workspace: ws}, sb.Ref())
	_, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: t.TempDir()})
	require.Equal(t, sandbox.ClassConflict, class(err))
}

func TestOpenRefuses(t *testing.T) {
	b := newBackend(t)
	home, file := t.TempDir(), filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	t.Setenv("HOME", home)
	for dir, want := range map[string]sandbox.Class{
		"/":                           sandbox.ClassInvalid,
		home:                          sandbox.ClassInvalid,
		"relative":                    sandbox.ClassInvalid,
		"":                            sandbox.ClassInvalid,
		file:                          sandbox.ClassInvalid,
		"/no/such/folder":             sandbox.ClassNotFound,
		filepath.Dir(b.opts.StateDir): sandbox.ClassInvalid,
	} {
		_, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: dir})
		require.Equal(t, want, class(err), dir)
	}
	missing, err := New(Options{StateDir: b.opts.StateDir, HelperBinary: "/no/such/helper"})
	require.NoError(t, err)
	require.Equal(t, sandbox.ClassUnavailable, class(missing.Available(t.Context())))
	require.NoError(t, b.Available(t.Context()))
}

func TestLongStateDir(t *testing.T) {
	for _, level := range []confine.Level{confine.LevelNone, confine.DefaultLevel} {
		t.Run(string(level), func(t *testing.T) {
			b, err := New(Options{StateDir: filepath.Join(t.TempDir(), strings.Repeat("long/", 30)), HelperBinary: selfPath(), Confinement: level})
			require.NoError(t, err)
			sb := open(t, b, "s1", t.TempDir())
			_, out := script(t, sb, "a", "echo hi")
			require.Equal(t, "hi\n", out)
			before := helperOf(t, b, "s1")
			// the socket is opened again when a cleaner took it
			require.NoError(t, os.Remove(filepath.Join(b.stateDir("s1"), "sock")))
			again, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: sb.Ref().Workspace})
			require.NoError(t, err)
			require.NoError(t, again.Close())
			require.Equal(t, before, helperOf(t, b, "s1"))
		})
	}
}

func TestIdleHelperLeaves(t *testing.T) {
	b, ws, mark := newBackend(t), t.TempDir(), marker(t)
	b.opts.Idle = 100 * time.Millisecond
	sb := open(t, b, "s1", ws)
	_, _ = script(t, sb, "bg", "sleep "+mark+" & echo")
	require.NoError(t, sb.Close())
	helperOf(t, b, "s1")
	again, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
	require.NoError(t, err)
	require.Len(t, processes("sleep\x00"+mark), 1, "background processes keep the helper")
	require.NoError(t, again.Kill(t.Context(), "bg"))
	require.NoError(t, again.Close())
	eventually(t, func() bool { return len(processes(b.stateDir("s1"))) == 0 })
	third, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
	require.NoError(t, err)
	defer third.Close()
	require.Equal(t, 0, await(t, third, "bg").ExitCode)
}

func TestOtherBuildMakesRoom(t *testing.T) {
	b, ws := newBackend(t), t.TempDir()
	sb := open(t, b, "s1", ws)
	newer, err := New(Options{StateDir: b.opts.StateDir, HelperBinary: otherBuild(t)})
	require.NoError(t, err)
	require.NoError(t, sb.Start(t.Context(), "busy", sandbox.Command{Script: "sleep 60"}))
	before := helperOf(t, b, "s1")
	same, err := newer.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
	require.NoError(t, err)
	require.Equal(t, before, helperOf(t, b, "s1"), "a busy helper is used as it is")
	require.NoError(t, same.Close())
	require.NoError(t, sb.Kill(t.Context(), "busy"))
	next, err := newer.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
	require.NoError(t, err)
	defer next.Close()
	require.NotEqual(t, before, helperOf(t, b, "s1"))
	require.True(t, await(t, next, "busy").Killed)
}

// otherBuild returns a copy of the helper that is not byte for byte the same.
func otherBuild(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helper")
	in, err := os.Open(selfPath())
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	_, err = out.WriteString("other")
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return path
}
