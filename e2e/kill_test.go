package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// victims are what is killed with -9 while a turn runs.
var victims = map[string]func(*install, *stream){
	"the terminal": func(_ *install, s *stream) { _ = s.cmd.Process.Kill() },
	"the worker":   func(i *install, _ *stream) { kill(i, i.workerInfo().PID) },
	"the worker, while secrets change": func(i *install, _ *stream) { // commands that begin are shut off from more than before
		kill(i, i.workerInfo().PID)
		require.NoError(i, os.WriteFile(filepath.Join(i.home, ".netrc"), nil, 0o600))
	},
	"the worker and Temporal": func(i *install, _ *stream) {
		temporal := temporalPID(i)
		kill(i, i.workerInfo().PID)
		_ = syscall.Kill(temporal, syscall.SIGKILL)
	},
	"Temporal": func(i *install, _ *stream) { kill(i, temporalPID(i)) },
}

func kill(i *install, pid int) {
	i.Helper()
	require.NoError(i, syscall.Kill(pid, syscall.SIGKILL))
}

// alive tells whether a process runs; one that ended and was not yet waited for does not.
func alive(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func temporalPID(i *install) int {
	i.Helper()
	b, err := os.ReadFile(filepath.Join(i.paths.TemporalDir, "temporal.json"))
	require.NoError(i, err)
	var state struct{ PID int }
	require.NoError(i, json.Unmarshal(b, &state))
	return state.PID
}

func TestKillDuringACommandRunsItOnce(t *testing.T) {
	t.Parallel()
	for name, strike := range victims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstall(t, rules(call("log", "exec_command", `{"command":"date >> log; sleep 8; echo slept"}`, "Logged.")))
			s := i.start("ask", "--workspace", i.work, "--approve", "never", "log it")
			session := s.until("the turn", isType(editors.TurnStarted)).SessionID
			i.eventually("the command runs", func() bool { _, err := os.Stat(filepath.Join(i.work, "log")); return err == nil })
			strike(i, s)
			follow := i.start("attach", session)
			follow.until("the end", endOf(1))
			require.Len(t, strings.Split(strings.TrimSpace(i.read("log")), "\n"), 1, "the command ran once")
			requireWhole(t, follow, "Logged.")
			logged := toolItems(follow.durable())[0]
			require.NotNil(t, logged.Output, "%+v", logged)
			require.Contains(t, logged.Output.Head, "slept", "it was found again, not reported lost")
		})
	}
}

func TestKillDuringModelStreaming(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 400)
	script := modeltest.Script{Rules: []modeltest.Rule{
		{Match: modeltest.Match{LastUser: "talk"}, Respond: modeltest.Answer{Text: text}, Chunking: modeltest.Chunking{Bytes: 10, DelayMS: 20}},
	}}
	for name, strike := range victims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstall(t, script)
			s := i.start("ask", "--workspace", i.work, "talk to me")
			session := s.until("text", isType(editors.ItemDelta)).SessionID
			strike(i, s)
			follow := i.start("attach", session)
			follow.until("the end", endOf(1))
			requireWhole(t, follow, text)
		})
	}
}

// endOf waits for the end of a turn, also when a snapshot tells it.
func endOf(turn int) func(editors.EventMessage) bool {
	return func(e editors.EventMessage) bool { return e.Event.Type == editors.TurnEnded && e.Event.TurnID == turn }
}

// requireWhole checks that a client that has seen the whole session sees one request and one whole answer.
func requireWhole(t *testing.T, s *stream, answer string) {
	t.Helper()
	events := s.durable()
	require.Equal(t, []string{answer}, answers(events), "the text is whole and not doubled")
	users := 0
	for _, e := range events {
		if e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.UserMessage {
			users++
		}
	}
	require.Equal(t, 1, users, "the message is there once")
	for _, e := range events {
		if e.Event.Type == editors.TurnEnded {
			require.Equal(t, editors.TurnCompleted, e.Event.Status, e.Event.Message)
		}
	}
}

func (i *install) eventually(what string, cond func() bool) {
	i.Helper()
	require.Eventually(i, cond, patience, 20*time.Millisecond, what)
}

func TestAStoppedWorkerDrainsAndTheNextOneGoesOn(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("log", "exec_command", `{"command":"date >> log; sleep 3; echo slept"}`, "Logged.")))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "log it")
	session := s.until("the turn", isType(editors.TurnStarted)).SessionID
	i.eventually("the command runs", func() bool { _, err := os.Stat(filepath.Join(i.work, "log")); return err == nil })
	_ = s.cmd.Process.Kill()
	old := i.workerInfo().PID
	i.ok(nil, "worker", "stop")
	require.False(t, alive(old), "the worker is gone")
	i.ok(nil, "worker", "start")
	follow := i.start("attach", session)
	follow.until("the end", endOf(1))
	require.Len(t, strings.Split(strings.TrimSpace(i.read("log")), "\n"), 1)
	requireWhole(t, follow, "Logged.")
}

func TestInterruptKillsTheWholeTree(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("wait", "exec_command", `{"command":"setsid sleep 4711 & (sleep 4711 &) ; echo begun; sleep 4711"}`, "?")))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "wait")
	started := s.until("output", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemDelta && strings.Contains(e.Event.Data, "begun")
	})
	var out editors.InterruptResult
	i.ok(&out, "interrupt", started.SessionID)
	require.Equal(t, editors.TurnInterrupted, out.Status)
	end := s.until("the end", isType(editors.TurnEnded))
	require.Equal(t, editors.TurnInterrupted, end.Event.Status)
	item := toolItems(s.durable())[0]
	require.Equal(t, editors.ItemInterrupted, item.Status)
	require.Contains(t, item.Output.Head, "begun", "partial output is kept")
	i.eventually("no process is left", func() bool {
		out, _ := exec.CommandContext(context.Background(), "pgrep", "-f", "sleep 4711").Output()
		return len(strings.TrimSpace(string(out))) == 0
	})
}

func TestSeveralStartersStartOneWorker(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	var all []*stream
	for range 6 {
		all = append(all, i.start("sessions"))
	}
	for _, s := range all {
		require.Zero(t, s.wait(), s.describe())
	}
	workers := 0
	for _, pid := range i.processes() {
		exe, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if filepath.Base(exe) == "sandbox-worker" {
			workers++
		}
	}
	require.Equal(t, 1, workers)
}
