package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
)

func TestAskRunsATurnWithToolsAndAnswers(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(reads("c1"), run("c2", "ls")), nil
		}
		return says("two files"), nil
	}
	var r *reply
	h.at(0, func() { r = h.ask("r1", "what is here?\nplease") })
	events := h.finish(time.Minute, testSession(editors.ApprovalNever))

	require.Equal(t, editors.AskResult{SessionID: "s1", TurnID: 1, ItemID: "i1", Seq: r.value.(editors.AskResult).Seq}, r.value)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Equal(t, "what is here?", ofType(events, editors.SessionUpdated)[1].Session.Title, "named after its first request")
	require.Len(t, h.steps, 2)
	require.Equal(t, []Pending{{Kind: "user", Text: "what is here?\nplease"}}, h.steps[0].Pending)
	require.Equal(t, []Pending{{Kind: "toolResult", CallID: "c1", Ref: "sha256:result"}, {Kind: "toolResult", CallID: "c2", Ref: "sha256:result"}}, h.steps[1].Pending)
	require.Equal(t, "sha256:head", h.steps[1].Head)
	messages := itemsOf(events, editors.AgentMessage)
	require.Equal(t, "two files", messages[len(messages)-1].Text)
	require.Positive(t, h.rung)
}

func TestARepeatedAskChangesNothing(t *testing.T) {
	h := newHarness(t)
	var first, second *reply
	h.at(0, func() { first = h.ask("same", "hello") })
	h.at(time.Second, func() { second = h.ask("same", "hello") })
	events := h.finish(time.Minute, testSession(editors.ApprovalAsk))
	require.Equal(t, first.value, second.value)
	require.Len(t, itemsOf(events, editors.UserMessage), 1)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
}

func TestAsksQueueBehindTheRunningTurn(t *testing.T) {
	h := newHarness(t)
	var second, third, removed *reply
	h.tool = h.slow(func() {
		second, third = h.ask("r2", "two"), h.ask("r3", "three")
		removed = h.update(UpdateQueue, editors.QueueParams{Op: "remove", ItemID: "i4"})
	})
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.True(t, second.value.(editors.AskResult).Queued)
	require.Equal(t, 2, second.value.(editors.AskResult).TurnID)
	require.Equal(t, 3, third.value.(editors.AskResult).TurnID)
	require.Len(t, removed.value.(editors.QueueResult).Queued, 1)
	require.Equal(t, []string{"1 completed", "3 completed"}, endsOf(events), "a removed request's turn never starts; ids stay what was answered")
}

func TestAnEditedRequestBringsWhatItMentions(t *testing.T) {
	file := func(uri, text string) editors.Context {
		return editors.Context{Kind: "file", URI: uri, Mentioned: true, Text: text}
	}
	typed := editors.Context{Kind: "file", URI: "file:///w/typed", Unsaved: true, Text: "typed"}
	selected := editors.Context{Kind: "selection", URI: "file:///w/s", Mentioned: true, Text: "selected"}
	lines := file("file:///w/old", "two")
	lines.Range = &editors.Range{Start: editors.Position{Line: 1}}
	h := newHarness(t)
	edit := func(added ...editors.Context) {
		in := QueueInput{QueueParams: editors.QueueParams{Op: "edit", ItemID: "i4", Text: "look at @new"}, Added: added}
		in.RequestID = added[0].Text
		require.NoError(t, h.update(UpdateQueue, in).err)
	}
	h.tool = h.slow(func() {
		h.update(UpdateAsk, AskInput{RequestID: "r2", Text: "two", Context: []editors.Context{typed, selected, file("file:///w/old", "old")}})
		edit(file("file:///w/first", "first edit"))
		edit(file("file:///w/old", "old"), file("file:///w/typed", "on disk"), file("file:///w/new", "new"), lines,
			editors.Context{Kind: "selection", Mentioned: true, Omitted: true})
	})
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	asked := h.steps[len(h.steps)-1].Pending
	last := asked[len(asked)-1]
	require.Equal(t, "look at @new", last.Text)
	require.Len(t, last.Context, 3)
	require.Equal(t, []editors.Context{file("file:///w/new", "new"), lines}, last.Added, "of the last edit, without what went along before")
}

// slow is a tool during whose first run something happens, and which takes a while unless it is cancelled. Virtual time
// stands still meanwhile.
func (h *harness) slow(during func()) func(context.Context, RunToolInput) (RunToolResult, error) {
	first := true
	return func(ctx context.Context, _ RunToolInput) (RunToolResult, error) {
		if first {
			first = false
			h.meanwhile(during)
		}
		if pause(ctx) != nil {
			return RunToolResult{Status: editors.ItemInterrupted, ModelRef: "sha256:partial"}, nil
		}
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:slow"}, nil
	}
}

func TestSteerJoinsTheRunningTurnAtItsNextModelCall(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return ModelStepResult{Failure: &ModelFailure{Kind: "rateLimited", Message: "Too many requests.", Retryable: true, RetryAfter: 20 * time.Second}}, nil
		}
		return says("ok"), nil
	}
	var wrong, steer *reply
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Second, func() {
		wrong = h.update(UpdateSteer, AskInput{RequestID: "x", Text: "left", ExpectedTurnID: 7})
		steer = h.update(UpdateSteer, AskInput{RequestID: "s", Text: "left", ExpectedTurnID: 1})
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.ErrorContains(t, wrong.rejected, "turn 1 is")
	require.NotEmpty(t, steer.value.(editors.SteerResult).ItemID)
	require.Len(t, h.steps, 3, "the steered message makes one more model call")
	require.Equal(t, []Pending{{Kind: "user", Text: "left"}}, h.steps[2].Pending)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
}

func TestModelFailuresAreRetriedWithAReason(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		require.Equal(t, len(h.steps), in.Attempt)
		if in.Attempt < 3 {
			return ModelStepResult{Failure: &ModelFailure{Kind: "overloaded", Message: "The server answered 500.", Remedy: "Wait.", Retryable: true}}, nil
		}
		return says("at last"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	var reasons []string
	for _, e := range ofType(events, editors.StateChanged) {
		reasons = append(reasons, e.State.Reason)
	}
	require.Contains(t, strings.Join(reasons, "|"), "retry 2 of 5 in 1s: The server answered 500.")
	require.Contains(t, strings.Join(reasons, "|"), "retry 3 of 5 in 2s")
	messages := itemsOf(events, editors.AgentMessage)
	require.Equal(t, "at last", messages[0].Text)
	require.Equal(t, 3, messages[0].Attempt)
}

func TestAFinalModelFailureEndsTheTurnAndKeepsTheRequest(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return ModelStepResult{Failure: &ModelFailure{Kind: "noKey", Message: "There is no key.", Remedy: "Set OPENAI_API_KEY."}, Message: Text{Inline: "half an ans"}}, nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() {
		require.Equal(t, editors.StatusFailed, h.view(nil).Session.State.Status)
		require.Equal(t, "Set OPENAI_API_KEY.", h.view(nil).Session.State.Remedy)
		h.ask("r2", "two")
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 failed", "2 completed"}, endsOf(events))
	require.Equal(t, "half an ans", itemsOf(events, editors.AgentMessage)[0].Text, "partial text is kept")
	require.Equal(t, []Pending{{Kind: "user", Text: "one"}, {Kind: "user", Text: "two"}}, h.steps[1].Pending, "the first request is not forgotten")
}

func TestWhatTheModelWasToldBeforeItFailedIsNotToldTwice(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return ModelStepResult{Head: "sha256:asked", Failure: &ModelFailure{Kind: "noKey", Message: "There is no key."}}, nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.ask("r2", "two") })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, "sha256:asked", h.steps[1].Head, "the first request is in the conversation")
	require.Equal(t, []Pending{{Kind: "user", Text: "two"}}, h.steps[1].Pending)
}

func TestALostWorkerIsAskedAgainUnderTheSameEffectID(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		switch len(h.steps) {
		case 1:
			return ModelStepResult{}, lost()
		case 2:
			return calls(run("c1", "make")), nil
		}
		return says("ok"), nil
	}
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		if in.Attempt == 1 {
			return RunToolResult{}, lost()
		}
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:r"}, nil
	}
	h.at(0, func() { h.ask("r1", "build") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Len(t, h.tools, 2)
	require.Equal(t, h.tools[0].EffectID, h.tools[1].EffectID)
	require.Equal(t, 2, h.tools[1].Attempt)
	require.Len(t, itemsOf(events, editors.ToolCall), 1)
}

func TestAHostThatIsAwayIsWaitedForAndSaid(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return ModelStepResult{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
		return says("here again"), nil
	}
	h.at(0, func() { h.ask("r1", "hello") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, 1, h.pings)
	var states []string
	for _, e := range ofType(events, editors.StateChanged) {
		states = append(states, string(e.State.Status)+" "+e.State.Reason)
	}
	require.Equal(t, []string{
		"running Starting the turn.", "running Waiting for the model demo.",
		"recovering No worker of this session's host is running; waiting for one.", "running Waiting for the model demo.", "idle ",
	}, states)
	require.Equal(t, 1, itemsOf(events, editors.AgentMessage)[0].Attempt, "it was never begun, so it is no new attempt")
}

func TestInterruptEndsACommandAndKeepsWhatItDid(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 600"), run("c2", "date")), nil
		}
		return says("ok"), nil
	}
	var interrupted, late *reply
	h.tool = h.slow(func() { interrupted = h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1}) })
	h.at(0, func() { h.ask("r1", "wait") })
	h.at(time.Minute, func() {
		late = h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1})
		h.ask("r2", "go on")
	})
	events := h.finish(2*time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 interrupted", "2 completed"}, endsOf(events))
	require.Equal(t, editors.TurnInterrupted, interrupted.value.(editors.InterruptResult).Status)
	require.ErrorContains(t, late.rejected, "Turn 1 is not running")
	require.Len(t, h.tools, 1, "the second call never ran")
	pending := h.steps[1].Pending
	require.Len(t, pending, 3, "every call has a result, so the conversation stays valid")
	require.Equal(t, "c1", pending[0].CallID)
	require.Contains(t, pending[1].Text, "interrupted the turn before this call ran")
	require.Equal(t, "go on", pending[2].Text)
}

func TestApprovals(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		switch len(h.steps) {
		case 1:
			return calls(run("c1", "make"), run("c2", "rm -rf /"), reads("c3")), nil
		case 2:
			return calls(run("c4", "make")), nil
		}
		return says("ok"), nil
	}
	var first, second, unknown *reply
	h.at(0, func() { h.ask("r1", "build") })
	h.at(48*time.Hour, func() {
		v := h.view(nil)
		require.Len(t, v.Approvals, 2, "pending approvals are in every snapshot")
		require.Equal(t, editors.StatusWaitingApproval, v.Session.State.Status)
		require.Contains(t, v.Session.State.Reason, "make")
		first = h.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllowAlways, By: "vscode"})
		second = h.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionDeny, By: "nvim"})
		unknown = h.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: "a9", Decision: editors.DecisionDeny, By: "nvim"})
		h.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: "a2", Decision: editors.DecisionDeny, Feedback: "are you mad?", By: "nvim"})
	})
	events := h.finish(72*time.Hour, testSession(editors.ApprovalAsk))
	require.False(t, first.value.(editors.AnswerApprovalResult).Already)
	require.Equal(t, "vscode", second.value.(editors.AnswerApprovalResult).DecidedBy, "the first answer wins")
	require.True(t, second.value.(editors.AnswerApprovalResult).Already)
	require.ErrorContains(t, unknown.rejected, "no approval a9")
	require.Len(t, ofType(events, editors.ApprovalRequested), 2, "the same command is not asked about again")
	require.Len(t, ofType(events, editors.ApprovalResolved), 2)
	require.Len(t, h.tools, 3)
	require.Contains(t, h.steps[1].Pending[1].Text, "are you mad?")
	require.Equal(t, []string{"1 completed"}, endsOf(events))
}

func TestApprovalsAreWithdrawnWhenTheTurnEnds(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) { return calls(run("c1", "make")), nil }
	h.at(0, func() { h.ask("r1", "build") })
	h.at(time.Second, func() { h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1}) })
	events := h.finish(time.Hour, testSession(editors.ApprovalAsk))
	resolved := ofType(events, editors.ApprovalResolved)
	require.Len(t, resolved, 1)
	require.Equal(t, editors.DecisionWithdrawn, resolved[0].Approval.Decision)
	require.Empty(t, h.tools)
	require.Equal(t, []string{"1 interrupted"}, endsOf(events))
}

func TestReadOnlySessionsRefuseToWrite(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "make"), reads("c2")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "build") })
	events := h.finish(time.Hour, testSession(editors.ApprovalReadOnly))
	require.Empty(t, ofType(events, editors.ApprovalRequested))
	require.Len(t, h.tools, 1)
	require.Equal(t, editors.ItemDenied, itemsOf(events, editors.ToolCall)[0].Status)
}

func TestTitlesOfUsersAreKept(t *testing.T) {
	h := newHarness(t)
	h.at(0, func() { h.env.SignalWorkflow(SignalRename, RenameSignal{RequestID: "n1", Title: "  My\nwork  "}) })
	h.at(time.Second, func() { h.ask("r1", "something else") })
	h.at(time.Minute, func() {
		require.Equal(t, "My work", h.view(nil).Session.Title)
		require.Equal(t, editors.TitleUser, h.view(nil).Session.TitleSource)
	})
	h.finish(time.Hour, testSession(editors.ApprovalAsk))
}

func TestPauseCountsWhenTheTurnHasEnded(t *testing.T) {
	h := newHarness(t)
	h.tool = h.slow(func() { h.update(UpdatePause, editors.SessionParams{}) })
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.at(10*time.Minute, func() { require.Equal(t, editors.StatusPaused, h.view(nil).Session.State.Status) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
}

func TestBadRequestsAreRefusedAndLeaveNoTrace(t *testing.T) {
	h := newHarness(t)
	var empty, mode, op, gone *reply
	h.at(0, func() {
		empty = h.ask("r1", "  \n ")
		mode = h.update(UpdateConfigure, editors.ConfigureParams{ApprovalMode: "sometimes"})
		op = h.update(UpdateQueue, editors.QueueParams{Op: "explode"})
		gone = h.update(UpdateQueue, editors.QueueParams{Op: "remove", ItemID: "i99"})
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalAsk))
	require.ErrorContains(t, empty.rejected, "empty")
	require.ErrorContains(t, mode.rejected, "ask, auto, never or readOnly")
	require.ErrorContains(t, op.rejected, "list, remove or edit")
	require.ErrorContains(t, gone.rejected, "does not wait")
	require.Len(t, events, 2, "only the session's beginning and its checkpoint")
}

func TestOldItemsAreSealedInOrder(t *testing.T) {
	h := newHarness(t)
	h.at(0, func() {
		for i := range 20 {
			h.ask(fmt.Sprint("r", i), strings.Repeat("x", 6000))
		}
	})
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NotEmpty(t, h.sealed)
	last := ""
	for i, s := range h.sealed {
		require.Equal(t, last, s.Segment.Prev)
		last = fmt.Sprintf("sha256:segment%d", i+1)
		require.LessOrEqual(t, size(s), 64<<10, "one activity's argument stays small")
	}
	require.Equal(t, "i1", h.sealed[0].Segment.Items[0].ID)
}

func TestEventsCanBeReadOnFromAnySeq(t *testing.T) {
	h := newHarness(t)
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() {
		all := h.view(nil)
		require.True(t, all.Snapshot)
		for after := int64(0); after <= all.Seq; after++ {
			v := h.view(&after)
			require.False(t, v.Snapshot)
			require.Len(t, v.Events, int(all.Seq-after))
		}
		future := all.Seq + 1
		require.True(t, h.view(&future).Snapshot, "a cursor from the future gets a snapshot")
	})
	h.finish(time.Hour, testSession(editors.ApprovalNever))
}
