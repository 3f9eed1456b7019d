package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// twoTurns lets the agent read in its first turn, and read and write twice in its second.
func twoTurns(h *harness) {
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		switch len(h.steps) {
		case 1:
			return calls(reads("c1")), nil
		case 3:
			return calls(reads("c2"), run("c3", "make"), run("c4", "make install")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "look") })
	h.at(time.Minute, func() { h.ask("r2", "build") })
}

func TestATurnThatChangesSomethingIsPicturedBeforeAndAfter(t *testing.T) {
	h := newHarness(t)
	twoTurns(h)
	h.at(2*time.Minute, func() { require.Equal(t, "c3", h.view(nil).Session.CheckpointID) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	taken := ofType(events, editors.CheckpointCreated)
	require.Len(t, taken, 3, "a turn that only reads needs none")
	require.Equal(t, "Start of the session", taken[0].Checkpoint.Summary)
	require.Equal(t, "Before turn 2", taken[1].Checkpoint.Summary)
	require.Equal(t, "After turn 2", taken[2].Checkpoint.Summary)
	require.Equal(t, 2, taken[2].Checkpoint.TurnID)
	require.Equal(t, "i8", taken[1].Checkpoint.ItemID, "it belongs to the call that it precedes")
	call := slices.IndexFunc(itemsOf(events, editors.ToolCall), func(i editors.Item) bool { return i.ID == "i8" })
	require.Equal(t, "make", itemsOf(events, editors.ToolCall)[call].Text)
	require.NotEqual(t, h.pictured[1].Effect, h.pictured[2].Effect)
}

func TestWhatCannotBePicturedIsSaidOnceAndDoesNotStopTheWork(t *testing.T) {
	h := newHarness(t)
	h.noPicture = "The folder is too large."
	twoTurns(h)
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed", "2 completed"}, endsOf(events))
	require.Empty(t, ofType(events, editors.CheckpointCreated))
	notices := itemsOf(events, editors.Notice)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0].Text, "too large")
	require.Len(t, h.tools, 4)
}

func TestACheckpointThatAUserAskedForIsToldOnce(t *testing.T) {
	h := newHarness(t)
	taken := TakenInput{RequestID: "r", Checkpoint: editors.Checkpoint{ID: "mine", Summary: "Before lunch"}}
	var first, again *reply
	h.at(0, func() { first = h.update(UpdateTaken, taken) })
	h.at(time.Minute, func() { again = h.update(UpdateTaken, taken) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	told := slices.DeleteFunc(ofType(events, editors.CheckpointCreated), func(e editors.Event) bool { return e.Checkpoint.ID != "mine" })
	require.Len(t, told, 1)
	require.Equal(t, taken.Checkpoint, *told[0].Checkpoint)
	require.NotZero(t, first.value)
	require.Equal(t, first.value, again.value)
}
