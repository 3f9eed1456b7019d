// This file brings the workspace back to a checkpoint.

package agent

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

func (s *session) validateRestore(in RestoreInput) error {
	if s.known(opKey(UpdateRestore, in.RequestID)) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	switch {
	case in.DryRun:
		return refuse(ErrTypeInvalid, "A dry run is asked of the session's worker.")
	case in.CheckpointID == "":
		return refuse(ErrTypeInvalid, "checkpointId is empty: list the checkpoints, and name one.")
	}
	if err := s.busy(); err != nil {
		return err
	}
	return s.admitOp(in.RequestID, in)
}

// restore brings the workspace back and answers when it has.
func (s *session) restore(ctx workflow.Context, in RestoreInput) (editors.RestoreResult, error) {
	out, err := perform[editors.RestoreResult](ctx, s, Op{Key: opKey(UpdateRestore, in.RequestID), Restore: &in})
	out.Result.Seq = out.Seq
	return out.Result, err
}

// goBack carries out a restore.
func (s *session) goBack(ctx workflow.Context, op Op) (editors.RestoreResult, *Failure) {
	s.setState(ctx, editors.StatusRunning, "Restoring a checkpoint.")
	var out RestoreOutput
	opts := workflow.ActivityOptions{StartToCloseTimeout: carryTimeout, HeartbeatTimeout: carryHeartbeat}
	f := s.there(ctx, func() *Failure {
		out = RestoreOutput{}
		task := RestoreTask{Sandbox: s.sandbox(), Restore: *op.Restore, Effect: s.effect(op, "")}
		if f := s.onHost(opts, ActivityRestore, task).Repeat(ctx, "restoring the checkpoint", &out); f != nil {
			return f
		}
		return out.Failure
	})
	result := cutRestore(out.Result)
	switch {
	case s.destroying:
		return result, f
	case f != nil:
		s.notice(ctx, s.Session.TurnID, fmt.Sprintf("Checkpoint %s was not restored: %s", called(out.Summary, op.Restore.CheckpointID), f.sentence()))
		return result, f
	}
	s.restored(ctx, op, out)
	return result, nil
}

// restored tells the user and the model what a restore has done.
func (s *session) restored(ctx workflow.Context, op Op, out RestoreOutput) {
	r, name := out.Result, called(out.Summary, op.Restore.CheckpointID)
	if r.Undo != "" {
		s.tellPicture(ctx, r.Undo, "Before restoring "+name)
	}
	if len(r.Restored) > 0 {
		s.pictureAfter(ctx, op, "restore", "After restoring "+name)
	}
	s.unadopt(ctx, op.Restore.RestoreParams)
	text := fmt.Sprintf("Restored %s to checkpoint %s", count(len(r.Restored), "file"), name)
	s.notice(ctx, s.Session.TurnID, text+stays(slices.Concat(r.Conflicts, r.Kept), r.Reasons)+undoHint(r.Undo))
	if n := len(r.Restored); n > 0 {
		s.note(fmt.Sprintf("The user has brought files back to an earlier state: %s. Read them again before you rely on them.", listed(r.Restored, n)))
	}
}
