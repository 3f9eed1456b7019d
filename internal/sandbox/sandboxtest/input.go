// These cases are about standard input and about terminals.

package sandboxtest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var inputCases = []testCase{
	{name: "echo", run: echoesInput},
	{name: "much", real: true, run: takesMuchInput},
	{name: "a command that does not read", run: blocksNobody},
	{name: "refused", run: refusesInput},
}

func echoesInput(e *env) {
	ctx := e.Context()
	id := e.start(sandbox.Command{Script: "cat; echo end", Stdin: true})
	first := "one\n"
	if e.caps.ByteExact {
		first += "\x00\xff"
	}
	require.NoError(e, e.box.Input(ctx, id, []byte(first), false))
	e.awaitOutput(id, first)
	require.NoError(e, e.box.Input(ctx, id, nil, false))
	require.NoError(e, e.box.Input(ctx, id, []byte("two\n"), true))
	require.Zero(e, e.await(id).ExitCode)
	require.Equal(e, first+"two\nend\n", e.read(id, sandbox.Stdout))
	e.class(sandbox.ClassInvalid, e.box.Input(ctx, id, []byte("x"), false), "it has ended")
}

func takesMuchInput(e *env) {
	id := e.start(sandbox.Command{Script: "wc -c", Stdin: true})
	const piece, pieces = 128 << 10, 40
	data := []byte(strings.Repeat("x", piece))
	for n := 0; n < pieces; {
		err := e.box.Input(e.Context(), id, data, false)
		if err == nil {
			n++
			continue
		}
		e.class(sandbox.ClassLimit, err, "it reads more slowly than it is written to")
	}
	require.NoError(e, e.box.Input(e.Context(), id, nil, true))
	require.Zero(e, e.await(id).ExitCode)
	require.Equal(e, itoa(piece*pieces), strings.TrimSpace(e.read(id, sandbox.Stdout)))
}

func blocksNobody(e *env) {
	ctx := e.Context()
	id := e.start(sandbox.Command{Script: "sleep 600", Stdin: true})
	full := false
	for range 6 {
		if err := e.box.Input(ctx, id, make([]byte, 512<<10), false); err != nil {
			e.class(sandbox.ClassLimit, err)
			full = true
		}
	}
	require.True(e, full, "what it has not read is bounded")
	e.class(sandbox.ClassLimit, e.box.Input(ctx, id, make([]byte, 1<<20+1), false))
	require.Equal(e, "fine\n", e.script("echo fine").out)
	require.NoError(e, e.box.Kill(ctx, id))
	e.class(sandbox.ClassInvalid, e.box.Input(ctx, id, []byte("x"), false))
}

func refusesInput(e *env) {
	id := e.start(sh("sleep 600"))
	err := e.box.Input(e.Context(), id, []byte("x"), false)
	e.class(sandbox.ClassInvalid, err)
	require.Contains(e, err.Error(), "stdin", "it says how to start one that takes input")
	e.class(sandbox.ClassInvalid, e.box.Resize(e.Context(), id, 10, 10), "it has no terminal")
	require.NoError(e, e.box.Kill(e.Context(), id))
	require.NoError(e, e.box.Resize(e.Context(), id, 10, 10), "resizing what has ended does nothing")
}

var terminalCases = []testCase{
	{name: "a terminal", run: isATerminal},
	{name: "size", run: resizes},
	{name: "line and answer", run: answersALine},
	{name: "interrupt", run: func(e *env) { signals(e, "\x03", "SIGINT") }},
	{name: "quit", run: func(e *env) { signals(e, "\x1c", "SIGQUIT") }},
	{name: "interrupt that is caught", run: interruptsForeground},
	{name: "end of input", run: endsInput},
	{name: "hangup ends readers", run: killsTerminal},
	{name: "fast exit", run: keepsFastExit},
	{name: "unread output", run: boundsTerminalOutput},
	{name: "own session", run: ownsItsTerminal},
	{name: "any bytes", run: passesTerminalBytes},
}

// terminals are the cases with the check of the capability before them.
func terminals() (all []testCase) {
	for _, c := range terminalCases {
		run := c.run
		all = append(all, testCase{name: c.name, real: true, run: func(e *env) {
			if !e.caps.TTY {
				e.class(sandbox.ClassUnsupported, e.box.Start(e.Context(), e.id(), sandbox.Command{TTY: true}))
				return
			}
			run(e)
		}})
	}
	return all
}

func onTerminal(script string) sandbox.Command { return sandbox.Command{Script: script, TTY: true} }

func isATerminal(e *env) {
	r := e.run(onTerminal(`test -t 0 && test -t 1 && test -t 2 && echo "tty $TERM"; echo err >&2; exit 5`))
	require.Equal(e, 5, r.ExitCode)
	require.Equal(e, "tty xterm-256color\r\nerr\r\n", r.out, "both streams are one")
	require.Empty(e, r.err)
	require.Zero(e, r.Total.Stderr)
	require.True(e, r.TTY, "its status says so")
	r = e.script("test -t 0 || test -t 1 || test -t 2 || echo none")
	require.Equal(e, "none\n", r.out, "without it there is none")
}

func resizes(e *env) {
	ctx := e.Context()
	require.Contains(e, e.run(onTerminal("stty size")).out, "24 80", "the default")
	told := e.start(onTerminal("trap 'echo told; exit' WINCH; echo ready; while :; do sleep 0.02; done"))
	e.awaitOutput(told, "ready")
	require.NoError(e, e.box.Resize(ctx, told, 25, 80))
	require.Zero(e, e.await(told).ExitCode)
	require.Contains(e, e.read(told, sandbox.Stdout), "told")

	cmd := onTerminal(`while :; do now=$(stty size); [ "$now" = "$last" ] || echo $now; last=$now; sleep 0.02; done`)
	cmd.Rows, cmd.Cols = 33, 99
	id := e.start(cmd)
	e.awaitOutput(id, "33 99")
	require.NoError(e, e.box.Resize(ctx, id, 40, 120))
	e.awaitOutput(id, "40 120")
	require.NoError(e, e.box.Resize(ctx, id, 65535, 1))
	e.awaitOutput(id, "65535 1")
	e.class(sandbox.ClassInvalid, e.box.Resize(ctx, id, 0, 80))
	e.class(sandbox.ClassInvalid, e.box.Resize(ctx, id, 24, 0))
	require.NoError(e, e.box.Kill(ctx, id))
	require.NoError(e, e.box.Resize(ctx, id, 10, 10))
}

func answersALine(e *env) {
	id := e.start(onTerminal(`printf 'name? '; read x; echo "hello $x"`))
	e.awaitOutput(id, "name? ")
	require.NoError(e, e.box.Input(e.Context(), id, []byte("you\n"), false))
	require.Zero(e, e.await(id).ExitCode)
	require.Equal(e, "name? you\r\nhello you\r\n", e.read(id, sandbox.Stdout), "what is typed is echoed")
	e.class(sandbox.ClassInvalid, e.box.Input(e.Context(), id, []byte("x"), false), "it has ended")
}

func signals(e *env, key, signal string) {
	id := e.start(sandbox.Command{Argv: []string{"sleep", "600"}, TTY: true})
	require.NoError(e, e.box.Input(e.Context(), id, []byte(key), false))
	st := e.await(id)
	require.Equal(e, signal, st.Signal)
	require.False(e, st.Killed)
}

func interruptsForeground(e *env) {
	// Only cat itself repeats the line: until it runs, the interrupt could meet a shell that is about to become it,
	// and be lost there.
	id := e.start(onTerminal("trap 'echo caught' INT; cat; echo after"))
	require.NoError(e, e.box.Input(e.Context(), id, []byte("ready\n"), false))
	e.awaitOutput(id, "ready\r\nready\r\n")
	require.NoError(e, e.box.Input(e.Context(), id, []byte{3}, false))
	require.Zero(e, e.await(id).ExitCode)
	require.Contains(e, e.read(id, sandbox.Stdout), "caught\r\nafter\r\n")
}

func endsInput(e *env) {
	id := e.start(onTerminal("cat; echo end"))
	require.NoError(e, e.box.Input(e.Context(), id, []byte("x\n"), true))
	require.Zero(e, e.await(id).ExitCode)
	require.Contains(e, e.read(id, sandbox.Stdout), "end\r\n")
}

func killsTerminal(e *env) {
	mark := e.mark()
	cmd := marked("nohup sleep $M & setsid sleep $M & echo ready; cat; sleep $M", mark)
	cmd.TTY = true
	id := e.start(cmd)
	e.awaitOutput(id, "ready")
	require.NoError(e, e.box.Kill(e.Context(), id))
	require.True(e, e.await(id).Killed)
	require.Zero(e, e.processes(mark))
}

func keepsFastExit(e *env) {
	for range 15 {
		r := e.run(onTerminal("seq 2000; exit 7"))
		require.Equal(e, 7, r.ExitCode)
		require.True(e, strings.HasSuffix(r.out, "\r\n2000\r\n"), "all output is drained")
		require.True(e, strings.HasPrefix(r.out, "1\r\n2\r\n"))
	}
}

func boundsTerminalOutput(e *env) {
	const limit = 64 << 10
	cmd := onTerminal("yes | head -c 3000000; echo; echo last")
	cmd.OutputCap = limit
	r := e.run(cmd)
	require.Zero(e, r.ExitCode)
	require.Greater(e, r.Total.Stdout, int64(3_000_000), "the terminal adds carriage returns")
	require.Equal(e, limit, len(r.out), "unread output is bounded")
	require.True(e, strings.HasSuffix(r.out, "last\r\n"))
}

func ownsItsTerminal(e *env) {
	first := e.start(onTerminal("tty; sleep 600"))
	second := e.start(onTerminal("tty; sleep 600"))
	require.NotEqual(e, e.awaitOutput(first, "\n"), e.awaitOutput(second, "\n"))
	r := e.run(onTerminal("echo opened > /dev/tty"))
	require.Equal(e, "opened\r\n", r.out, "it is the controlling terminal")
	require.NoError(e, e.box.Kill(e.Context(), first))
	require.NoError(e, e.box.Kill(e.Context(), second))
}

func passesTerminalBytes(e *env) {
	r := e.run(onTerminal(`stty raw; printf '\377\000\n\r\033[31m'`))
	require.Equal(e, "\xff\x00\n\r\x1b[31m", r.out)
}
