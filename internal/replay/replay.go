// Package replay checks that the workflows of this version still make the decisions of stored histories: a worker that
// cannot replay a session cannot go on with it.
package replay

import (
	"fmt"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
	"sandboxagent/internal/temporal"
)

// History replays a history of a session or a session manager. The error says where today's code decides otherwise.
func History(h *historypb.History) error {
	dc, err := temporal.NewDataConverter(nil)
	if err != nil {
		return err
	}
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: dc})
	if err != nil {
		return fmt.Errorf("make a replayer: %w", err)
	}
	r.RegisterWorkflowWithOptions((&agent.Workflows{}).Agent, workflow.RegisterOptions{Name: agent.WorkflowName})
	r.RegisterWorkflowWithOptions(session.Manager, workflow.RegisterOptions{Name: session.WorkflowName})
	if err := r.ReplayWorkflowHistory(nil, h); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}
