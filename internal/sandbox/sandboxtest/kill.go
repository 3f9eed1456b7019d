// These cases are about the end of whole process trees, whatever they do to escape.

package sandboxtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var killCases = []testCase{
	{name: "kill", run: killsOne},
	{name: "kill of what has ended", run: killsWhatHasEnded},
	{name: "kill at once", run: killsAtOnce},
	{name: "kill ends a hostile tree", real: true, run: killsHostileTree},
	{name: "timeout ends a hostile tree", real: true, run: timeoutEndsHostileTree},
	{name: "kill outruns forking", real: true, run: killOutrunsForking},
	{name: "kill reaches stopped processes", real: true, run: killsStopped},
	{name: "polite end", real: true, run: endsPolitely},
	{name: "background returns at once", real: true, run: backgroundReturns},
	{name: "background output", real: true, run: backgroundOutput},
	{name: "endless background output", real: true, run: endlessBackgroundOutput},
	{name: "many children", real: true, run: killsManyChildren},
}

// mark is a number of seconds that identifies the sleeps of one case. Scripts get it as $M, so that only the sleeps have it
// in their command line.
func (e *env) mark() string {
	h := fnv.New32a()
	fmt.Fprint(h, e.Name(), time.Now().UnixNano())
	return fmt.Sprintf("3%010d", h.Sum32())
}

func marked(script, mark string) sandbox.Command {
	return sandbox.Command{Script: script, Env: []string{"M=" + mark}}
}

// processes counts the live processes of the sandbox that have mark in their command line.
func (e *env) processes(mark string) int {
	e.Helper()
	r := e.run(sandbox.Command{
		Script: `if [ -d /proc/self ]; then grep -la -e "$P" /proc/[0-9]*/cmdline 2>/dev/null | wc -l; else ps -A -o command= | grep -c -e "$P"; fi`,
		Env:    []string{"P=[" + mark[:1] + "]" + mark[1:]}, Dir: ".",
	})
	n, err := strconv.Atoi(strings.TrimSpace(r.out))
	require.NoError(e, err, "%+v", r)
	return n
}

// none waits until no process with mark is left.
func (e *env) none(mark string) {
	e.Helper()
	eventually(e.T, "that no process is left", func() bool { return e.processes(mark) == 0 })
}

// hostile leaves six sleeps behind that ordinary means of killing miss, says so, and becomes a seventh.
const hostile = `sleep $M &
(sleep $M & ) &
nohup sleep $M >/dev/null 2>&1 &
setsid sleep $M </dev/null >/dev/null 2>&1 &
setsid sh -c '(env -i sleep '$M' & )' </dev/null >/dev/null 2>&1
bash -c 'trap "" TERM HUP INT; while :; do sleep '$M'; done' </dev/null >/dev/null 2>&1 &
trap '' TERM
echo started
sleep $M`

func killsOne(e *env) {
	id := e.start(sh("echo partial; sleep 600; echo never"))
	e.awaitOutput(id, "partial")
	require.NoError(e, e.box.Kill(e.Context(), id))
	st, err := e.box.Wait(e.Context(), id, sandbox.Offsets{}, 0)
	require.NoError(e, err)
	require.Equal(e, sandbox.StateExited, st.State, "it has ended when Kill returns")
	require.True(e, st.Killed && !st.TimedOut)
	require.NotEmpty(e, st.Signal)
	require.Greater(e, st.ExitCode, 128)
	require.Equal(e, "partial\n", e.read(id, sandbox.Stdout), "output is kept")
	require.NoError(e, e.box.Kill(e.Context(), id))
	require.Equal(e, st, e.await(id))
}

func killsWhatHasEnded(e *env) {
	r := e.script("echo done; exit 4")
	require.NoError(e, e.box.Kill(e.Context(), r.id))
	require.Equal(e, r.Status, e.await(r.id), "nothing of its record changes")
	e.class(sandbox.ClassNotFound, e.box.Kill(e.Context(), e.id()), "unknown")
}

func killsAtOnce(e *env) {
	for range 10 {
		id := e.start(sh("sleep 600"))
		require.NoError(e, e.box.Kill(e.Context(), id))
		require.True(e, e.await(id).Killed)
	}
}

func (e *env) startHostile(timeout time.Duration) (id, mark string) {
	e.Helper()
	if !e.caps.KillTree {
		e.Skip("the backend declares that trees may escape")
	}
	mark = e.mark()
	cmd := marked(hostile, mark)
	cmd.Timeout = timeout
	return e.start(cmd), mark
}

func killsHostileTree(e *env) {
	id, mark := e.startHostile(0)
	e.awaitOutput(id, "started")
	require.NoError(e, e.box.Kill(e.Context(), id))
	st := e.await(id)
	require.True(e, st.Killed)
	require.Equal(e, "SIGKILL", st.Signal)
	require.Equal(e, 137, st.ExitCode)
	require.Zero(e, e.processes(mark))
	require.Equal(e, "started\n", e.read(id, sandbox.Stdout))
}

func timeoutEndsHostileTree(e *env) {
	id, mark := e.startHostile(4 * time.Second)
	st := e.await(id)
	require.True(e, st.TimedOut)
	require.Equal(e, 137, st.ExitCode)
	e.none(mark)
	require.Equal(e, "started\n", e.read(id, sandbox.Stdout))
}

func killOutrunsForking(e *env) {
	if !e.caps.KillTree {
		e.Skip("the backend declares that trees may escape")
	}
	mark := e.mark()
	// processes that fork and exit all the time, moving away from whoever looks for them
	id := e.start(marked(`f() { sleep 0.01; (f) & }; for i in 1 2 3; do (f) & done; setsid sleep $M & echo started; sleep $M`, mark))
	e.awaitOutput(id, "started")
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	require.NoError(e, e.box.Kill(ctx, id))
	require.Zero(e, e.processes(mark))
	eventually(e.T, "that the command is not listed", func() bool { return !e.listed(id) })
}

// listed reports whether Commands lists a command.
func (e *env) listed(id string) bool {
	e.Helper()
	live, err := e.box.Commands(e.Context())
	require.NoError(e, err)
	for _, st := range live {
		if st.ID == id {
			return true
		}
	}
	return false
}

func killsStopped(e *env) {
	mark := e.mark()
	id := e.start(marked(`sleep $M & kill -STOP $!; echo stopped; kill -STOP $$; echo never`, mark))
	e.awaitOutput(id, "stopped")
	require.NoError(e, e.box.Kill(e.Context(), id))
	require.Zero(e, e.processes(mark))
	require.Equal(e, "stopped\n", e.read(id, sandbox.Stdout))
}

func endsPolitely(e *env) {
	id := e.start(sh(`trap 'echo bye > f; exit 7' TERM; echo ready; while :; do sleep 0.01; done`))
	e.awaitOutput(id, "ready")
	require.NoError(e, e.box.Kill(e.Context(), id))
	st := e.await(id)
	require.Equal(e, 7, st.ExitCode)
	require.Empty(e, st.Signal)
	require.True(e, st.Killed)
	require.Equal(e, "bye\n", e.get("f"))
}

func backgroundReturns(e *env) {
	mark := e.mark()
	began := time.Now()
	id := e.start(marked("sleep $M & echo ok", mark))
	st := e.await(id)
	require.Less(e, time.Since(began), 20*time.Second)
	require.Equal(e, "ok\n", e.read(id, sandbox.Stdout))
	require.Equal(e, sandbox.StateExited, st.State)
	require.Zero(e, st.ExitCode)
	require.Equal(e, 1, st.Left)
	for e.processes(mark) == 0 { // until it is more than a copy of its shell
		require.Less(e, time.Since(began), patience, "it lives on")
	}
	require.Equal(e, 1, e.processes(mark))
	require.True(e, e.listed(id))

	require.NoError(e, e.box.Kill(e.Context(), id))
	require.Zero(e, e.processes(mark))
	st = e.await(id)
	require.Zero(e, st.ExitCode)
	require.False(e, st.Killed, "the command itself had ended well")
	require.Zero(e, st.Left)
	eventually(e.T, "that the command is not listed", func() bool { return !e.listed(id) })
}

func backgroundOutput(e *env) {
	r := e.script("mkfifo gate; (read x < gate; echo later) & echo first")
	require.Equal(e, "first\n", r.out)
	require.Equal(e, 1, r.Left)
	e.succeed("echo > gate")
	eventually(e.T, "that the later output is read", func() bool { return e.read(r.id, sandbox.Stdout) == "first\nlater\n" })
}

func endlessBackgroundOutput(e *env) {
	r := e.run(sandbox.Command{Script: "yes & echo ok", OutputCap: 1 << 20})
	require.Equal(e, 1, r.Left)
	require.NoError(e, e.box.Kill(e.Context(), r.id))
	require.False(e, e.listed(r.id))
}

func killsManyChildren(e *env) {
	mark := e.mark()
	id := e.start(marked(`i=0; while [ $i -lt 60 ]; do (setsid sleep $M &) & i=$((i+1)); done; wait; echo started; sleep $M`, mark))
	e.awaitOutput(id, "started")
	require.NoError(e, e.box.Kill(e.Context(), id))
	require.Zero(e, e.processes(mark))
}
