// This file checks how one command is stopped alone, and what is told of those in the background and of quiet ones.

package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// once makes a model that asks for the calls in its first answer and is done in its second.
func once(requests ...CallRequest) func(ModelStepInput) (ModelStepResult, error) {
	asked := false
	return func(ModelStepInput) (ModelStepResult, error) {
		if asked {
			return says("done"), nil
		}
		asked = true
		return calls(requests...), nil
	}
}

func stopOf(item string) editors.StopParams {
	return editors.StopParams{RequestID: "stop " + item, SessionID: "s1", ItemID: item, By: "vscode"}
}

// inCloud is a session whose sandbox is not asked about its commands.
func inCloud() Input {
	in := testSession(editors.ApprovalNever)
	in.State.Session.Backend = editors.Backend{Kind: editors.E2B}
	return in
}

func TestOneCommandIsStoppedAndTheTurnGoesOn(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "sleep 600"))
	var first, again *reply
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		h.meanwhile(func() { first = h.update(UpdateStop, stopOf(in.ItemID)) })
		h.meanwhile(func() { again = h.update(UpdateStop, stopOf(in.ItemID)) })
		return RunToolResult{Status: editors.ItemInterrupted, StoppedBy: "vscode", Error: "stopped by vscode after 12.0 s", ModelRef: "sha256:stopped", CommandID: "s1-" + in.ItemID}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	events := h.finish(time.Minute, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	item := itemsOf(events, editors.ToolCall)[0]
	require.Equal(t, "vscode", item.StoppedBy)
	require.Equal(t, editors.ItemInterrupted, item.Status)
	require.NoError(t, first.err)
	result := first.value.(editors.StopResult)
	require.Equal(t, "vscode", result.StoppedBy)
	require.Contains(t, result.How, "after 12.0 s")
	require.NoError(t, errors.Join(again.err, again.rejected))
	for _, in := range h.stopped {
		require.Equal(t, "s1-"+item.ID, in.CommandID)
	}
	require.Equal(t, "sha256:stopped", h.steps[1].Pending[0].Ref, "the model is told what the call told")
	require.GreaterOrEqual(t, result.Seq, item.Seq)
}

func TestACallThatHasNotBegunIsStopped(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "make"), run("c2", "make install"))
	var stop *reply
	h.tool = func(context.Context, RunToolInput) (RunToolResult, error) {
		h.meanwhile(func() {
			items := h.view(nil).Items
			stop = h.update(UpdateStop, stopOf(items[len(items)-1].ID))
		})
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:made"}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	events := h.finish(time.Minute, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Len(t, h.tools, 1, "the second never ran")
	require.Empty(t, h.stopped, "there was nothing to kill")
	require.NoError(t, stop.err)
	require.Equal(t, "Stopped by the user (vscode) before it ran.", stop.value.(editors.StopResult).How)
	require.Equal(t, "Stopped by the user (vscode) before it ran.", h.steps[1].Pending[1].Text)
}

func TestWhatIsNoCommandIsNotStopped(t *testing.T) {
	h := newHarness(t)
	h.model = once(reads("c1"), run("c2", "make"))
	var reading, waiting, unknown, early *reply
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		h.meanwhile(func() { reading = h.update(UpdateStop, stopOf(in.ItemID)) })
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:read"}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	h.at(time.Second, func() {
		waiting = h.update(UpdateStop, stopOf(h.view(nil).Approvals[0].ItemID))
		unknown = h.update(UpdateStop, stopOf("i99"))
		early = h.update(UpdateInterrupt, editors.InterruptParams{SessionID: "s1", TurnID: 1})
	})
	h.finish(time.Minute, testSession(editors.ApprovalAsk))
	require.ErrorContains(t, reading.rejected, "read_file, which cannot be stopped alone")
	require.ErrorContains(t, waiting.rejected, "waits for an approval")
	require.ErrorContains(t, unknown.rejected, "no command that runs")
	require.NoError(t, early.err)
	require.Empty(t, h.stopped)
}

func TestAStopThatFailsSaysWhy(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "sleep 600"))
	h.stop = func(CommandInput) (CommandEnd, error) { return CommandEnd{}, errors.New("the engine is away") }
	var stop *reply
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		if in.Attempt == 1 {
			h.meanwhile(func() { stop = h.update(UpdateStop, stopOf(in.ItemID)) })
		}
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:done"}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	events := h.finish(time.Minute, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.ErrorContains(t, stop.err, "The command could not be stopped: the engine is away")
	require.Len(t, h.stopped, killTries)
}

func TestBackgroundCommandsAreListedAndStopped(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "npm run dev"))
	var id string
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		id = in.ItemID
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:running", CommandID: "s1-" + id, Running: true}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	var listed View
	var stop, late *reply
	h.at(time.Minute, func() { listed = h.view(nil); stop = h.update(UpdateStop, stopOf(id)) })
	h.at(2*time.Minute, func() {
		late = h.update(UpdateStop, editors.StopParams{SessionID: "s1", ItemID: id})
		h.ask("r2", "and now?")
	})
	events := h.finish(time.Hour, inCloud())
	require.Equal(t, "npm run dev", listed.Background[0].Command)
	require.Equal(t, id, listed.Background[0].ItemID)
	require.Equal(t, 1, listed.Background[0].TurnID)
	require.NoError(t, stop.err)
	require.ErrorContains(t, late.rejected, "no command that runs")
	changes := ofType(events, editors.BackgroundChanged)
	require.Len(t, changes, 2)
	require.Len(t, changes[0].Background, 1)
	require.Empty(t, changes[1].Background)
	items := itemsOf(events, editors.ToolCall)
	require.True(t, items[0].Background)
	require.Equal(t, "vscode", items[len(items)-1].StoppedBy)
	require.Contains(t, textOf(h.steps[2].Pending), "Stopped by the user (vscode) after 12.0 s", "the model learns it at its next call")
	require.Empty(t, h.awaited, "a cloud is not kept awake to find out when it ends")
}

func TestTheModelIsToldWhenABackgroundCommandEnds(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "npm run dev"))
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:running", CommandID: "s1-" + in.ItemID, Running: true}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	h.at(time.Minute, func() { h.ask("r2", "and now?") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Len(t, h.awaited, 1)
	require.Len(t, ofType(events, editors.BackgroundChanged), 2)
	var told string
	for _, step := range h.steps {
		told += textOf(step.Pending)
	}
	require.Contains(t, told, "(npm run dev) has ended: Exit code 3 after 5m0s.")
}

func TestTheNextRunOfASessionGoesOnToWatchItsCommands(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalNever)
	in.State.Background = []editors.BackgroundCommand{{ItemID: "i3", Command: "npm run dev"}}
	events := h.finish(time.Minute, in)
	require.Equal(t, "s1-i3", h.awaited[0].CommandID)
	require.Empty(t, ofType(events, editors.BackgroundChanged)[0].Background)
}

func TestACommandThatIsNotWatchedStaysOnTheList(t *testing.T) {
	h := newHarness(t)
	h.awaitEnd = func(CommandInput) (CommandEnd, error) { return CommandEnd{Unwatched: true}, nil }
	in := testSession(editors.ApprovalNever)
	in.State.Background = []editors.BackgroundCommand{{ItemID: "i3", Command: "npm run dev"}}
	var listed View
	h.at(time.Minute, func() { listed = h.view(nil) })
	h.finish(time.Hour, in)
	require.Len(t, listed.Background, 1)
}

func TestALookThatFindsTheEndTakesACommandOffTheList(t *testing.T) {
	h := newHarness(t)
	looks := 0
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if looks++; looks == 1 {
			return calls(run("c1", "npm run dev")), nil
		}
		if looks == 2 {
			return calls(CallRequest{CallID: "c2", Tool: "write_stdin", Arguments: `{"command_id":"s1-i3","kill":true}`}), nil
		}
		return says("done"), nil
	}
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:x", CommandID: "s1-i3", Running: in.Call.Tool == "exec_command"}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	events := h.finish(time.Hour, inCloud())
	require.Equal(t, "i3", itemsOf(events, editors.ToolCall)[0].ID)
	changes := ofType(events, editors.BackgroundChanged)
	require.Len(t, changes, 2)
	require.Empty(t, changes[1].Background)
}

func TestAQuietCommandIsShownSinceWhen(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "make"))
	var silent, asks, prints editors.State
	since := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	h.tool = func(_ context.Context, in RunToolInput) (RunToolResult, error) {
		show := func(q QuietSignal) (state editors.State) {
			q.ItemID = in.ItemID
			h.meanwhile(func() { h.env.SignalWorkflow(SignalQuiet, q) })
			h.meanwhile(func() { state = h.view(nil).Session.State })
			return state
		}
		silent = show(QuietSignal{Since: since})
		asks = show(QuietSignal{Since: since.Add(time.Second), Asks: true})
		prints = show(QuietSignal{})
		h.meanwhile(func() { h.env.SignalWorkflow(SignalQuiet, QuietSignal{ItemID: "i99", Since: since}) })
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:made"}, nil
	}
	h.at(0, func() { h.ask("r1", "go") })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, "The command prints nothing: make", silent.Reason)
	require.True(t, silent.Since.Equal(since))
	require.Equal(t, "The command waits for input: make", asks.Reason)
	require.True(t, asks.Since.Equal(since.Add(time.Second)))
	require.NotEmpty(t, asks.Remedy)
	require.Equal(t, "Running make", prints.Reason)
}

func textOf(pending []Pending) (text string) {
	for _, p := range pending {
		text += p.Text + "\n"
	}
	return text
}
