// This file pictures the workspace around what the agent does to it: before the first change of a turn, and after the turn.

package agent

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const (
	checkpointTimeout   = 10 * time.Minute // the first one of a large folder
	checkpointHeartbeat = 15 * time.Second
	checkpointTries     = 3 // when workers die meanwhile
)

// checkpointBefore pictures the workspace before the first change of the turn.
func (s *session) checkpointBefore(ctx workflow.Context, c *Call) {
	if s.Turn.Touched {
		return
	}
	s.Turn.Touched = true
	before := s.Session.State
	s.setState(ctx, editors.StatusRunning, "Taking a checkpoint before the first change.")
	s.checkpoint(ctx, s.Turn.ID, c.ItemID, fmt.Sprintf("Before turn %d", s.Turn.ID))
	s.setState(ctx, before.Status, before.Reason, before.Remedy)
}

// checkpointAfter pictures what a turn that may have changed something has left.
func (s *session) checkpointAfter(ctx workflow.Context, turn *Turn) {
	if !turn.Touched || s.destroying {
		return
	}
	item := ""
	if len(s.Items) > 0 {
		item = s.Items[len(s.Items)-1].ID
	}
	s.checkpoint(ctx, turn.ID, item, fmt.Sprintf("After turn %d", turn.ID))
}

// checkpoint pictures the workspace. A workspace that cannot be pictured is said once, and does not stop the work.
func (s *session) checkpoint(ctx workflow.Context, turn int, item, summary string) {
	in := CheckpointInput{Sandbox: s.sandbox(), TurnID: turn, ItemID: item, Summary: summary, Effect: fmt.Sprintf("%s-%s", s.Session.ID, summary)}
	var out CheckpointOutput
	var err error
	for range checkpointTries {
		opts := workflow.ActivityOptions{StartToCloseTimeout: checkpointTimeout, HeartbeatTimeout: checkpointHeartbeat}
		if err = s.onHost(ctx, opts, ActivityCheckpoint, in, &out); err == nil || ctx.Err() != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		out.Failure = cause(err)
	}
	if out.Failure != "" && out.Failure != s.NoCheckpoints {
		s.notice(ctx, turn, "No checkpoint could be taken, so this cannot be undone with restore: "+out.Failure)
	}
	s.NoCheckpoints = out.Failure
	if taken := out.Checkpoint; taken != nil {
		s.Session.CheckpointID = taken.ID
		s.emit(ctx, editors.Event{Type: editors.CheckpointCreated, Checkpoint: taken})
	}
}
