// These tests run the commands that hang other agents: none may hold a turn up, and whatever they print, the next model call
// must be one that a strict model takes. They stop single commands, and interrupt a turn wherever it may be.

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// hanger is a command that may hang, and what must be told of it to the model.
type hanger struct {
	name       string
	arguments  map[string]any
	want       []string // one of them
	background bool     // it goes on
}

func hangers() []hanger {
	const repository = "git init -q r && cd r && git config user.name a && git config user.email a@b && " +
		"for n in 1 2; do git commit -q --allow-empty -m $n; done && "
	return []hanger{
		{"git rebase -i", map[string]any{"command": repository + "git rebase -i --root"}, []string{"Exit code 0"}, false},
		{
			"git rebase -i on a terminal",
			map[string]any{"command": "cd r && env -u GIT_SEQUENCE_EDITOR git -c sequence.editor='head -n1 /dev/tty; true' rebase -i --root", "tty": true},
			[]string{"it waits for input"},
			true,
		},
		{"sudo ls", map[string]any{"command": "sudo ls"}, []string{"Exit code", "could not be run"}, false},
		{"sudo ls on a terminal", map[string]any{"command": "sudo -k ls", "tty": true}, []string{"Exit code", "it waits for input"}, false},
		{"npm init", map[string]any{"command": "mkdir -p n && cd n && npm init", "timeout_ms": 60_000}, []string{"Exit code", "Timed out"}, false},
		{"vi", map[string]any{"command": "vi -u NONE file"}, []string{"waits for input from a terminal that it does not have", "Exit code 127"}, false},
		{
			"git commit with vi",
			map[string]any{"command": "cd r && env -u GIT_EDITOR git -c core.editor='vi -u NONE' commit --allow-empty"},
			[]string{"waits for input from a terminal that it does not have", "Exit code 1"},
			false,
		},
		{"less", map[string]any{"command": "less /etc/passwd"}, []string{"Exit code"}, false},
		{"top", map[string]any{"command": "top"}, []string{"Exit code"}, false},
		{"ssh", map[string]any{"command": "ssh -o ConnectTimeout=3 nobody@127.0.0.1"}, []string{"Exit code"}, false},
		{"cat", map[string]any{"command": "cat"}, []string{"Exit code 0"}, false},
		{"cat on a terminal", map[string]any{"command": "cat", "tty": true}, []string{"it waits for input"}, true},
		{"yes", map[string]any{"command": "yes", "timeout_ms": 2000}, []string{"Timed out after 2"}, false},
		{"much that is no text", map[string]any{"command": "cat /dev/urandom | head -c 50M"}, []string{"Exit code 0"}, false},
		{"half a character", map[string]any{"command": `printf '\xf0'`}, []string{"Exit code 0"}, false},
		{"a server", map[string]any{"command": "python3 -m http.server --bind 127.0.0.1 0", "yield_ms": 3000}, []string{"Still running after 3"}, true},
		{"a server on a terminal", map[string]any{"command": "python3 -m http.server --bind 127.0.0.1 0", "yield_ms": 3000, "tty": true}, []string{"Still running after 3"}, true},
		{"sleep infinity &", map[string]any{"command": "sleep infinity &"}, []string{"It left a process running."}, false},
	}
}

// oneByOne are the rules by which the model runs all of them in one turn.
func oneByOne(t *testing.T) modeltest.Script {
	var calls []modeltest.ToolCall
	for _, h := range hangers() {
		arguments, err := json.Marshal(h.arguments)
		require.NoError(t, err)
		calls = append(calls, modeltest.ToolCall{Name: "exec_command", Arguments: arguments})
	}
	return rules(steps("run them", calls...))
}

func TestNoCommandHoldsATurnUp(t *testing.T) {
	t.Parallel() // most of the time it waits
	i := newInstall(t, oneByOne(t))
	for _, name := range []string{"npm", "sudo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("%s is not installed here: that it is missing is what is told", name)
		}
	}
	i.requireNoneHangs("local")
}

func TestNoCommandHoldsATurnUpInAContainer(t *testing.T) {
	t.Parallel()
	inContainers(t, oneByOne(t)).requireNoneHangs("docker")
}

func (i *install) requireNoneHangs(backend string) {
	i.Helper()
	began := time.Now()
	s := i.start("ask", "--workspace", i.work, "--backend", backend, "--approve", "never", "run them")
	session := s.until("the turn", isType(editors.TurnStarted)).SessionID
	require.Zero(i, s.wait(), s.describe())
	i.Logf("%d commands took %s", len(hangers()), time.Since(began).Round(time.Second))

	require.Contains(i, reasons(s.durable()), "The command waits for input: cat")
	items, told := toolItems(s.durable()), i.results()
	require.Len(i, items, len(hangers()))
	var running []string
	for n, h := range hangers() {
		item := items[n]
		i.Logf("%s: %s, background %v", h.name, item.Status, item.Background)
		require.NotEqual(i, editors.ItemUnknown, item.Status, h.name)
		require.True(i, containsOne(told[n], h.want), "%s: %.600s", h.name, told[n])
		if item.Background {
			running = append(running, item.ID)
		}
		require.True(i, item.Background || !h.background, "%s goes on", h.name)
	}
	var now editors.AttachResult
	require.Equal(i, running, i.background(session, &now), "what goes on is listed")

	for _, id := range running {
		var stopped editors.StopResult
		i.ok(&stopped, "stop", session, id)
		require.Contains(i, stopped.How, "Stopped by the user", id)
	}
	require.Empty(i, i.background(session, &now))
	i.ok(nil, "destroy", session)
}

// results are what the model was told of the calls of its last turn, in order.
func (i *install) results() []string {
	i.Helper()
	all := i.requested()
	require.NotEmpty(i, all)
	var request struct {
		Input []struct {
			Type   string `json:"type"`
			Output string `json:"output"`
		} `json:"input"`
	}
	require.NoError(i, json.Unmarshal([]byte(all[len(all)-1]), &request))
	var told []string
	for _, item := range request.Input {
		if item.Type == "function_call_output" {
			told = append(told, item.Output)
		}
	}
	return told
}

// background lists the items whose commands go on.
func (i *install) background(session string, now *editors.AttachResult) (items []string) {
	i.Helper()
	e := i.editor("{}")
	e.call("sandboxAgent/attach", `{"sessionId":"`+session+`"}`, now)
	for _, b := range now.Background {
		items = append(items, b.ItemID)
	}
	return items
}

func containsOne(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func TestOneCommandIsStoppedAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(steps("wait",
		modeltest.ToolCall{Name: "exec_command", Arguments: json.RawMessage(`{"command":"setsid sleep 4715 & echo begun; sleep 4715"}`)},
		modeltest.ToolCall{Name: "exec_command", Arguments: json.RawMessage(`{"command":"echo goes on"}`)},
	)))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "wait")
	begun := s.until("output", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemDelta && strings.Contains(e.Event.Data, "begun")
	})
	var stopped editors.StopResult
	i.ok(&stopped, "stop", begun.SessionID)
	require.Equal(t, begun.Event.ItemID, stopped.ItemID)
	require.Equal(t, "terminal", stopped.StoppedBy)
	require.False(t, stopped.Already)
	require.Zero(t, s.wait(), s.describe())

	items, told := toolItems(s.durable()), i.results()
	require.Equal(t, editors.ItemInterrupted, items[0].Status)
	require.Equal(t, "terminal", items[0].StoppedBy)
	require.Contains(t, items[0].Error, "stopped by terminal after")
	require.Contains(t, items[0].Output.Head, "begun", "partial output is kept")
	require.Regexp(t, `^Stopped by the user \(terminal\) after [\d.]+ s with all it started\.\nOutput:\nbegun\n$`, told[0])
	require.Contains(t, items[1].Output.Head, "goes on")
	i.eventually("no process is left", func() bool {
		out, _ := exec.CommandContext(t.Context(), "pgrep", "-f", "sleep 4715").Output()
		return strings.TrimSpace(string(out)) == ""
	})
	code, message, _ := i.refused("stop", begun.SessionID, begun.Event.ItemID)
	require.Equal(t, string(editors.CodeConflict), code)
	require.Contains(t, message, "no command that runs")
}

func TestABackgroundCommandOutlivesItsTurnAndItsEndIsTold(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		call("serve", "exec_command", `{"command":"until [ -e go ]; do sleep 0.05; done; exit 3","background":true}`, "It runs."),
		say("and now", "It has ended."),
	))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "serve")
	session := s.until("the turn", isType(editors.TurnStarted)).SessionID
	require.Zero(t, s.wait(), s.describe())
	follow := i.start("attach", session)
	var now editors.AttachResult
	require.Len(t, i.background(session, &now), 1)
	require.Contains(t, now.Background[0].Command, "until [ -e go ]")

	kill(i, i.workerInfo().PID)
	i.ok(nil, "worker", "start")
	i.write("go", "")
	follow.until("that it has ended", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.BackgroundChanged && len(e.Event.Background) == 0
	})
	require.Zero(t, i.start("ask", "--session", session, "and now").wait())
	all := i.requested()
	require.Contains(t, all[len(all)-1], "has ended: Exit code 3 after", "the model is told")
}

func TestAnInterruptEndsWhateverATurnDoes(t *testing.T) {
	const soon, atMost = 2 * time.Second, 5 * time.Second // on an idle machine, on a busy one
	i := newInstall(t, rules(
		modeltest.Rule{
			Match: modeltest.Match{LastUser: "talk"}, Respond: modeltest.Answer{Text: strings.Repeat("word ", 5000)},
			Chunking: modeltest.Chunking{Bytes: 5, DelayMS: 50},
		},
		call("work", "exec_command", `{"command":"echo begun; sleep 4716"}`, "?"),
		call("ask me", "exec_command", `{"command":"touch asked"}`, "?"),
	))
	for _, c := range []struct {
		asks string
		mode string
		busy func(editors.EventMessage) bool
		kept func(t *testing.T, events []editors.EventMessage)
	}{
		{"talk", "never", delta("text"), func(t *testing.T, events []editors.EventMessage) {
			require.True(t, strings.HasPrefix(answers(events)[0], "word"), "what was said is kept")
		}},
		{"work", "never", delta("stdout"), func(t *testing.T, events []editors.EventMessage) {
			require.Contains(t, toolItems(events)[0].Output.Head, "begun")
		}},
		{"ask me", "ask", isType(editors.ApprovalRequested), func(t *testing.T, events []editors.EventMessage) {
			require.NoFileExists(t, i.work+"/asked")
			require.Equal(t, editors.ItemInterrupted, toolItems(events)[0].Status)
		}},
	} {
		t.Run(c.asks, func(t *testing.T) {
			s := i.start("ask", "--new", "--workspace", i.work, "--approve", c.mode, c.asks)
			session := s.until("what it does", c.busy).SessionID
			e := i.editor("{}")
			e.call("sandboxAgent/attach", `{"sessionId":"`+session+`"}`, nil)
			var out editors.InterruptResult
			began := time.Now()
			e.call("sandboxAgent/interrupt", `{"sessionId":"`+session+`","turnId":1}`, &out)
			took := time.Since(began)
			t.Logf("ended after %s", took.Round(time.Millisecond))
			if took > soon {
				t.Logf("that is more than %s", soon)
			}
			require.Less(t, took, atMost)
			end := e.untilEvent("the end", isType(editors.TurnEnded))
			require.Equal(t, editors.TurnInterrupted, end.Event.Status)
			c.kept(t, e.durable())
		})
	}
}
