// This file stops one command because a user wants it to: that of a running call, or one in the background.

package agent

import (
	"encoding/json"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const (
	execCommand     = "exec_command"
	writeStdin      = "write_stdin"
	killTime        = 30 * time.Second // of one try
	killTries       = 3
	outcomePatience = 5 * time.Second // for the call of a stopped command to end
)

// runningCall returns a call of the running turn that is not done.
func (s *State) runningCall(itemID string) *Call {
	if s.Turn == nil {
		return nil
	}
	for i := range s.Turn.Calls {
		if c := &s.Turn.Calls[i]; c.ItemID == itemID && !c.Done {
			return c
		}
	}
	return nil
}

func (s *session) validateStop(in editors.StopParams) error {
	var before editors.StopResult
	if s.recall(in.RequestID, &before) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if len(in.RequestID) > editors.MaxRequestID {
		return refuse(ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	}
	c := s.runningCall(in.ItemID)
	switch {
	case c == nil && s.backgroundIndex(in.ItemID) < 0:
		return refuse(ErrTypeConflict, "Item %s is no command that runs (any more).", in.ItemID)
	case c != nil && c.Tool != execCommand && c.Tool != writeStdin:
		return refuse(ErrTypeConflict, "Item %s is a call of %s, which cannot be stopped alone; interrupt the turn.", in.ItemID, c.Tool)
	case c != nil && !c.Allowed && s.approval(c.ApprovalID) >= 0:
		return refuse(ErrTypeConflict, "Item %s waits for an approval; deny it instead.", in.ItemID)
	}
	return nil
}

// stopCommand stops the command of an item. A call that has not begun never will.
func (s *session) stopCommand(ctx workflow.Context, in editors.StopParams) (editors.StopResult, error) {
	var out editors.StopResult
	if s.recall(in.RequestID, &out) {
		return out, nil
	}
	by := preview(first(in.By, "a client"), maxBy)
	end := CommandEnd{How: "Stopped by the user (" + by + ") before it ran.", StoppedBy: by}
	if c := s.runningCall(in.ItemID); c != nil && c.Attempt == 0 {
		s.endCall(ctx, c, RunToolResult{Status: editors.ItemInterrupted, Error: "stopped by " + by + " before it ran", StoppedBy: by}, end.How)
	} else {
		var err error
		if end, err = s.killCommand(ctx, s.target(in.ItemID), by); err != nil {
			return out, err
		}
	}
	if _, err := workflow.AwaitWithTimeout(ctx, outcomePatience, func() bool { return s.runningCall(in.ItemID) == nil }); err != nil {
		return out, err
	}
	out = editors.StopResult{ItemID: in.ItemID, StoppedBy: end.StoppedBy, Already: end.Already, How: end.How, Seq: s.Seq}
	s.remember(in.RequestID, out)
	return out, nil
}

// target is the item whose call started the command that an item is about.
func (s *State) target(itemID string) string {
	c := s.runningCall(itemID)
	if c == nil || c.Tool != writeStdin {
		return itemID
	}
	var args struct {
		CommandID string `json:"command_id"`
	}
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return itemID
	}
	return first(s.itemOf(args.CommandID), itemID)
}

// killCommand ends a command, and tells it of one in the background, which no call tells.
func (s *session) killCommand(ctx workflow.Context, itemID, by string) (CommandEnd, error) {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), ScheduleToStartTimeout: takenWithin, StartToCloseTimeout: killTime,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: killTries},
	})
	var end CommandEnd
	in := CommandInput{Sandbox: s.sandbox(), CommandID: s.commandID(itemID), By: by}
	err := workflow.ExecuteActivity(actx, ActivityStopCommand, in).Get(actx, &end)
	var timeout *temporal.TimeoutError
	switch {
	case notTaken(err):
		return end, Failure{
			Code: editors.CodeWorkerUnavailable, Message: "No worker of this session's host is running, so its command cannot be stopped now.", Remedy: remedyDoctor,
		}.Refusal()
	case errors.As(err, &timeout) && timeout.TimeoutType() != enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return end, Failure{Code: editors.CodeBackendUnavailable, Message: "The command could not be stopped in time.", Remedy: remedyDoctor}.Refusal()
	case err != nil:
		return end, Failure{Code: codeOf(err), Message: "The command could not be stopped: " + cause(err), Remedy: remedyDoctor}.Refusal()
	}
	if i := s.backgroundIndex(itemID); i >= 0 {
		command := s.Background[i].Command
		s.dropBackground(ctx, itemID)
		s.endItem(ctx, itemID, func(item *editors.Item) {
			item.StoppedBy = end.StoppedBy
			if end.StoppedBy != "" {
				item.Status, item.Error = editors.ItemInterrupted, end.How
			}
		})
		s.noteBeside("The background command " + in.CommandID + " (" + preview(command, maxName) + ") has ended: " + end.How)
	}
	return end, nil
}
