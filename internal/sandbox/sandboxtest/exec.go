// These cases are about what commands see, what they print and how they end.

package sandboxtest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// ending is how a command must end.
type ending struct {
	name    string
	real    bool
	setup   string // run before
	cmd     sandbox.Command
	code    int
	signal  string
	out     string
	err     string
	failure string
}

func sh(text string) sandbox.Command { return sandbox.Command{Script: text} }

func argv(words ...string) sandbox.Command { return sandbox.Command{Argv: words} }

var endings = []ending{
	{name: "streams apart", cmd: sh("echo out; echo err >&2; exit 3"), code: 3, out: "out\n", err: "err\n"},
	{name: "empty", cmd: sh("")},
	{name: "comment", cmd: sh("# nothing")},
	{name: "blank lines", cmd: sh("\n\n  \n")},
	{name: "last status counts", cmd: sh("true; false"), code: 1},
	{name: "highest code", cmd: sh("exit 255"), code: 255},
	{name: "here-doc", cmd: sh("cat <<'E'\na 'b' \"c\" $d\nE\n"), out: "a 'b' \"c\" $d\n"},
	{name: "many lines", cmd: sh("x=1\nif [ $x = 1 ]; then\n\techo yes\nfi"), out: "yes\n"},
	{name: "quotes", cmd: sh(`printf '%s|' 'a"b' "c'd" e\ f '$g'`), out: `a"b|c'd|e f|$g|`},
	{name: "no newline at the end", cmd: sh("printf x"), out: "x"},
	{name: "arguments", cmd: argv("printf", "%s|", "a b", "", "$c", "*"), out: "a b||$c|*|"},
	{name: "stdin is empty", cmd: sh("cat; echo end"), out: "end\n"},
	{name: "environment", cmd: sandbox.Command{Script: `echo "$A $B"`, Env: []string{"A=1", "B=", "A=x=y z"}}, out: "x=y z \n"},
	{name: "signal", real: true, cmd: sh("kill -USR1 $$"), code: 138, signal: "SIGUSR1"},
	{name: "killed by itself", real: true, cmd: sh("kill -KILL $$"), code: 137, signal: "SIGKILL"},
	{name: "signalled child", real: true, cmd: sh("exec 2>/dev/null; sh -c 'kill -TERM $$'; exit $?"), code: 143},
	{name: "no directory", cmd: sandbox.Command{Script: "echo no", Dir: "none"}, code: 126, failure: "no directory"},
	{name: "file as directory", setup: "echo > plain", cmd: sandbox.Command{Script: "echo no", Dir: "plain"}, code: 126, failure: "not a directory"},
	{name: "no program", cmd: argv("no-such-program"), code: 127, failure: "no such program"},
	{name: "no program by path", cmd: argv("./none"), code: 127, failure: "no such program"},
	{name: "own PATH", real: true, cmd: sandbox.Command{Argv: []string{"true"}, Env: []string{"PATH=/nowhere"}}, code: 127, failure: "no such program"},
	{name: "not executable", real: true, setup: "echo > plain", cmd: argv("./plain"), code: 126, failure: "executed"},
	{name: "a directory is no program", real: true, setup: "mkdir d", cmd: argv("./d"), code: 126, failure: "directory"},
	{name: "no interpreter", real: true, setup: "echo '#!/no/such/interpreter' > broken; chmod +x broken", cmd: argv("./broken"), code: 127, failure: "interpreter"},
	{name: "program of the workspace", real: true, setup: "printf '#!/bin/sh\\necho $1' > p; chmod +x p", cmd: argv("./p", "hi"), out: "hi\n"},
}

var execCases = append(endingCases(),
	testCase{name: "refusals", run: refusesCommands},
	testCase{name: "directories", run: runsInDirectories},
	testCase{name: "long scripts", real: true, run: runsLongScripts},
	testCase{name: "any bytes", real: true, run: passesAnyBytes},
	testCase{name: "settings", real: true, run: setsTheEnvironment},
	testCase{name: "nothing waits for a person", real: true, run: neverPrompts},
	testCase{name: "confinement", real: true, run: isConfined},
	testCase{name: "many at once", run: runsManyAtOnce},
	testCase{name: "timeout", run: timesOut},
)

func endingCases() (all []testCase) {
	for _, c := range endings {
		all = append(all, testCase{name: c.name, real: c.real, run: c.check})
	}
	return all
}

func (c ending) check(e *env) {
	if c.setup != "" {
		e.succeed(c.setup)
	}
	if c.cmd.Dir != "" {
		c.cmd.Dir = e.at(c.cmd.Dir)
	}
	r := e.run(c.cmd)
	require.Equal(e, sandbox.StateExited, r.State)
	require.Equal(e, c.code, r.ExitCode, r.err)
	require.Equal(e, c.signal, r.Signal)
	require.Equal(e, c.out, r.out)
	require.Equal(e, c.err, r.err)
	require.Equal(e, c.failure == "", r.Failure == "", r.Failure)
	require.Contains(e, r.Failure, c.failure)
	require.Equal(e, sandbox.Offsets{Stdout: int64(len(c.out)), Stderr: int64(len(c.err))}, r.Total)
	require.Zero(e, r.Left)
	require.False(e, r.Killed || r.TimedOut)
	require.False(e, r.Started.IsZero() || r.Ended.Before(r.Started))
}

func refusesCommands(e *env) {
	e.succeed("ln -s / out; ln -s loop loop")
	cases := []struct {
		name string
		id   string
		cmd  sandbox.Command
		want sandbox.Class
	}{
		{"NUL in a script", "a", sh("echo \x00"), sandbox.ClassInvalid},
		{"NUL in an argument", "a", argv("echo", "\x00"), sandbox.ClassInvalid},
		{"NUL in the environment", "a", sandbox.Command{Env: []string{"A=\x00"}}, sandbox.ClassInvalid},
		{"NUL in the directory", "a", sandbox.Command{Dir: "a\x00"}, sandbox.ClassInvalid},
		{"script and arguments", "a", sandbox.Command{Script: "true", Argv: []string{"true"}}, sandbox.ClassInvalid},
		{"no program", "a", argv("", "x"), sandbox.ClassInvalid},
		{"no id", "", sh("true"), sandbox.ClassInvalid},
		{"long id", strings.Repeat("x", sandbox.MaxID+1), sh("true"), sandbox.ClassInvalid},
		{"id of any bytes", "\xff", sh("true"), sandbox.ClassInvalid},
		{"long timeout", "a", sandbox.Command{Timeout: 2*time.Hour + 1}, sandbox.ClassInvalid},
		{"negative timeout", "a", sandbox.Command{Timeout: -1}, sandbox.ClassInvalid},
		{"negative limit", "a", sandbox.Command{OutputCap: -1}, sandbox.ClassInvalid},
		{"high limit", "a", sandbox.Command{OutputCap: 1<<30 + 1}, sandbox.ClassInvalid},
		{"variable without a value", "a", sandbox.Command{Env: []string{"novalue"}}, sandbox.ClassInvalid},
		{"variable without a name", "a", sandbox.Command{Env: []string{"=x"}}, sandbox.ClassInvalid},
		{"directory outside", "a", sandbox.Command{Dir: "../x"}, sandbox.ClassDenied},
		{"absolute directory outside", "a", sandbox.Command{Dir: "/"}, sandbox.ClassDenied},
		{"directory by a link", "a", sandbox.Command{Dir: e.at("out")}, sandbox.ClassDenied},
		{"directory by a loop", "a", sandbox.Command{Dir: e.at("loop")}, sandbox.ClassDenied},
		{"huge script", "a", sh(strings.Repeat("#", 1<<20+1)), sandbox.ClassLimit},
	}
	if !e.caps.TTY {
		cases = append(cases, struct {
			name string
			id   string
			cmd  sandbox.Command
			want sandbox.Class
		}{"terminal", "a", sandbox.Command{TTY: true}, sandbox.ClassUnsupported})
	}
	for _, c := range cases {
		e.class(c.want, e.box.Start(e.Context(), c.id, c.cmd), c.name)
	}
	_, err := e.box.Wait(e.Context(), "a", sandbox.Offsets{}, 0)
	e.class(sandbox.ClassNotFound, err, "a refused command leaves no record")
	require.NoError(e, e.box.Start(e.Context(), "a", sh("echo now")))
	require.Zero(e, e.await("a").ExitCode)
	require.Equal(e, "now\n", e.read("a", sandbox.Stdout), "the id was free")
}

func runsInDirectories(e *env) {
	e.succeed("mkdir -p sub/deep; ln -s sub/deep in")
	root := e.root()
	for dir, want := range map[string]string{
		e.at("."): e.dir, e.at("sub/deep"): e.at("sub/deep"), e.at("sub/../sub//deep/"): e.at("sub/deep"), root + "/" + e.at("sub"): e.at("sub"),
	} {
		r := e.run(sandbox.Command{Script: "pwd; echo $PWD", Dir: dir})
		require.Equal(e, strings.Repeat(root+"/"+want+"\n", 2), r.out, dir)
	}
	require.Zero(e, e.run(sandbox.Command{Script: "echo > made", Dir: e.at("in")}).ExitCode)
	require.Equal(e, "\n", e.get("sub/deep/made"))
	r := e.run(sandbox.Command{Script: "pwd", Dir: "."})
	require.Equal(e, root+"\n", r.out)
}

func runsLongScripts(e *env) {
	long := "x='" + strings.Repeat("é'\"'\"'", 30000) + "'\necho $# ${#x}\ncat <<E\nend\nE"
	require.Greater(e, len(long), 200<<10)
	r := e.script(long)
	require.Zero(e, r.ExitCode, r.err)
	require.Regexp(e, `^0 \d+\nend\n$`, r.out)
	require.Zero(e, e.script("#"+strings.Repeat("x", 1<<20-1)).ExitCode)
}

func passesAnyBytes(e *env) {
	if !e.caps.ByteExact {
		e.Skip("the backend declares that it is not byte-exact")
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	e.put("bin", string(all))
	r := e.script("cat bin; printf '\\377\\376' >&2")
	require.Equal(e, string(all), r.out)
	require.Equal(e, "\xff\xfe", r.err)
	e.put("d\xff/f", "x")
	r = e.run(sandbox.Command{Script: "printf '\xfe'; printf %s \"$A\"; cat f", Dir: e.at("d\xff"), Env: []string{"A=\xfd"}})
	require.Equal(e, "\xfe\xfdx", r.out)
	require.Equal(e, "\xfc", e.run(argv("printf", "%s", "\xfc")).out)
}

func setsTheEnvironment(e *env) {
	out := e.succeed(`env; test -n "$HOME" && test -n "$PATH" && cd ~`)
	for _, want := range []string{"PAGER=cat\n", "GIT_TERMINAL_PROMPT=0\n", "TERM=dumb\n", "EDITOR=true\n"} {
		require.Contains(e, out, want)
	}
	require.NotContains(e, "\n"+out, "\nCI=", "programs must not think that this is CI")
}

func neverPrompts(e *env) {
	r := e.run(sandbox.Command{Timeout: 30 * time.Second, Script: `read x; sh -c 'read x < /dev/tty' 2>/dev/null
if command -v git >/dev/null; then
git init -q . && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -qm one
echo y >> f; git commit -qa; git log; git rebase -i --root; git clone -q https://user@localhost:1/x 2>&1
fi; echo end`})
	require.False(e, r.TimedOut)
	require.Contains(e, r.out, "end\n")
}

// isConfined checks the least that any confinement means; how it is attacked is for the tests of each.
func isConfined(e *env) {
	require.Equal(e, "x\nx\n", e.succeed(`echo x > here; t=$(mktemp) && echo x > "$t" && cat here "$t" && rm "$t"; test -n "$HOME" && echo x > ~/.probe && rm ~/.probe`))
	if e.caps.Confinement == "none" {
		return
	}
	for _, place := range []string{"/usr/local/escape", "/etc/escape", "/escape"} {
		r := e.run(sandbox.Command{Script: `(echo x > "$P") 2>/dev/null`, Env: []string{"P=" + place}})
		require.NotZero(e, r.ExitCode, place)
	}
}

func runsManyAtOnce(e *env) {
	ids := make([]string, 12)
	for i := range ids {
		ids[i] = e.start(sandbox.Command{Script: "read x; echo got $x", Stdin: true})
	}
	live, err := e.box.Commands(e.Context())
	require.NoError(e, err)
	require.GreaterOrEqual(e, len(live), len(ids), "all run at the same time")
	for i, id := range ids {
		require.NoError(e, e.box.Input(e.Context(), id, []byte(string(rune('a'+i))+"\n"), true))
	}
	for i, id := range ids {
		require.Zero(e, e.await(id).ExitCode)
		require.Equal(e, "got "+string(rune('a'+i))+"\n", e.read(id, sandbox.Stdout))
	}
}

func timesOut(e *env) {
	r := e.run(sandbox.Command{Script: "echo before; sleep 600; echo after", Timeout: 200 * time.Millisecond})
	require.Equal(e, sandbox.StateExited, r.State)
	require.True(e, r.TimedOut && !r.Killed)
	require.NotEmpty(e, r.Signal)
	require.Greater(e, r.ExitCode, 128)
	require.Equal(e, "before\n", r.out)
	require.GreaterOrEqual(e, r.Ended.Sub(r.Started), 200*time.Millisecond)
}
