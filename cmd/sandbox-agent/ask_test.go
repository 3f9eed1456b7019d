// This file tests ask and attach: what they send, what they print and how they end.

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func answerTurn() []editors.Event {
	return []editors.Event{
		{Type: editors.ItemStarted, Item: &editors.Item{ID: "i1", TurnID: 1, Kind: editors.UserMessage, Text: "hi"}},
		{Type: editors.TurnStarted, TurnID: 1},
		{Type: editors.ItemStarted, Item: &editors.Item{ID: "i2", TurnID: 1, Kind: editors.AgentMessage}},
		{Type: editors.ItemDelta, ItemID: "i2", Stream: "text", Data: "Hel", N: 0},
		{Type: editors.ItemEnded, Item: &editors.Item{ID: "i2", TurnID: 1, Kind: editors.AgentMessage, Text: "Hello"}},
		completed(1),
	}
}

func TestAskPrintsTheAnswer(t *testing.T) {
	f := newFake()
	f.turn = answerTurn()
	out := runVerb(t, f, "ask", "--model", "demo", "--backend", "docker", "--image", "alpine", "--approve", "auto", "--new", "hi", "there")
	require.Equal(t, outcome{statusDone, "Hello\n", ""}, out)
	require.Equal(t, "hi there", f.asked[0].Text)
	require.Equal(t, "demo", f.asked[0].Model)
	require.Equal(t, &editors.Backend{Kind: editors.Docker, Image: "alpine"}, f.made[0].Backend)
	require.Equal(t, editors.ApprovalAuto, f.made[0].ApprovalMode)
	require.True(t, strings.HasPrefix(f.made[0].WorkspaceFolder, "file:///"))
}

func TestAskPrintsEventsAsJSON(t *testing.T) {
	f := newFake()
	f.turn = answerTurn()
	out := runVerb(t, f, "ask", "--json", "hi")
	require.Equal(t, statusDone, out.status)
	require.Empty(t, out.stderr)
	var last int64
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	require.Len(t, lines, len(f.turn))
	for i, line := range lines {
		var e editors.EventMessage
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, f.turn[i].Type, e.Event.Type)
		require.GreaterOrEqual(t, e.Seq, last)
		last = e.Seq
	}
}

func TestAskTellsThatTheSessionCannotBeFollowed(t *testing.T) {
	f := newFake()
	f.turn = slices.Insert(answerTurn(), 3,
		editors.Event{Type: editors.ConnectionChanged, Reason: "no worker is running", Remedy: "Run: sandbox-agent worker start"},
		editors.Event{Type: editors.ConnectionChanged, Connected: true, State: &editors.State{Status: editors.StatusRunning}},
	)
	out := runVerb(t, f, "ask", "hi")
	require.Equal(t, outcome{statusDone, "Hello\n", "! Waiting: no worker is running. Run: sandbox-agent worker start\n· The session goes on.\n"}, out)
	f.sink = nil
	out = runVerb(t, f, "ask", "--json", "hi")
	require.Equal(t, 1, strings.Count(out.stdout, `"connected":false`))
}

func TestAskFindsItsSession(t *testing.T) {
	f := newFake()
	f.turn = answerTurn()
	f.sessions = []editors.Session{
		{ID: "gone", State: editors.State{Status: editors.StatusDestroyed}},
		{ID: "elsewhere", HostID: "other"},
		{ID: "s1", HostID: "host", ApprovalMode: editors.ApprovalAsk, Backend: editors.Backend{Kind: editors.Local}},
	}
	require.Equal(t, statusDone, runVerb(t, f, "ask", "--request-id", "r", "--approve", "auto", "hi").status)
	require.Equal(t, "r", f.asked[0].RequestID)
	require.Equal(t, []editors.ConfigureParams{{RequestID: "r/configure", SessionID: "s1", ApprovalMode: editors.ApprovalAuto}}, f.changed)
	require.Empty(t, f.made)

	f.sink = nil
	f.turn = answerTurn()
	require.Equal(t, statusDone, runVerb(t, f, "ask", "--backend", "docker", "hi").status)
	require.Len(t, f.made, 1, "no session of that backend")
}

func TestAskReadsStdin(t *testing.T) {
	f := newFake()
	f.turn = answerTurn()
	out := start(t, f, terminal{input: true}, strings.NewReader("from a pipe\n"), "ask", "-").wait()
	require.Equal(t, statusDone, out.status)
	require.Equal(t, "from a pipe\n", f.asked[0].Text)
	require.Equal(t, statusUsage, runVerb(t, f, "ask", "-").status)
	long := strings.NewReader(strings.Repeat("x", editors.MaxTextBytes+1))
	require.Equal(t, statusFailed, start(t, f, terminal{}, long, "ask", "-").wait().status)
}

func TestAskThatFails(t *testing.T) {
	f := newFake()
	f.turn = []editors.Event{{
		Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnFailed, Message: "There is no key.",
		Error: &editors.ErrorData{Remedy: "Set OPENAI_API_KEY."},
	}}
	require.Equal(t, outcome{statusFailed, "", "Failed: There is no key.\nSet OPENAI_API_KEY.\n"}, runVerb(t, f, "ask", "hi"))
}

func TestQueuedAskWaitsForItsOwnTurn(t *testing.T) {
	f := newFake()
	f.result = editors.AskResult{SessionID: "s1", TurnID: 2, ItemID: "i9", Queued: true}
	f.turn = append(answerTurn(), editors.Event{Type: editors.TurnStarted, TurnID: 2},
		editors.Event{Type: editors.ItemEnded, Item: &editors.Item{ID: "i10", TurnID: 2, Kind: editors.AgentMessage, Text: "Second"}}, completed(2))
	require.Equal(t, outcome{statusDone, "Second\n", "· The question waits for the running turn to end.\n"}, runVerb(t, f, "ask", "hi"))
}

func TestAskSaysWhatTheTurnBeforeWaitsFor(t *testing.T) {
	f := newFake()
	f.snapshot.State.Status = editors.StatusWaitingApproval
	f.snapshot.PendingApprovals = []editors.Approval{*approvalEvent().Approval}
	f.result.Queued = true
	out := runVerb(t, f, "ask", "--session", "s1", "hi")
	require.Equal(t, statusWaiting, out.status)
	require.Contains(t, out.stderr, "The question waits for the running turn to end, which waits for an approval.")
	require.Contains(t, out.stderr, "sandbox-agent approve s1 a1")
}

func approvalEvent() editors.Event {
	return editors.Event{Type: editors.ApprovalRequested, Approval: &editors.Approval{
		ID: "a1", TurnID: 1, Tool: "exec_command", Subject: "rm -rf build", Options: []string{"allow", "allowAlways", "deny"}, Pattern: "rm",
	}}
}

// untilApproval is a turn that waits for an approval.
func untilApproval() []editors.Event {
	turn := answerTurn()[:3]
	return append(turn, approvalEvent())
}

func TestAskEndsWhenNobodyCanApprove(t *testing.T) {
	f := newFake()
	f.turn = untilApproval()
	out := runVerb(t, f, "ask", "hi")
	require.Equal(t, statusWaiting, out.status)
	require.Contains(t, out.stderr, "sandbox-agent approve s1 a1")
	f.sink = nil
	require.Equal(t, statusWaiting, start(t, f, terminal{input: true}, strings.NewReader("y\n"), "ask", "--json", "hi").wait().status)
	f.sink = nil
	require.Equal(t, statusWaiting, start(t, f, terminal{input: true}, strings.NewReader(""), "ask", "hi").wait().status, "end of input")
}

func TestAskHasAPersonApprove(t *testing.T) {
	for typed, want := range map[string]editors.AnswerApprovalParams{
		"y\n":              {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllow},
		"?\ny\n":           {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllow},
		"\n No\n":          {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionDeny},
		"a\n":              {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Pattern: "rm"},
		"e\n\ny\n":         {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllow},
		"e\nrm -r *\n":     {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Pattern: "rm -r *"},
		"use make clean\n": {SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionDeny, Feedback: "use make clean"},
	} {
		f := newFake()
		f.turn = untilApproval()
		stdin, keyboard := io.Pipe()
		r := start(t, f, terminal{input: true}, stdin, "ask", "hi")
		_, err := io.WriteString(keyboard, typed)
		require.NoError(t, err)
		require.Equal(t, want, <-f.answered)
		f.emit(editors.Event{Type: editors.ApprovalResolved, Approval: &editors.Approval{ID: "a1"}})
		f.emit(completed(1))
		out := r.wait()
		require.Equal(t, statusDone, out.status)
		require.Contains(t, out.stderr, "? May the agent run exec_command?\n    rm -rf build\n")
	}
}

func TestAPatternThatIsRefusedIsAskedForAgain(t *testing.T) {
	f := newFake()
	f.turn = untilApproval()
	stdin, keyboard := io.Pipe()
	r := start(t, f, terminal{input: true}, stdin, "ask", "hi")
	_, err := io.WriteString(keyboard, "e\n*\nrm *\n")
	require.NoError(t, err)
	require.Equal(t, "rm *", (<-f.answered).Pattern)
	done := completed(1)
	done.Usage = &editors.Usage{Cost: 0.0123, ModelCalls: 3, UnpricedCalls: 1}
	f.emit(done)
	out := r.wait()
	require.Contains(t, out.stderr, "that is everything")
	require.Contains(t, out.stderr, "from now on, e.g. rm (nothing: back)")
	require.Contains(t, out.stderr, "· The turn has cost at least $0.0123; the price of 1 of its 3 model calls is not known.\n")
	require.Equal(t, "The turn has cost $0.5000.", costOf(&editors.Usage{Cost: 0.5, ModelCalls: 1}))
	require.Empty(t, costOf(&editors.Usage{ModelCalls: 1, UnpricedCalls: 1}))
}

func TestADryRunShowsWhatTheAgentWouldSee(t *testing.T) {
	f := newFake()
	var asked []editors.ContextParams
	editors.Handle(&f.mux, editors.ShowContext, func(_ context.Context, p editors.ContextParams) (editors.ContextResult, error) {
		asked = append(asked, p)
		return editors.ContextResult{SessionID: "s1", Model: "demo", Tokens: 1234, Window: 128000, Parts: []editors.ContextPart{
			{Kind: "systemPrompt", Name: "how it works", Detail: "version 1", Tokens: 1200}, {Kind: "file", Name: "a\nb", Tokens: 34, Problem: "too large"},
		}}, nil
	})
	out := runVerb(t, f, "ask", "--dry-run", "--attach", "/x/a b.png", "hi", "@a")
	require.Equal(t, outcome{statusDone, "TOKENS  WHAT           NAME\n1200    system prompt  how it works (version 1)\n34      file           a\\nb ! too large\n" +
		"About 1234 of 128000 tokens of the model demo, in session s1.\n", ""}, out)
	require.Equal(t, "hi @a", asked[0].Text)
	require.Equal(t, []editors.Context{{Kind: "image", URI: "file:///x/a%20b.png"}}, asked[0].Context)
	require.NotEmpty(t, asked[0].WorkspaceFolder)
	require.Equal(t, statusDone, runVerb(t, f, "context", "--new", "--model", "m").status)
	asked[1].WorkspaceFolder = ""
	require.Equal(t, editors.ContextParams{New: true, Model: "m"}, asked[1])
	require.Empty(t, f.asked)
}

func TestSomebodyElseApproves(t *testing.T) {
	f := newFake()
	f.turn = append(untilApproval(),
		editors.Event{Type: editors.ApprovalResolved, Approval: &editors.Approval{ID: "a1", Decision: editors.DecisionAllow, DecidedBy: "vscode"}}, completed(1))
	stdin, _ := io.Pipe()
	out := start(t, f, terminal{input: true}, stdin, "ask", "hi").wait()
	require.Equal(t, statusDone, out.status)
	require.Contains(t, out.stderr, "Answered by vscode: allow")
}

func TestCtrlC(t *testing.T) {
	f := newFake()
	f.turn = answerTurn()[:3]
	r := start(t, f, terminal{}, strings.NewReader(""), "ask", "hi")
	<-f.attached
	r.app.signals <- os.Interrupt
	require.Equal(t, editors.InterruptParams{SessionID: "s1", TurnID: 1}, <-f.stopped)
	f.emit(editors.Event{Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnInterrupted})
	require.Equal(t, statusFailed, r.wait().status)
}

func TestCtrlCTwiceDetaches(t *testing.T) {
	f := newFake()
	f.turn = answerTurn()[:3]
	r := start(t, f, terminal{}, strings.NewReader(""), "ask", "hi")
	r.app.signals <- os.Interrupt
	<-f.stopped
	r.app.signals <- os.Interrupt
	out := r.wait()
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "sandbox-agent attach s1")
}

func TestCtrlCTakesAQueuedQuestionBack(t *testing.T) {
	f := newFake()
	f.result = editors.AskResult{SessionID: "s1", TurnID: 2, ItemID: "i9", Queued: true}
	removed := make(chan editors.QueueParams, 1)
	editors.Handle(&f.mux, editors.Queue, func(_ context.Context, p editors.QueueParams) (editors.QueueResult, error) {
		removed <- p
		return editors.QueueResult{}, nil
	})
	r := start(t, f, terminal{}, strings.NewReader(""), "ask", "hi")
	r.app.signals <- os.Interrupt
	require.Equal(t, editors.QueueParams{SessionID: "s1", Op: "remove", ItemID: "i9"}, <-removed)
	require.Equal(t, statusFailed, r.wait().status)
}

func TestAttachUntilIdle(t *testing.T) {
	f := newFake()
	f.snapshot.Items = []editors.Item{{ID: "i1", TurnID: 1, Kind: editors.UserMessage, Text: "hi"}, {ID: "i2", TurnID: 1, Kind: editors.AgentMessage, Text: "Hello"}}
	require.Equal(t, outcome{statusDone, "> hi\nHello\n", ""}, runVerb(t, f, "attach", "--until-idle", "s1"))
}

func TestAttachAsJSONReplaysWhatIsKept(t *testing.T) {
	f := newFake()
	for i, e := range append(answerTurn(), approvalEvent()) {
		f.snapshot.Events = append(f.snapshot.Events, editors.EventMessage{SessionID: "s1", Seq: int64(i + 1), Event: e})
	}
	out := runVerb(t, f, "attach", "--json", "--until-idle", "s1")
	require.Equal(t, statusDone, out.status, "the approval is from before and answered")
	require.Equal(t, 7, strings.Count(out.stdout, "\n"))
}

func TestAttachToADestroyedSessionSaysSoAndEnds(t *testing.T) {
	f := newFake()
	f.snapshot.State.Status = editors.StatusDestroyed
	f.snapshot.Items = []editors.Item{{ID: "i1", TurnID: 1, Kind: editors.UserMessage, Text: "hi"}}
	require.Equal(t, outcome{statusDone, "> hi\n", "· The session is destroyed.\n"}, runVerb(t, f, "attach", "s1"))
	f.snapshot.Items = nil
	destroyed := editors.Event{Type: editors.StateChanged, State: &editors.State{Status: editors.StatusDestroyed}}
	f.snapshot.Events = []editors.EventMessage{{SessionID: "s1", Seq: 1, Event: destroyed}}
	require.Equal(t, outcome{statusDone, "", "· The session is destroyed.\n"}, runVerb(t, f, "attach", "--after", "0", "s1"))
}

func TestAttachSaysThatItFollows(t *testing.T) {
	f := newFake()
	r := start(t, f, terminal{output: true}, strings.NewReader(""), "attach", "s1")
	<-f.attached
	r.app.signals <- syscall.SIGINT
	require.Contains(t, r.wait().stderr, "Following; Ctrl-C to leave.")
}

func TestAttachFollowsUntilTold(t *testing.T) {
	f := newFake()
	f.sessions = []editors.Session{{ID: "s1"}}
	r := start(t, f, terminal{}, strings.NewReader(""), "attach", "--json")
	<-f.attached
	f.emit(approvalEvent())
	f.emit(completed(1))
	r.app.signals <- syscall.SIGTERM
	out := r.wait()
	require.Equal(t, statusDone, out.status)
}

func TestAttachWithoutASession(t *testing.T) {
	out := runVerb(t, newFake(), "attach")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "There is no session of")
}
