package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

func TestAskShowsAToolCallAndAnAnswer(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("what is here", "exec_command", `{"command":"ls; until [ -e go ]; do sleep 0.05; done; exit 3"}`, "There is hello.txt.")))
	i.write("hello.txt", "hi\n")
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "what is here?")
	s.until("the output while it runs", isType(editors.ItemDelta))
	i.write("go", "")
	require.Zero(t, s.wait(), s.describe())

	events := s.durable()
	for n := 1; n < len(events); n++ {
		require.Equal(t, events[n-1].Seq+1, events[n].Seq, "in seq order, gapless")
	}
	require.Equal(t, []string{"There is hello.txt."}, answers(events))
	item := toolItems(events)[0]
	require.Equal(t, "exec_command", item.Tool)
	require.Equal(t, 3, *item.ExitCode)
	require.Contains(t, item.Output.Head, "hello.txt")
	requireDeltasBelong(t, s.all())

	var page editors.SessionsResult
	i.ok(&page, "sessions")
	require.Len(t, page.Sessions, 1)
	require.Equal(t, "what is here?", page.Sessions[0].Title)
}

// requireDeltasBelong checks item/started → item/delta* → item/completed.
func requireDeltasBelong(t *testing.T, events []editors.EventMessage) {
	open := map[string]int64{}
	for _, e := range events {
		switch e.Event.Type {
		case editors.ItemStarted:
			open[e.Event.Item.ID] = e.Seq
		case editors.ItemEnded:
			delete(open, e.Event.Item.ID)
		case editors.ItemDelta:
			require.Contains(t, open, e.Event.ItemID)
			require.Equal(t, open[e.Event.ItemID], e.Seq)
		}
	}
}

func toolItems(events []editors.EventMessage) []editors.Item {
	var out []editors.Item
	for _, e := range events {
		if e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.ToolCall {
			out = append(out, *e.Event.Item)
		}
	}
	return out
}

// call answers a message that contains part with a tool call, and its result with text.
func call(part, tool, arguments, text string) []modeltest.Rule {
	return []modeltest.Rule{
		{Match: modeltest.Match{LastUser: part, Step: n(0)}, Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{{Name: tool, Arguments: json.RawMessage(arguments)}}}},
		{Match: modeltest.Match{LastUser: part, Step: n(1)}, Respond: modeltest.Answer{Text: text}},
	}
}

func TestTwoClientsSeeTheSameEvents(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("wait", "exec_command", `{"command":"until [ -e go ]; do sleep 0.05; done; echo went"}`, "It went.")))
	first := i.start("ask", "--workspace", i.work, "--approve", "never", "wait")
	started := first.until("the command", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemStarted && e.Event.Item.Kind == editors.ToolCall
	})
	second := i.start("attach", started.SessionID)
	second.until("its snapshot", func(editors.EventMessage) bool { return true })
	i.write("go", "")
	require.Zero(t, first.wait(), first.describe())
	second.until("the end", isType(editors.TurnEnded))
	a, b := first.durable(), second.durable()
	from, to := max(a[0].Seq, b[0].Seq), min(a[len(a)-1].Seq, b[len(b)-1].Seq)
	require.Greater(t, to-from, int64(10))
	require.Equal(t, lines(a, from, to), lines(b, from, to))
}

// lines are the durable events from one seq to another as JSON, to compare.
func lines(events []editors.EventMessage, from, to int64) []string {
	var out []string
	for _, e := range events {
		if e.Seq >= from && e.Seq <= to {
			b, _ := json.Marshal(e)
			out = append(out, string(b))
		}
	}
	return out
}

func TestTheModelRemembersTheConversation(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("my name is Ada", "Hello Ada."), modeltest.Rule{
		Match: modeltest.Match{LastUser: "what is my name", Contains: "my name is Ada"}, Respond: modeltest.Answer{Text: "Ada."},
	}))
	first := i.start("ask", "--workspace", i.work, "my name is Ada")
	require.Zero(t, first.wait(), first.describe())
	second := i.start("ask", "--workspace", i.work, "what is my name?")
	require.Zero(t, second.wait(), second.describe())
	require.Equal(t, []string{"Ada."}, answers(second.durable()))
	require.Equal(t, first.all()[0].SessionID, second.all()[0].SessionID, "the latest session of the folder goes on")
}

func TestAnEditShowsAUnifiedDiffAndTouchesNothingElse(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n*** End Patch"
	args, err := json.Marshal(map[string]string{"patch": patch})
	require.NoError(t, err)
	i := newInstall(t, rules(call("change", "apply_patch", string(args), "Changed.")))
	i.write("a.txt", "one\r\ntwo\r\nthree")
	i.write("b.txt", "untouched")
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "change it")
	require.Zero(t, s.wait(), s.describe())
	item := toolItems(s.durable())[0]
	require.Equal(t, editors.ItemCompleted, item.Status, item.Error)
	require.Contains(t, item.Diff, "-two")
	require.Contains(t, item.Diff, "+2")
	require.Equal(t, []editors.FileChange{{Path: "a.txt", Kind: "changed"}}, item.Files)
	require.Equal(t, "one\r\n2\r\nthree", i.read("a.txt"), "line ends and the missing last one are kept")
	require.Equal(t, "untouched", i.read("b.txt"))
	left, err := os.ReadDir(i.work)
	require.NoError(t, err)
	require.Len(t, left, 2, "no temporary file stays")
}

func TestAnApprovalThatNobodyCanGiveEndsWithStatus3(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("build", "exec_command", `{"command":"echo built > out"}`, "Built.")))
	s := i.start("ask", "--workspace", i.work, "--approve", "ask", "build it")
	require.Equal(t, 3, s.wait(), s.describe())
	asked := s.until("the question", isType(editors.ApprovalRequested))
	require.Contains(t, asked.Event.Approval.Subject, "echo built")
	require.NoFileExists(t, filepath.Join(i.work, "out"))

	follow := i.start("attach", asked.SessionID)
	follow.until("its snapshot", isType(editors.ApprovalRequested))
	var answer editors.AnswerApprovalResult
	i.ok(&answer, "approve", asked.SessionID, asked.Event.Approval.ID)
	require.False(t, answer.Already)
	follow.until("the end", isType(editors.TurnEnded))
	require.Equal(t, "built\n", i.read("out"))
	i.ok(&answer, "approve", asked.SessionID, asked.Event.Approval.ID)
	require.True(t, answer.Already, "a second answer is told who was first")
}

func TestOutputThatWasCutCanBeReadByRange(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("print", "exec_command", `{"command":"seq 1 200000"}`, "Printed.")))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "print much")
	require.Zero(t, s.wait(), s.describe())
	item := toolItems(s.durable())[0]
	require.Less(t, len(item.Output.Head)+len(item.Output.Tail), 8<<10)
	require.Contains(t, item.Output.Tail, "200000")
	require.EqualValues(t, 1288895, item.Output.TotalBytes)
}

func TestLifeOfASession(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	var made editors.NewResult
	i.ok(&made, "new", "--workspace", i.work)
	id := made.Session.ID
	var renamed editors.SessionResult
	i.ok(&renamed, "title", id, "My work")
	require.Equal(t, "My work", renamed.Session.Title)
	s := i.start("ask", "--session", id, "hello")
	require.Zero(t, s.wait(), s.describe())
	i.ok(nil, "pause", id)
	var page editors.SessionsResult
	i.ok(&page, "sessions")
	require.Equal(t, "My work", page.Sessions[0].Title, "a user's title stays")
	require.Equal(t, editors.StatusPaused, page.Sessions[0].State.Status)
	i.write("mine.txt", "mine")
	i.ok(nil, "destroy", id)
	i.ok(nil, "destroy", id)
	i.ok(&page, "sessions")
	require.Empty(t, page.Sessions)
	require.Equal(t, "mine", i.read("mine.txt"), "the user's folder stays")
	entries, err := os.ReadDir(i.paths.SandboxDir)
	require.True(t, os.IsNotExist(err) || len(entries) == 0, "nothing of the sandbox is left: %v", entries)
	out, _, status := i.run("ask", "--session", id, "--json", "hello")
	require.Equal(t, 1, status)
	require.Contains(t, out, `"notFound"`)
	require.False(t, strings.Contains(out, "panic"))
}
