package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// fills is a model whose window is full at its second call.
func fills(h *harness) {
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		r := says("done")
		r.Window = 200_000
		switch {
		case len(h.steps) == 1:
			r = calls(reads("c1"))
			r.Window, r.Tokens = 200_000, 150_000
		case !in.Compacted && in.Tokens > 100_000:
			return ModelStepResult{Head: "sha256:full", Tokens: 182_000, Window: 200_000, Full: true}, nil
		}
		return r, nil
	}
}

func TestAFullConversationIsCompactedInMidTurn(t *testing.T) {
	h := newHarness(t)
	fills(h)
	h.at(time.Second, func() { h.ask("r1", "work") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Len(t, h.compacted, 1)
	require.Equal(t, "sha256:full", h.compacted[0].Head)
	require.Contains(t, h.compacted[0].Place, "/w")
	require.Len(t, h.steps, 3)
	require.Equal(t, "sha256:short", h.steps[2].Head)
	require.EqualValues(t, 21_000, h.steps[2].Tokens)
	require.Empty(t, h.steps[2].Pending, "what was pending is in the conversation")
	var reasons []string
	for _, e := range ofType(events, editors.StateChanged) {
		reasons = append(reasons, e.State.Reason)
	}
	require.Contains(t, reasons, "Compacting the conversation (182k of 200k tokens)…")
	require.Contains(t, itemsOf(events, editors.Notice)[0].Text, "from 182k to 21k tokens: it was summarised.")
	ends := ofType(events, editors.TurnEnded)
	require.EqualValues(t, 3, ends[0].Usage.ModelCalls, "the summary counts")
	require.EqualValues(t, 27, ends[0].Usage.InputTokens)
}

func TestAForkFromBeforeTheCutHasAllOfIt(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if in.TurnID == 2 && !in.Compacted {
			return ModelStepResult{Head: "sha256:full", Tokens: 182_000, Window: 200_000, Full: true}, nil
		}
		r := says("done")
		r.Head = map[bool]string{true: "sha256:long", false: "sha256:new"}[in.TurnID == 1]
		return r, nil
	}
	h.at(time.Second, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.ask("r2", "two") })
	var asked *reply
	h.at(time.Hour, func() { asked = h.update(UpdateForkPoint, ForkPointInput{TurnID: 1}) })
	h.finish(2*time.Hour, testSession(editors.ApprovalNever))
	point, ok := asked.value.(ForkPoint)
	require.True(t, ok, "%v %v", asked.rejected, asked.err)
	require.Equal(t, "sha256:long", point.Turn.Head)
}

func TestWhatTheModelRefusesAsTooLongIsCompacted(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if !in.Compacted {
			return ModelStepResult{Head: "sha256:full", Tokens: 9000, Window: 128_000, Failure: &ModelFailure{Kind: FailureTooLong, Message: "Too long."}}, nil
		}
		return says("done"), nil
	}
	h.at(time.Second, func() { h.ask("r1", "work") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.EqualValues(t, 9000, h.compacted[0].TooLong, "so that it becomes short enough")
	require.EqualValues(t, 9000, h.steps[1].TooLong)
}

func TestAConversationThatCannotBeCompactedGoesOnAsItIs(t *testing.T) {
	h := newHarness(t)
	fills(h)
	h.compact = func(CompactInput) (CompactResult, error) { return CompactResult{}, errors.New("disk full") }
	h.at(time.Second, func() { h.ask("r1", "work") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Equal(t, "sha256:full", h.steps[2].Head)
	require.Contains(t, itemsOf(events, editors.Notice)[0].Text, "disk full")
}

func TestCompactOnDemand(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if in.Compact {
			return ModelStepResult{Head: "sha256:now", Tokens: 50_000, Window: 200_000, Full: true}, nil
		}
		return says("done"), nil
	}
	h.at(time.Second, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() {
		h.update(UpdateCompact, editors.SessionParams{SessionID: "s1"})
		h.update(UpdateCompact, editors.SessionParams{SessionID: "s1"})
	})
	h.at(2*time.Minute, func() { require.Empty(t, h.compacted, "before the next call") })
	h.at(3*time.Minute, func() { h.ask("r2", "two") })
	h.at(4*time.Minute, func() { h.ask("r3", "three") })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Len(t, h.compacted, 1)
	require.Equal(t, "sha256:now", h.compacted[0].Head)
}

func withModelNamed(model string) Input {
	in := testSession(editors.ApprovalNever)
	in.State.Session.Model = model
	return in
}

func TestATitleIsMadeAfterTheFirstTurn(t *testing.T) {
	h := newHarness(t)
	h.title = func(TitleInput) (TitleResult, error) {
		return TitleResult{Title: "Build the parser", Usage: editors.Usage{InputTokens: 3, ModelCalls: 1}}, nil
	}
	h.at(time.Second, func() { h.ask("r1", "please build it") })
	h.at(time.Minute, func() { h.ask("r2", "and test it") })
	h.at(time.Hour, func() {
		v := h.view(nil)
		require.Equal(t, "Build the parser", v.Session.Title)
		require.Equal(t, editors.TitleGenerated, v.Session.TitleSource)
		require.EqualValues(t, 3, v.Session.Usage.ModelCalls)
	})
	h.finish(2*time.Hour, withModelNamed("m"))
	require.Len(t, h.titled, 1)
	require.Equal(t, "sha256:head", h.titled[0].Head)
}

func TestAUsersTitleStays(t *testing.T) {
	h := newHarness(t)
	h.title = func(TitleInput) (TitleResult, error) {
		h.meanwhile(func() { h.env.SignalWorkflow(SignalRename, RenameSignal{RequestID: "t", Title: "Mine"}) })
		return TitleResult{Title: "Other"}, nil
	}
	h.at(time.Second, func() { h.ask("r1", "please build it") })
	h.at(time.Hour, func() { require.Equal(t, "Mine", h.view(nil).Session.Title) })
	h.finish(2*time.Hour, withModelNamed("m"))
	require.Len(t, h.titled, 1)
}

func TestATitleThatCannotBeMadeIsNoFailure(t *testing.T) {
	h := newHarness(t)
	h.at(time.Second, func() { h.ask("r1", "please build it") })
	h.at(time.Hour, func() {
		v := h.view(nil)
		require.Equal(t, "please build it", v.Session.Title)
		require.Equal(t, editors.StatusIdle, v.Session.State.Status)
	})
	h.finish(2*time.Hour, withModelNamed("m"))
	require.Len(t, h.titled, 1)

	demo := newHarness(t)
	demo.at(time.Second, func() { demo.ask("r1", "what is here?") })
	demo.finish(time.Hour, withModelNamed(editors.DemoModel))
	require.Empty(t, demo.titled, "the demo model keeps the first words")
}
