// These cases are about commands that run once, whoever dies in between.

package sandboxtest

import (
	"bufio"
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var onceCases = []testCase{
	{name: "same id", run: runsOnce},
	{name: "same id, other sandbox object", run: runsOnceForAll},
	{name: "same id after refusals", run: keepsRefusals},
	{name: "ids of any text", run: keepsIDsApart},
	{name: "worker killed", real: true, run: outlivesTheWorker},
	{name: "worker killed with a terminal", real: true, run: keepsTheTerminal},
	{name: "worker that ignored signals", real: true, run: inheritsNoIgnoredSignals},
	{name: "helper killed", real: true, run: losesWhatRan},
	{name: "helper killed before destroy", real: true, run: destroysAfterDeath},
}

func runsOnce(e *env) {
	id := e.id()
	cmd := sh("echo run >> count; echo out; exit 3")
	require.NoError(e, e.box.Start(e.Context(), id, cmd))
	first := e.await(id)
	require.NoError(e, e.box.Start(e.Context(), id, cmd))
	require.NoError(e, e.box.Start(e.Context(), id, sh("echo another >> count")), "the arguments of a repetition are ignored")
	require.Equal(e, first, e.await(id), "the record does not change")
	require.Equal(e, "out\n", e.read(id, sandbox.Stdout))
	require.Equal(e, "run\n", e.get("count"))
}

func runsOnceForAll(e *env) {
	id := e.id()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			box, err := e.Backend.Open(context.Background(), e.Spec)
			if err != nil {
				e.Error(err)
				return
			}
			defer box.Close()
			if err := box.Start(context.Background(), id, sh("echo run >> count; echo out")); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	require.Zero(e, e.await(id).ExitCode)
	require.Equal(e, "run\n", e.get("count"))
}

func keepsRefusals(e *env) {
	id := e.id()
	require.NoError(e, e.box.Start(e.Context(), id, argv("no-such-program")))
	first := e.await(id)
	require.Equal(e, 127, first.ExitCode)
	require.NoError(e, e.box.Start(e.Context(), id, sh("echo now")))
	require.Equal(e, first, e.await(id), "what could not be spawned counts as having run")
}

func keepsIDsApart(e *env) {
	ids := []string{"a", "A", "a ", "a/b", "../a", ".", "é", "e\u0301", "a\x00b", "a\nb", strings.Repeat("x", sandbox.MaxID), strings.Repeat("x", sandbox.MaxID-1)}
	for i, id := range ids {
		require.NoError(e, e.box.Start(e.Context(), id, sh("echo "+itoa(i))), "%q", id)
	}
	for i, id := range ids {
		require.Equal(e, sandbox.StateExited, e.await(id).State)
		require.Equal(e, itoa(i)+"\n", e.read(id, sandbox.Stdout), "%q", id)
		require.NoError(e, e.box.Apply(e.Context(), id, []sandbox.Edit{{Path: "f" + itoa(i), Content: []byte(id)}}), "effects have ids of their own")
	}
	require.Equal(e, "é", e.get("f6"))
}

// doomed lets a worker start a command in the sandbox and then be killed.
func (e *env) doomed(id string, cmd sandbox.Command) {
	e.Helper()
	if !e.caps.Reattach {
		e.Skip("the backend declares that commands end with the worker")
	}
	if e.Config == "" {
		e.Skip("the test does not say how another process makes this backend")
	}
	process, err := worker(task{Config: e.Config, Spec: e.Spec, ID: id, Command: cmd})
	require.NoError(e, err)
	out, err := process.StdoutPipe()
	require.NoError(e, err)
	require.NoError(e, process.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(e, err, "did TestMain call Worker?")
	require.NoError(e, process.Process.Kill())
	_ = process.Wait()
	require.Equal(e, "<nil>\n", line)
}

func outlivesTheWorker(e *env) {
	id := e.id()
	cmd := sh("echo run >> count; echo one; mkfifo gate; echo ready; read x < gate; echo two; exit 5")
	e.doomed(id, cmd)
	require.NoError(e, e.box.Start(e.Context(), id, cmd))
	before := e.awaitOutput(id, "ready")
	require.Equal(e, "one\nready\n", before)
	e.succeed("echo go > gate")
	st := e.await(id)
	require.Equal(e, sandbox.StateExited, st.State)
	require.Equal(e, 5, st.ExitCode)
	chunk, err := e.box.Output(e.Context(), id, sandbox.Stdout, int64(len(before)), 100)
	require.NoError(e, err)
	require.Equal(e, "two\n", string(chunk.Data), "output continues at its offset")
	require.Equal(e, "run\n", e.get("count"), "it ran once")
}

func keepsTheTerminal(e *env) {
	if !e.caps.TTY {
		e.Skip("there are no terminals")
	}
	id := e.id()
	e.doomed(id, onTerminal("echo one; read x; stty size; echo \"got $x\""))
	before := e.awaitOutput(id, "one\r\n")
	require.NoError(e, e.box.Resize(e.Context(), id, 50, 70))
	require.NoError(e, e.box.Input(e.Context(), id, []byte("it\n"), false))
	require.Zero(e, e.await(id).ExitCode)
	chunk, err := e.box.Output(e.Context(), id, sandbox.Stdout, int64(len(before)), 100)
	require.NoError(e, err)
	require.Equal(e, "it\r\n50 70\r\ngot it\r\n", string(chunk.Data))
}

func inheritsNoIgnoredSignals(e *env) {
	if !e.caps.TTY {
		e.Skip("there are no terminals")
	}
	require.NoError(e, e.box.Close())
	require.NoError(e, e.Backend.Destroy(e.Context(), e.box.Ref())) // so that the worker below starts all there is
	first := e.id()
	sleep := sandbox.Command{Argv: []string{"sleep", "600"}, TTY: true}
	e.doomed(first, sleep)
	e.box = e.again()
	for key, signal := range map[string]string{"\x03": "SIGINT", "\x1c": "SIGQUIT"} {
		id := e.start(sleep)
		require.NoError(e, e.box.Input(e.Context(), id, []byte(key), false))
		require.Equal(e, signal, e.await(id).Signal)
	}
	require.NoError(e, e.box.Input(e.Context(), first, []byte{3}, false))
	require.Equal(e, "SIGINT", e.await(first).Signal)
	for _, name := range []string{"HUP", "INT", "QUIT", "PIPE", "TERM", "USR1"} {
		r := e.script("sh -c 'kill -" + name + " $$'; test $? -gt 128 || echo ignored")
		require.Empty(e, r.out, name)
	}
	mask := strings.TrimSpace(e.succeed("sed -n s/SigIgn://p /proc/self/status || :"))
	if mask == "" {
		return // the system cannot tell
	}
	ignored, err := strconv.ParseUint(mask, 16, 64)
	require.NoError(e, err)
	require.Zero(e, ignored&standardSignals, "none is ignored")
}

// standardSignals are 1 to 31; make and libc ignore some above them, which are libc's own.
const standardSignals = 1<<31 - 1

// killHelper kills what supervises commands.
func (e *env) killHelper() {
	e.Helper()
	if e.KillHelper == nil {
		e.Skip("the test does not say how to kill the helper")
	}
	e.KillHelper(e.T, e.box.Ref())
}

func losesWhatRan(e *env) {
	mark := e.mark()
	done := e.run(sandbox.Command{Script: "seq 100000; exit 4", OutputCap: 1000})
	edit := e.id()
	require.NoError(e, e.box.Apply(e.Context(), edit, []sandbox.Edit{{Path: "f", Content: []byte("x")}}))
	running := marked("echo run >> count; "+hostile, mark)
	id := e.id()
	require.NoError(e, e.box.Start(e.Context(), id, running))
	e.awaitOutput(id, "started")
	e.killHelper()

	require.NoError(e, e.box.Start(e.Context(), id, running), "the same sandbox object goes on")
	st := e.await(id)
	require.Equal(e, sandbox.StateLost, st.State)
	require.NotEmpty(e, st.Failure)
	require.Equal(e, "started\n", e.read(id, sandbox.Stdout), "output is kept")
	require.Equal(e, "run\n", e.get("count"), "it is not run again")
	e.none(mark)
	require.NoError(e, e.box.Kill(e.Context(), id), "killing what is lost is no error")
	e.class(sandbox.ClassInvalid, e.box.Input(e.Context(), id, []byte("x"), false))

	again := e.await(done.id)
	require.True(e, done.Started.Equal(again.Started) && done.Ended.Equal(again.Ended))
	again.Started, again.Ended = done.Started, done.Ended
	require.Equal(e, done.Status, again, "what had ended is remembered")
	require.Equal(e, done.out, e.read(done.id, sandbox.Stdout))
	require.NoError(e, e.box.Apply(e.Context(), edit, []sandbox.Edit{{Path: "f", Before: "*", Content: []byte("y")}}))
	require.Equal(e, "x", e.get("f"), "so are effects")
	live, err := e.box.Commands(e.Context())
	require.NoError(e, err)
	require.Empty(e, live)
}

func destroysAfterDeath(e *env) {
	id, mark := e.startHostile(0)
	e.awaitOutput(id, "started")
	e.killHelper()
	require.NoError(e, e.Backend.Destroy(e.Context(), e.box.Ref()))
	if e.Processes != nil {
		eventually(e.T, "that no process is left", func() bool { return e.Processes(e.T, mark) == 0 })
	}
}
