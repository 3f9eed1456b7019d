// These cases are about commands that wait for input: each is told, and nothing else is taken for one.

package sandboxtest

import (
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// calm is how long a command is watched that must not be taken for one that waits: several looks.
const calm = 4 * time.Second

var asksCases = []testCase{
	{name: "commands that wait for input", real: true, run: tellsWhoWaits},
	{name: "commands that go on without", real: true, run: tellsNobodyElse},
}

// askers read two lines.
func askers(e *env) map[string]sandbox.Command {
	all := map[string]sandbox.Command{
		"a program that reads": withInput("cat"),
		"the shell":            withInput("read x; read y; echo $x"),
		"a pipeline":           withInput("cat | cat | wc -l"),
		"a child of a child":   withInput(`sh -c 'sh -c "cat; true"; true'`),
	}
	if e.caps.TTY {
		all["a question"] = onTerminal(`printf 'Name? '; read x; read y; echo "Hello $x"`)
		all["the controlling terminal"] = onTerminal("cat </dev/tty")
	}
	return all
}

// others go on by themselves, or never end.
func others(e *env) map[string]sandbox.Command {
	all := map[string]sandbox.Command{
		"no input":            sh("sleep 600"),
		"a timer":             withInput("sleep 600"),
		"a timer beside":      withInput("sleep 600 & cat"),
		"a timer in a pipe":   withInput("sleep 600 | cat"),
		"a timer that counts": withInput("timeout 600 sleep 600; cat"),
		"work":                withInput("while :; do :; done & cat; wait"),
		"a named pipe":        withInput("mkfifo f && cat f"),
	}
	if e.caps.TTY {
		all["a timer on a terminal"] = onTerminal("sleep 600")
	}
	return all
}

func withInput(script string) sandbox.Command { return sandbox.Command{Script: script, Stdin: true} }

func tellsWhoWaits(e *env) {
	before := time.Now()
	ids := e.startAll(askers(e))
	if !e.caps.Asks {
		e.nobodyWaits(ids)
		return
	}
	for name, id := range ids {
		st := e.awaitAsking(id)
		require.Equal(e, sandbox.StateRunning, st.State, name)
		require.WithinRange(e, st.WaitsSince, st.Started, st.Started.Add(time.Since(before)+time.Second), name)
		require.NoError(e, e.box.Input(e.Context(), id, []byte("one\n"), false), name)
	}
	for name, id := range ids {
		st := e.awaitAsking(id)
		require.Equal(e, sandbox.StateRunning, st.State, name)
		require.NoError(e, e.box.Input(e.Context(), id, []byte("two\n"), true), name)
		st = e.await(id)
		require.Zero(e, st.ExitCode, "%s: said %s", name, e.said(id))
		require.Zero(e, st.WaitsSince, "%s has ended", name)
	}
}

func tellsNobodyElse(e *env) { e.nobodyWaits(e.startAll(others(e))) }

func (e *env) startAll(commands map[string]sandbox.Command) map[string]string {
	ids := map[string]string{}
	for name, cmd := range commands {
		ids[name] = e.start(cmd)
	}
	return ids
}

// nobodyWaits requires that none of the commands is said to wait for input, and ends them.
func (e *env) nobodyWaits(ids map[string]string) {
	end := time.Now().Add(calm)
	for name, id := range ids {
		st := e.watch(id, end)
		require.Equal(e, sandbox.StateRunning, st.State, "%s: %+v, said %s", name, st, e.said(id))
		require.Zero(e, st.WaitsSince, name)
	}
	for _, id := range ids {
		require.NoError(e, e.box.Kill(e.Context(), id))
	}
}

// silent are offsets that no output reaches.
var silent = sandbox.Offsets{Stdout: 1 << 40, Stderr: 1 << 40}

// watch returns the status of a command at a time, or as soon as it has ended or is said to wait.
func (e *env) watch(id string, end time.Time) sandbox.Status {
	e.Helper()
	for {
		st, err := e.box.Wait(e.Context(), id, silent, time.Until(end))
		require.NoError(e, err)
		if st.State != sandbox.StateRunning || !st.WaitsSince.IsZero() || !time.Now().Before(end) {
			return st
		}
	}
}

// awaitAsking waits until a command is said to wait for input.
func (e *env) awaitAsking(id string) sandbox.Status {
	e.Helper()
	st := e.watch(id, time.Now().Add(patience))
	require.NotZero(e, st.WaitsSince, "%+v, said %s", st, e.said(id))
	return st
}

// said is what a command has printed: why it ended, if it should not have.
func (e *env) said(id string) string {
	e.Helper()
	return strconv.Quote(e.read(id, sandbox.Stdout) + e.read(id, sandbox.Stderr))
}
