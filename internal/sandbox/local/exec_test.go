// This file tests what commands see and how they end.

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestExitsAndStreams(t *testing.T) {
	sb, ws := newSandbox(t)
	write(t, filepath.Join(ws, "sub", "f"), "x")
	write(t, filepath.Join(ws, "plain"), "no program")
	write(t, filepath.Join(ws, "broken"), "#!/no/such/interpreter\n")
	require.NoError(t, os.Chmod(filepath.Join(ws, "broken"), 0o755))
	cases := []struct {
		name    string
		cmd     sandbox.Command
		code    int
		signal  string
		out     string
		err     string
		failure string
	}{
		{name: "streams apart", cmd: sandbox.Command{Script: "echo out; echo err >&2; exit 3"}, code: 3, out: "out\n", err: "err\n"},
		{name: "empty", cmd: sandbox.Command{Script: ""}},
		{name: "comment", cmd: sandbox.Command{Script: "# nothing"}},
		{name: "here-doc", cmd: sandbox.Command{Script: "cat <<'E'\na 'b' \"c\" $d\nE\n"}, out: "a 'b' \"c\" $d\n"},
		{name: "directory", cmd: sandbox.Command{Script: "pwd; echo $PWD", Dir: "sub"}, out: ws + "/sub\n" + ws + "/sub\n"},
		{name: "absolute directory", cmd: sandbox.Command{Script: "pwd", Dir: ws + "/sub"}, out: ws + "/sub\n"},
		{name: "argv", cmd: sandbox.Command{Argv: []string{"printf", "%s|", "a b", "", "$c"}}, out: "a b||$c|"},
		{name: "signal", cmd: sandbox.Command{Script: "kill -USR1 $$"}, code: 138, signal: "SIGUSR1"},
		{name: "exit code of a signalled child", cmd: sandbox.Command{Script: "exec 2>/dev/null; sh -c 'kill -TERM $$'; exit $?"}, code: 143},
		{name: "no directory", cmd: sandbox.Command{Script: "echo no", Dir: "none"}, code: 126, failure: "no directory"},
		{name: "file as directory", cmd: sandbox.Command{Script: "echo no", Dir: "plain"}, code: 126, failure: "not a directory"},
		{name: "no program", cmd: sandbox.Command{Argv: []string{"no-such-program"}}, code: 127, failure: "no such program"},
		{name: "no program by path", cmd: sandbox.Command{Argv: []string{"./none"}}, code: 127, failure: "no such program"},
		{name: "not executable", cmd: sandbox.Command{Argv: []string{"./plain"}}, code: 126, failure: "executed"},
		{name: "no interpreter", cmd: sandbox.Command{Argv: []string{"./broken"}}, code: 127, failure: "interpreter"},
		{name: "stdin is empty", cmd: sandbox.Command{Script: "cat; echo end"}, out: "end\n"},
		{name: "env", cmd: sandbox.Command{Script: `echo "$A"`, Env: []string{"A=1", "A=x=y z"}}, out: "x=y z\n"},
		{name: "own PATH", cmd: sandbox.Command{Argv: []string{"true"}, Env: []string{"PATH=/nowhere"}}, code: 127, failure: "no such program"},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id := strconv.Itoa(i)
			st, out := run(t, sb, id, c.cmd)
			require.Equal(t, sandbox.StateExited, st.State)
			require.Equal(t, c.code, st.ExitCode)
			require.Equal(t, c.signal, st.Signal)
			require.Equal(t, c.out, out)
			require.Equal(t, c.err, read(t, sb, id, sandbox.Stderr))
			require.Contains(t, st.Failure, c.failure)
			require.Equal(t, c.failure == "", st.Failure == "")
			require.Zero(t, st.Left)
			require.False(t, st.Killed || st.TimedOut)
			require.False(t, st.Ended.Before(st.Started))
		})
	}
}

func TestStartRefuses(t *testing.T) {
	sb, ws := newSandbox(t)
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(ws, "out")))
	cases := map[string]struct {
		id   string
		cmd  sandbox.Command
		want sandbox.Class
	}{
		"NUL in script":        {"a", sandbox.Command{Script: "echo \x00"}, sandbox.ClassInvalid},
		"NUL in argument":      {"a", sandbox.Command{Argv: []string{"echo", "\x00"}}, sandbox.ClassInvalid},
		"script and arguments": {"a", sandbox.Command{Script: "true", Argv: []string{"true"}}, sandbox.ClassInvalid},
		"no id":                {"", sandbox.Command{Script: "true"}, sandbox.ClassInvalid},
		"long timeout":         {"a", sandbox.Command{Script: "true", Timeout: 3 * time.Hour}, sandbox.ClassInvalid},
		"bad environment":      {"a", sandbox.Command{Script: "true", Env: []string{"novalue"}}, sandbox.ClassInvalid},
		"directory outside":    {"a", sandbox.Command{Script: "true", Dir: "../x"}, sandbox.ClassDenied},
		"directory by link":    {"a", sandbox.Command{Script: "true", Dir: "out"}, sandbox.ClassDenied},
		"huge script":          {"a", sandbox.Command{Script: strings.Repeat("#", 2<<20)}, sandbox.ClassLimit},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, class(sb.Start(t.Context(), c.id, c.cmd))) })
	}
	_, err := sb.Wait(t.Context(), "a", sandbox.Offsets{}, 0)
	require.Equal(t, sandbox.ClassNotFound, class(err), "a refused command leaves no record")
	_, out := script(t, sb, "a", "echo now")
	require.Equal(t, "now\n", out)
	for _, err := range []error{
		sb.Kill(t.Context(), "unknown"),
		sb.Input(t.Context(), "unknown", nil, true),
	} {
		require.Equal(t, sandbox.ClassNotFound, class(err))
	}
}

func TestLongScript(t *testing.T) {
	sb, _ := newSandbox(t)
	long := "x='" + strings.Repeat("é'\"'\"'", 30000) + "'\necho $# $0 ${#x}\ncat <<E\nend\nE"
	require.Greater(t, len(long), 200<<10)
	st, out := script(t, sb, "a", long)
	require.Equal(t, 0, st.ExitCode)
	require.Regexp(t, `^0 (bash|sh) \d+\nend\n$`, out)
	st, _ = script(t, sb, "b", "#"+strings.Repeat("x", 1<<20-1))
	require.Equal(t, 0, st.ExitCode)
}

func TestBytesAreExact(t *testing.T) {
	sb, ws := newSandbox(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	write(t, filepath.Join(ws, "bin"), string(all))
	_, out := script(t, sb, "a", "cat bin; printf '\\377\\376' >&2")
	require.Equal(t, string(all), out)
	require.Equal(t, "\xff\xfe", read(t, sb, "a", sandbox.Stderr))
	// invalid UTF-8 in script, argument, environment and directory
	require.NoError(t, os.Mkdir(filepath.Join(ws, "d\xff"), 0o755))
	_, out = run(t, sb, "b", sandbox.Command{Script: "printf '\xfe'; printf %s \"$A\"; pwd", Dir: "d\xff", Env: []string{"A=\xfd"}})
	require.Equal(t, "\xfe\xfd"+ws+"/d\xff\n", out)
	_, out = run(t, sb, "c", sandbox.Command{Argv: []string{"printf", "%s", "\xfc"}})
	require.Equal(t, "\xfc", out)
}

func TestInput(t *testing.T) {
	sb, _ := newSandbox(t)
	ctx := t.Context()
	require.NoError(t, sb.Start(ctx, "cat", sandbox.Command{Script: "cat; echo end", Stdin: true}))
	require.NoError(t, sb.Input(ctx, "cat", []byte("one\n\x00"), false))
	awaitOutput(t, sb, "cat", "one\n\x00")
	require.NoError(t, sb.Input(ctx, "cat", []byte("two\n"), true))
	require.Equal(t, 0, await(t, sb, "cat").ExitCode)
	require.Equal(t, "one\n\x00two\nend\n", read(t, sb, "cat", sandbox.Stdout))
	require.Equal(t, sandbox.ClassInvalid, class(sb.Input(ctx, "cat", []byte("x"), false)))

	// one that does not read blocks nobody
	require.NoError(t, sb.Start(ctx, "deaf", sandbox.Command{Script: "exec sleep 60", Stdin: true}))
	full := false
	for range 4 {
		if err := sb.Input(ctx, "deaf", make([]byte, 512<<10), false); err != nil {
			require.Equal(t, sandbox.ClassLimit, class(err))
			full = true
		}
	}
	require.True(t, full)
	_, out := script(t, sb, "other", "echo fine")
	require.Equal(t, "fine\n", out)
	require.NoError(t, sb.Kill(ctx, "deaf"))

	require.NoError(t, sb.Start(ctx, "none", sandbox.Command{Script: "sleep 60"}))
	require.Equal(t, sandbox.ClassInvalid, class(sb.Input(ctx, "none", []byte("x"), false)))
	require.NoError(t, sb.Kill(ctx, "none"))
}

func TestTerminal(t *testing.T) {
	sb, _ := newSandbox(t)
	ctx := t.Context()
	require.NoError(t, sb.Start(ctx, "a", sandbox.Command{Script: `test -t 0 && test -t 1 && echo tty $TERM; stty size; read x; echo "got $x"`, TTY: true, Rows: 33, Cols: 99}))
	awaitOutput(t, sb, "a", "33 99")
	require.NoError(t, sb.Input(ctx, "a", []byte("hello\n"), false))
	require.Equal(t, 0, await(t, sb, "a").ExitCode)
	out := read(t, sb, "a", sandbox.Stdout)
	require.Contains(t, out, "tty xterm-256color\r\n")
	require.Contains(t, out, "got hello\r\n")

	require.NoError(t, sb.Start(ctx, "b", sandbox.Command{Script: "echo ready; exec sleep 60", TTY: true}))
	awaitOutput(t, sb, "b", "ready")
	require.NoError(t, sb.Input(ctx, "b", []byte{3}, false))
	require.Equal(t, "SIGINT", await(t, sb, "b").Signal)

	require.NoError(t, sb.Start(ctx, "c", sandbox.Command{Script: "cat; echo end", TTY: true}))
	require.NoError(t, sb.Input(ctx, "c", []byte("x\n"), true))
	require.Equal(t, 0, await(t, sb, "c").ExitCode)
}

func TestEnvironment(t *testing.T) {
	for _, name := range []string{"CANARY_TOKEN", "OPENAI_API_KEY", "AWS_PROFILE", "TEMPORAL_ADDRESS", "XDG_SECRET_THING", "SOMETHING_ELSE", "GITHUB_TOKEN"} {
		t.Setenv(name, "canary-4711")
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("CI", "true")
	sb, _ := newSandbox(t)
	_, out := script(t, sb, "a", `env; cat /proc/$PPID/environ; tr '\0' ' ' < /proc/$PPID/cmdline; p=$(awk '/^PPid/{print $2}' /proc/$PPID/status); cat /proc/$p/environ; cat /proc/$p/cmdline`)
	require.NotContains(t, out, "canary-4711")
	require.Contains(t, out, "serve\x00--state")
	for _, want := range []string{"GOFLAGS=-mod=mod\n", "PAGER=cat\n", "GIT_TERMINAL_PROMPT=0\n", "TERM=dumb\n", "HOME="} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "\nCI=")
}

func TestInteractiveProgramsDoNotHang(t *testing.T) {
	sb, _ := newSandbox(t)
	st, out := run(t, sb, "a", sandbox.Command{Timeout: 20 * time.Second, Script: `
git init -q . && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -qm one
echo y >> f; git commit -qa; git log; git rebase -i --root; git clone -q https://user@localhost:1/x 2>&1; echo end`})
	require.False(t, st.TimedOut)
	require.Contains(t, out, "end\n")
}
