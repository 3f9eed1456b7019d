package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// rolled returns what a workflow carried over when it continued as new.
func (h *harness) rolled() Input {
	var can *workflow.ContinueAsNewError
	require.True(h, errors.As(h.env.GetWorkflowError(), &can), "continued as new")
	var in Input
	require.NoError(h, converter.GetDefaultDataConverter().FromPayloads(can.Input, &in))
	return in
}

func TestContinueAsNewInMidTurnIsInvisible(t *testing.T) {
	first := newHarness(t)
	first.model = func(ModelStepInput) (ModelStepResult, error) {
		first.env.SetCurrentHistoryLength(rollEvents + 1)
		return calls(run("c1", "make"), reads("c2")), nil
	}
	var asked *reply
	first.at(0, func() { asked = first.ask("r1", "build") })
	first.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalAsk))
	in := first.rolled()
	require.Empty(t, first.tools, "it rolled between two steps")
	require.NotNil(t, in.State.Turn)

	second := newHarness(t)
	second.model = func(ModelStepInput) (ModelStepResult, error) { return says("built"), nil }
	var repeated *reply
	second.at(0, func() { repeated = second.ask("r1", "build") })
	second.at(time.Second, func() {
		require.Len(t, second.view(nil).Approvals, 1)
		second.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllow, By: "me"})
	})
	events := second.finish(time.Minute, in)
	require.Equal(t, asked.value, repeated.value, "a request repeated over the roll is known")
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Len(t, second.tools, 2)
	require.Len(t, itemsOf(events, editors.UserMessage), 1)
	require.Len(t, itemsOf(events, editors.ToolCall), 2)
}

func TestContinueAsNewCarriesTheQueue(t *testing.T) {
	first := newHarness(t)
	first.model = func(ModelStepInput) (ModelStepResult, error) {
		first.env.SetCurrentHistoryLength(rollEvents + 1)
		return calls(reads("c1")), nil
	}
	first.at(0, func() { first.ask("r1", "one"); first.ask("r2", "two") })
	first.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalAsk))
	in := first.rolled()
	require.Len(t, in.State.Queue, 1)
	second := newHarness(t)
	events := second.finish(time.Minute, in)
	require.Equal(t, []string{"1 completed", "2 completed"}, endsOf(events))
}

func TestTheCarriedStateStaysSmall(t *testing.T) {
	h := newHarness(t)
	long := strings.Repeat("text", 2048)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 200 {
			h.env.SetCurrentHistoryLength(rollEvents + 1)
		}
		if len(h.steps)%2 == 1 {
			return calls(run("c", long[:4000]), run("d", long[:4000])), nil
		}
		return says(long), nil
	}
	h.tool = func(_ context.Context, _ RunToolInput) (RunToolResult, error) {
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:r", Diff: long, Output: &editors.Output{Head: long[:2048], Tail: long[:2048]}}, nil
	}
	for i := range 150 {
		h.at(time.Duration(i)*time.Minute, func() { h.ask("", "again") })
	}
	h.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalNever))
	in := h.rolled()
	require.Less(t, size(in), 900<<10, "under half of what Temporal takes")
	require.LessOrEqual(t, len(in.State.Items), sealAboveItems+10)
}
