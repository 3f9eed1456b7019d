// This file tests that commands run once, whoever dies in between.

package local

import (
	"context"
	"io"
	"os"
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

func killHelper(t *testing.T, b *Backend) {
	t.Helper()
	require.NoError(t, syscall.Kill(helperOf(t, b, "s1"), syscall.SIGKILL))
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
			// the socket is opened again when a cleaner took it
			require.NoError(t, os.Remove(filepath.Join(b.stateDir("s1"), "sock")))
			again, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: sb.Ref().Workspace})
			require.NoError(t, err)
			require.NoError(t, again.Close())
			helperOf(t, b, "s1")
		})
	}
}

func TestIdleHelperLeaves(t *testing.T) {
	b, ws, mark := newBackend(t), t.TempDir(), marker(t)
	b.opts.Idle = 100 * time.Millisecond
	sb := open(t, b, "s1", ws)
	_, _ = script(t, sb, "bg", "sleep "+mark+" & echo")
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 1 })
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
