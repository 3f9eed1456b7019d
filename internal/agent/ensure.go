// This file makes sure, beside a turn's first model call and before a move, that the sandbox is there, and makes it again from
// the last checkpoint when it is gone.

package agent

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const ensureTimeout = 10 * time.Minute // with the start of what was stopped

// ensureSandbox begins to look for the sandbox. The open folder needs no looking for: it is there or every tool says so.
func (s *session) ensureSandbox(ctx workflow.Context) {
	if s.Turn.Ready || s.inFolder() {
		return
	}
	s.ensuring, s.unready = true, nil
	workflow.Go(ctx, func(ctx workflow.Context) {
		s.unready = s.ensure(ctx)
		s.Turn.Ready = s.unready == nil
		s.ensuring = false
	})
}

// inFolder tells whether the session works in the open folder, which nothing can make again.
func (s *session) inFolder() bool {
	return s.Session.Backend.Kind == editors.Local && s.Session.Backend.WorkspaceRoot == ""
}

// ensure looks for the sandbox, and makes it again from the last checkpoint when it is gone.
func (s *session) ensure(ctx workflow.Context) *Failure {
	if err := workflow.Await(ctx, func() bool { return !s.looking }); err != nil {
		return &Failure{Code: editors.CodeCancelled, Message: "looking for the sandbox was cancelled"}
	}
	s.looking = true
	defer func() { s.looking = false }()
	var out EnsureOutput
	opts := workflow.ActivityOptions{StartToCloseTimeout: ensureTimeout, HeartbeatTimeout: carryHeartbeat}
	if f := s.onHost(opts, ActivityEnsureSandbox, s.sandbox()).Repeat(ctx, "looking for the sandbox", &out); f != nil {
		return f
	}
	if out.Failure != nil || !out.Gone {
		return out.Failure
	}
	return s.recover(ctx)
}

// there does something in the sandbox, and once more when it turns out that the sandbox was gone and has been made again.
func (s *session) there(ctx workflow.Context, do func() *Failure) *Failure {
	f := do()
	gone := f != nil && (f.Code == editors.CodeNotFound || f.Code == editors.CodeCorruptCheckpoint) // or so it seems
	if !gone || s.inFolder() || ctx.Err() != nil {
		return f
	}
	epoch := s.Session.Epoch
	if again := s.ensure(ctx); again != nil {
		return again
	}
	if s.Session.Epoch == epoch {
		return f
	}
	return do()
}

// recover makes a fresh sandbox from the last checkpoint.
func (s *session) recover(ctx workflow.Context) *Failure {
	if s.Session.CheckpointID == "" {
		return &Failure{
			Code: editors.CodeBackendUnavailable, Message: "the sandbox is gone, and there is no checkpoint to make it again from",
			Remedy: "Begin a new session, or fork one that has checkpoints.",
		}
	}
	s.setState(ctx, editors.StatusRecovering, "The sandbox is gone; making a fresh one from the last checkpoint.")
	target := s.newSandbox(s.Session.Backend)
	out, f := s.carry(ctx, "making the sandbox again", ActivityOpenCarried, OpenInput{
		Sandbox: target, From: s.sandbox(), CheckpointID: s.Session.CheckpointID, Base: s.gitBase(), Taken: s.taken(),
		Effect: fmt.Sprintf("%s-recover%d", s.Session.ID, target.Epoch), Reason: "recover", TurnID: s.Session.TurnID,
	})
	if f != nil {
		s.doom(ctx, target)
		return f
	}
	s.leaveBackground(ctx)
	s.doom(ctx, s.sandbox())
	s.Session.Epoch = target.Epoch
	s.rebase(out)
	from := called(s.Pictured, s.Session.CheckpointID)
	s.holds(out, s.Pictured)
	s.setState(ctx, editors.StatusRunning, "Going on in a fresh sandbox.")
	s.sessionUpdated(ctx)
	text := fmt.Sprintf("The sandbox was gone; a fresh one was made from checkpoint %s. Packages and processes are lost%s.", from, leftOut(out.Carry))
	s.notice(ctx, s.Session.TurnID, text)
	if s.Turn == nil {
		s.note(text, "Look at what is there before you rely on it.")
		return nil
	}
	s.Turn.Steers = append(s.Turn.Steers, noteEntry(text, "Look at what is there before you rely on it."))
	return nil
}

// awaitSandbox waits until the turn's sandbox is there.
func (s *session) awaitSandbox(ctx workflow.Context) error {
	if s.ensuring {
		s.setState(ctx, editors.StatusRunning, "Waiting for the sandbox.")
		if err := workflow.Await(ctx, func() bool { return !s.ensuring }); err != nil {
			return err
		}
	}
	if f := s.unready; f != nil {
		return &turnFailure{code: f.Code, message: f.Message, remedy: f.Remedy}
	}
	return nil
}
