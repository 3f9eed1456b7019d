// This file tests that a command's whole process tree ends, whatever it does to escape.

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// hostile leaves six sleeps behind that ordinary means of killing miss, and says so when they run.
func hostile(mark string) string {
	return strings.ReplaceAll(`
sleep MARK &
(sleep MARK & ) &
nohup sleep MARK >/dev/null 2>&1 &
setsid sleep MARK </dev/null >/dev/null 2>&1 &
setsid sh -c '(env -i sleep MARK & )' </dev/null >/dev/null 2>&1
bash -c 'trap "" TERM HUP INT; while :; do sleep MARK; done' </dev/null >/dev/null 2>&1 &
trap '' TERM
echo started
`, "MARK", mark)
}

func TestKillEndsHostileTree(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, sb sandbox.Sandbox) sandbox.Status{
		"kill": func(t *testing.T, sb sandbox.Sandbox) sandbox.Status {
			awaitOutput(t, sb, "c", "started")
			require.NoError(t, sb.Kill(t.Context(), "c"))
			st := await(t, sb, "c")
			require.True(t, st.Killed)
			return st
		},
		"timeout": func(t *testing.T, sb sandbox.Sandbox) sandbox.Status {
			st := await(t, sb, "c")
			require.True(t, st.TimedOut)
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			sb, _ := newSandbox(t)
			mark := marker(t)
			require.NoError(t, sb.Start(t.Context(), "c", sandbox.Command{Script: hostile(mark) + "sleep " + mark, Timeout: 3 * time.Second}))
			st := end(t, sb)
			require.Equal(t, sandbox.StateExited, st.State)
			require.Equal(t, "SIGKILL", st.Signal)
			require.Equal(t, 137, st.ExitCode)
			eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 0 })
			require.Equal(t, "started\n", read(t, sb, "c", sandbox.Stdout), "output is kept")
			require.NoError(t, sb.Kill(t.Context(), "c"), "killing what has ended is no error")
		})
	}
}

func TestKillOutrunsForking(t *testing.T) {
	sb, _ := newSandbox(t)
	mark := marker(t)
	// processes that fork and exit all the time, moving away from whoever looks for them
	require.NoError(t, sb.Start(t.Context(), "c", sandbox.Command{
		Script: fmt.Sprintf(`f() { sleep 0.01; (f %s) & }; for i in 1 2 3; do (f) & done; echo started; sleep %s`, mark, mark),
	}))
	awaitOutput(t, sb, "c", "started")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, sb.Kill(ctx, "c"))
	eventually(t, func() bool { return len(processes(mark)) == 0 })
}

func TestBackgroundProcesses(t *testing.T) {
	sb, _ := newSandbox(t)
	ctx := t.Context()
	mark := marker(t)
	began := time.Now()
	st, out := script(t, sb, "bg", "sleep "+mark+" & echo ok")
	require.Less(t, time.Since(began), 20*time.Second)
	require.Equal(t, "ok\n", out)
	require.Equal(t, 1, st.Left)
	require.Len(t, processes("sleep\x00"+mark), 1)
	live, err := sb.Commands(ctx)
	require.NoError(t, err)
	require.Len(t, live, 1)
	require.Equal(t, "bg", live[0].ID)

	// what it writes later can still be read
	st, out = script(t, sb, "late", "mkfifo gate; (read x < gate; echo later) & echo first")
	require.Equal(t, "first\n", out)
	require.Equal(t, 1, st.Left)
	_, _ = script(t, sb, "open", "echo > gate")
	eventually(t, func() bool { return read(t, sb, "late", sandbox.Stdout) == "first\nlater\n" })

	require.NoError(t, sb.Kill(ctx, "bg"))
	require.Empty(t, processes("sleep\x00"+mark))
	st = await(t, sb, "bg")
	require.Equal(t, 0, st.ExitCode)
	require.False(t, st.Killed, "the command itself had ended well")
	require.Zero(t, st.Left)
	eventually(t, func() bool { live, err := sb.Commands(ctx); return err == nil && len(live) == 0 })
}

func TestEndlessBackgroundOutput(t *testing.T) {
	sb, _ := newSandbox(t)
	st, _ := run(t, sb, "a", sandbox.Command{Script: "yes & echo ok", OutputCap: 1 << 20})
	require.Equal(t, 1, st.Left)
	require.NoError(t, sb.Kill(t.Context(), "a"))
}

func TestPoliteEnd(t *testing.T) {
	sb, ws := newSandbox(t)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: `trap 'echo bye > f; exit 7' TERM; echo ready; while :; do sleep 0.01; done`}))
	awaitOutput(t, sb, "a", "ready")
	require.NoError(t, sb.Kill(t.Context(), "a"))
	st := await(t, sb, "a")
	require.Equal(t, 7, st.ExitCode)
	require.True(t, st.Killed)
	require.Equal(t, "bye\n", content(t, filepath.Join(ws, "f")))
}

func TestStoppedSupervisorDoesNotSaveTheTree(t *testing.T) {
	sb, _ := newSandbox(t)
	mark := marker(t)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: "setsid sleep " + mark + " & kill -STOP $PPID; sleep " + mark}))
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 2 })
	require.NoError(t, sb.Kill(t.Context(), "a"))
	require.Empty(t, processes("sleep\x00"+mark))
}

func TestKilledSupervisor(t *testing.T) {
	sb, _ := newSandbox(t)
	mark := marker(t)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: "setsid sleep " + mark + " & kill -KILL $PPID; sleep " + mark}))
	require.Equal(t, sandbox.StateLost, await(t, sb, "a").State)
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 0 })
	_, out := script(t, sb, "b", "echo still here")
	require.Equal(t, "still here\n", out)
}

func TestDestroyEndsEverything(t *testing.T) {
	b, ws, mark := newBackend(t), t.TempDir(), marker(t)
	sb := open(t, b, "s1", ws)
	write(t, filepath.Join(ws, "mine"), "x")
	_, _ = script(t, sb, "bg", "setsid sleep "+mark+" >/dev/null 2>&1 & echo")
	require.NoError(t, sb.Start(t.Context(), "fg", sandbox.Command{Script: hostile(mark) + "sleep " + mark}))
	awaitOutput(t, sb, "fg", "started")
	require.NoError(t, b.Destroy(t.Context(), sb.Ref()))
	require.Empty(t, processes("sleep\x00"+mark))
	require.NoDirExists(t, b.stateDir("s1"))
	require.Equal(t, "x", content(t, filepath.Join(ws, "mine")))
	require.NoError(t, b.Destroy(t.Context(), sb.Ref()))
	require.NoError(t, b.Destroy(t.Context(), sandbox.Ref{ID: "never"}))
	require.Equal(t, sandbox.ClassNotFound, class(sb.Health(t.Context())), "a stale client does not bring it back")
	_, err := os.Stat(b.stateDir("s1"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
