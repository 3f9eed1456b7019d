package engine

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

const (
	askPatience = time.Minute
	askCalm     = 4 * time.Second
)

// nothing are offsets that no output reaches.
var nothing = sandbox.Offsets{Stdout: 1 << 40, Stderr: 1 << 40}

// TestProgramsThatAskAreTold runs what people meet: editors, prompts, interpreters; and servers, which must not be taken for them.
func TestProgramsThatAskAreTold(t *testing.T) {
	python := func(text string) string { return "python3 -c '" + text + "'" }
	node := func(text string) string { return "node -e '" + text + "'" }
	for _, c := range []struct {
		name, needs, script string
		asks                bool
	}{
		{"vi", "vi", "vi -u NONE file", true},
		{"interactive shell", "bash", "bash --norc -i", true},
		{"python's input", "python3", python(`input("Name? ")`), true},
		{"python with threads", "python3", python(`import threading; threading.Thread(target=threading.Event().wait, daemon=True).start(); input()`), true},
		{"node's readline", "node", node(`require("readline").createInterface({input: process.stdin, output: process.stdout}).question("Name? ", console.log)`), true},
		{"git commit", "git", "git init -q r && cd r && env -u GIT_EDITOR git -c core.editor='vi -u NONE' -c user.name=a -c user.email=a@b commit --allow-empty", true},
		{"script", "script", "script -qc cat /dev/null", true},
		{"select without end", "python3", python(`import select, sys; select.select([sys.stdin], [], [])`), true},
		{"poll without end", "python3", python(`import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()`), true},

		{"select with a timer", "python3", python(`import select, sys; select.select([sys.stdin], [], [], 600)`), false},
		{"server", "python3", "python3 -m http.server --bind 127.0.0.1 0", false},
		{"server that reads", "python3", python(`
import select, socket, sys
s = socket.create_server(("127.0.0.1", 0))
select.select([s, sys.stdin], [], [])`), false},
		{"node's server that reads", "node", node(`require("net").createServer().listen(0, "127.0.0.1"); process.stdin.resume()`), false},
		{"node's timer that reads", "node", node(`setInterval(() => {}, 600000); process.stdin.resume()`), false},
		{"watcher", "node", node(`require("fs").watch("."); process.stdin.resume()`), false},
		{"beside a server", "python3", "python3 -m http.server --bind 127.0.0.1 0 & cat", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skip(c.needs + " is not installed here")
			}
			t.Parallel()
			requireAsks(t, sandbox.Command{Script: c.script, TTY: true}, c.asks)
		})
	}
}

// TestProgramsThatWantATerminalAreTold runs without input what would ask for it: most of it ends, and what does not is told.
func TestProgramsThatWantATerminalAreTold(t *testing.T) {
	for _, c := range []struct {
		name, needs, script string
		asks                bool
	}{
		{"vi", "vi", "vi -u NONE file", true},
		{"vi below others", "vi", "sh -c 'vi -u NONE file; true' | cat", true},
		{"git's editor", "git", "git init -q r && cd r && env -u GIT_EDITOR git -c core.editor='vi -u NONE' -c user.name=a -c user.email=a@b commit --allow-empty", true},
		{"select on the output", "python3", "python3 -c 'import select; select.select([1], [], [])'", true},

		{"select with a timer", "python3", "python3 -c 'import select; select.select([1], [], [], 600)'", false},
		{"a timer beside it", "vi", "sleep 600 & vi -u NONE file", false},
		{"who waits for its own pipe", "bash", "sleep 600 | cat", false},
		{"a watch of its output's end", "python3", "python3 -c 'import select; p = select.poll(); p.register(1, 0); p.poll()'", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skip(c.needs + " is not installed here")
			}
			t.Parallel()
			requireAsks(t, sandbox.Command{Script: c.script}, c.asks)
		})
	}
}

func TestProgramsThatWantATerminalEndWithoutOne(t *testing.T) {
	for needs, script := range map[string]string{
		"less": "less /etc/passwd", "top": "top", "ed": "ed file", "python3": "python3 -c 'import getpass; getpass.getpass()'",
		"man": "PATH=$PATH man man || true", "git": "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && git commit --amend -q; git log; git rebase -i HEAD",
		"ssh": "ssh -o ConnectTimeout=5 nobody@localhost", "sudo": "sudo -k true", "psql": "psql -W -h 127.0.0.1", "bash": "read -p Name? x; read x </dev/tty; select x in a b; do :; done",
	} {
		t.Run(needs, func(t *testing.T) {
			if _, err := exec.LookPath(needs); err != nil {
				t.Skip(needs + " is not installed here")
			}
			t.Parallel()
			e := newEngine(t, t.TempDir(), t.TempDir())
			require.NoError(t, e.Start(t.Context(), "c", sandbox.Command{Script: script}))
			cmd, err := e.find(t.Context(), "wait", "c")
			require.NoError(t, err)
			st, err := cmd.wait(t.Context(), nothing, askPatience)
			require.NoError(t, err)
			require.Equal(t, sandbox.StateExited, st.State)
		})
	}
}

// requireAsks runs a command that does not end, and checks whether it is told to wait for input.
func requireAsks(t *testing.T, c sandbox.Command, asks bool) {
	t.Helper()
	e := newEngine(t, t.TempDir(), t.TempDir())
	require.NoError(t, e.Start(t.Context(), "c", c))
	cmd, err := e.find(t.Context(), "wait", "c")
	require.NoError(t, err)
	atMost := askCalm
	if asks {
		atMost = askPatience
	}
	st, err := cmd.wait(t.Context(), nothing, atMost)
	require.NoError(t, err)
	out, err := cmd.output(sandbox.Stdout, 0, maxOutput)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateRunning, st.State, "%s", out.Data)
	require.Equal(t, asks, !st.WaitsSince.IsZero(), "%s", out.Data)
}

func TestParseCall(t *testing.T) {
	call, ok := parseCall("0 0x3 0x7ffd 0x20000 0x1 0xffffffff 0x0 0x7ffd3c775ec8 0x7f9245f242ad\n")
	require.True(t, ok)
	require.Equal(t, sysCall{0, [6]uint64{3, 0x7ffd, 0x20000, 1, 0xffffffff, 0}}, call)
	for _, text := range []string{"", "running\n", "-1 0x7ffd 0x7f92\n", "-1 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", "0 0x3", "0 x 0x0 0x0 0x0 0x0 0x0 0x0 0x0"} {
		_, ok := parseCall(text)
		require.False(t, ok, text)
	}
}
