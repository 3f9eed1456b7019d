package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// soonTold bounds how long a client waits for being told what is missing; an idle machine takes half of it.
const soonTold = 10 * time.Second

// outages are what a running turn may lose under an attached client, and how it comes back. link leads to the worker's program.
var outages = map[string]struct{ take, give func(i *install, link string) }{
	"the worker, and its program": {
		func(i *install, link string) { require.NoError(i, os.Remove(link)); kill(i, i.workerInfo().PID) },
		func(i *install, link string) { i.linkWorker(link); i.ok(nil, "worker", "start") },
	},
	"the worker, stopped": {
		func(i *install, _ string) { i.ok(nil, "worker", "stop") },
		func(i *install, _ string) { i.ok(nil, "worker", "start") },
	},
	"the worker, hung": {
		func(i *install, _ string) { signal(i, i.workerInfo().PID, syscall.SIGSTOP) },
		func(i *install, _ string) { signal(i, i.workerInfo().PID, syscall.SIGCONT) },
	},
	"Temporal, hung": {
		func(i *install, _ string) { signal(i, temporalPID(i), syscall.SIGSTOP) },
		func(i *install, _ string) { signal(i, temporalPID(i), syscall.SIGCONT) },
	},
}

func signal(i *install, pid int, s syscall.Signal) {
	i.Helper()
	require.NoError(i, syscall.Kill(pid, s))
}

// linkWorker has the installation find the worker's program by link.
func (i *install) linkWorker(link string) {
	i.Helper()
	require.NoError(i, os.Symlink(filepath.Join(i.bin, "sandbox-worker"), link))
}

func TestAnAttachedClientIsToldWhatIsMissingAndWhenItIsBack(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time it waits
			link := filepath.Join(t.TempDir(), "sandbox-worker")
			i := newInstall(t, rules(call("wait", "exec_command", `{"command":"echo once >> log; until [ -e go ]; do sleep 0.05; done; echo went"}`, "It went.")),
				"SANDBOX_WORKER_BIN="+link)
			i.linkWorker(link)
			e := i.editor(`{}`)
			var asked editors.AskResult
			e.call("sandboxAgent/new", `{"approvalMode":"never"}`, nil)
			e.call("sandboxAgent/ask", `{"text":"wait"}`, &asked)
			e.call("sandboxAgent/attach", fmt.Sprintf(`{"sessionId":%q,"afterSeq":0}`, asked.SessionID), nil)
			i.eventually("the command runs", func() bool { _, err := os.Stat(filepath.Join(i.work, "log")); return err == nil })

			began := time.Now()
			outage.take(i, link)
			lost := e.untilEvent("what is missing", connected(false))
			t.Log("lost, told after", time.Since(began).Round(time.Millisecond), lost.Event.Reason, "|", lost.Event.Remedy)
			require.Less(t, time.Since(began), soonTold)
			require.NotEmpty(t, lost.Event.Reason)
			if lost.Event.Remedy == "" { // there is hope that it is started again, for as long as a start may take
				e.untilEvent("what helps", func(m editors.EventMessage) bool { return connected(false)(m) && m.Event.Remedy != "" })
			}
			began = time.Now()
			outage.give(i, link)
			back := e.untilEvent("that it is back", connected(true))
			t.Log("back, told after", time.Since(began).Round(time.Millisecond), back.Event.State)
			require.NotNil(t, back.Event.State)
			i.write("go", "")
			e.untilEvent("the end", endOf(1))

			require.Equal(t, "once\n", i.read("log"))
			events := e.durable()
			require.Equal(t, []string{"It went."}, answers(events))
			for n := 1; n < len(events); n++ {
				require.Equal(t, events[n-1].Seq+1, events[n].Seq, "no gap and no repeat")
			}
		})
	}
}

func connected(is bool) func(editors.EventMessage) bool {
	return func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ConnectionChanged && e.Event.Connected == is
	}
}

func TestTheTerminalSaysWhatIsMissingAndWhenItIsBack(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("wait", "exec_command", `{"command":"until [ -e go ]; do sleep 0.05; done"}`, "It went.")))
	screen, err := os.Create(filepath.Join(i.home, "screen"))
	require.NoError(t, err)
	defer screen.Close()
	ask := i.command(t.Context(), "ask", "--workspace", i.work, "--approve", "never", "wait")
	ask.Stdout, ask.Stderr = screen, screen
	require.NoError(t, ask.Start())
	shows := func(text string) {
		t.Helper()
		i.eventually(text, func() bool {
			b, err := os.ReadFile(screen.Name())
			return err == nil && strings.Contains(string(b), text)
		})
	}
	shows("● exec_command")
	i.ok(nil, "worker", "stop")
	shows("! Waiting: the worker of this host is not running. Run: sandbox-agent worker start\n")
	i.ok(nil, "worker", "start")
	shows("· The session goes on.\n")
	i.write("go", "")
	require.NoError(t, ask.Wait())
	shows("It went.")
}
