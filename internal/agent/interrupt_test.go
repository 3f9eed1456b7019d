// This file checks that an interrupt ends a turn while its workspace is pictured, and what is kept then.

package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
)

// interruptWhilePicturing interrupts the turn once, during the checkpoint whose summary begins so, which then lasts until it
// is cancelled.
func (h *harness) interruptWhilePicturing(summary string) {
	interrupted := false
	h.carried.picture = func(ctx context.Context, in CheckpointInput) (CheckpointOutput, error) {
		if interrupted || !strings.HasPrefix(in.Summary, summary) {
			return CheckpointOutput{Checkpoint: &editors.Checkpoint{ID: "c " + in.Summary, Summary: in.Summary}}, nil
		}
		interrupted = true
		h.meanwhile(func() { h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1}) })
		if pause(ctx) != nil {
			return CheckpointOutput{}, temporal.NewCanceledError()
		}
		return CheckpointOutput{Failure: "it was not cancelled"}, nil
	}
}

func TestAnInterruptEndsTheCheckpointBeforeTheFirstChange(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "make"))
	h.interruptWhilePicturing("Before turn")
	h.at(0, func() { h.ask("r1", "go") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 interrupted"}, endsOf(events))
	require.Empty(t, h.tools, "the command never ran")
	require.Equal(t, editors.ItemInterrupted, itemsOf(events, editors.ToolCall)[0].Status)
	for _, in := range h.pictured {
		require.NotContains(t, in.Summary, "After turn", "nothing has changed")
	}
	require.Empty(t, itemsOf(events, editors.Notice))
}

func TestAnInterruptEndsTheCheckpointAfterTheTurn(t *testing.T) {
	h := newHarness(t)
	h.model = once(run("c1", "make"))
	h.interruptWhilePicturing("After turn")
	h.at(0, func() { h.ask("r1", "go") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 interrupted"}, endsOf(events))
	require.Equal(t, editors.ItemCompleted, itemsOf(events, editors.ToolCall)[0].Status, "what was done is kept")
	require.Equal(t, "done", itemsOf(events, editors.AgentMessage)[1].Text)
	require.Empty(t, itemsOf(events, editors.Notice))
	var why []string
	for _, e := range ofType(events, editors.StateChanged) {
		why = append(why, e.State.Reason)
	}
	require.Contains(t, why, "Taking a checkpoint of what the turn has changed.")
}
