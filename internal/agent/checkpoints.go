// This file pictures the workspace: at the session's start, around what the agent does to it, and when it is carried.

package agent

import (
	"errors"
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

// picture is a checkpoint to take; see CheckpointInput.
type picture struct {
	turn    int
	item    string
	summary string
	effect  string
	reason  string
	quiet   bool // beside what the session does: its state does not tell of it
}

// pictureStart begins to picture the workspace as the session finds it. Nothing waits for it but the first change.
func (s *session) pictureStart(ctx workflow.Context) {
	s.picturing++
	workflow.Go(ctx, func(ctx workflow.Context) {
		s.aside(ctx, s.takeStart)
		s.picturing--
	})
}

func (s *session) takeStart(ctx workflow.Context) {
	out := s.picture(ctx, picture{summary: "Start of the session", effect: s.Session.ID + "-start"})
	if ctx.Err() != nil {
		return // the next run does it
	}
	s.Starting = false
	s.pictureFailed(ctx, out)
	if out.Checkpoint != nil {
		s.began(out.Checkpoint.ID)
	}
}

// began takes the first checkpoint for what there was from the start on: nothing has changed before it was taken.
func (s *State) began(id string) {
	for i := range s.Turns {
		if s.Turns[i].CheckpointID == "" {
			s.Turns[i].CheckpointID = id
		}
	}
	if !s.isHome(s.Session.Backend) && s.Base == "" {
		s.Base = id // the sandbox is a copy of the folder
	}
}

// checkpointBefore pictures the workspace before the first change of the turn.
func (s *session) checkpointBefore(ctx workflow.Context, c *Call) {
	if s.Turn.Touched {
		return
	}
	s.Turn.Touched = true
	before := s.Session.State
	s.setState(ctx, editors.StatusRunning, "Taking a checkpoint before the first change.")
	if err := workflow.Await(ctx, func() bool { return s.picturing == 0 }); err != nil {
		s.Turn.Touched = false
		return
	}
	s.checkpoint(ctx, s.Turn.ID, c.ItemID, fmt.Sprintf("Before turn %d", s.Turn.ID))
	if ctx.Err() != nil {
		s.Turn.Touched = false // nothing has begun, so that the turn's end has nothing to picture
		return
	}
	s.setState(ctx, before.Status, before.Reason, before.Remedy)
}

// checkpointAfter pictures what a turn that may have changed something has left. An interrupt ends it, so that nobody has to
// wait for a large folder.
func (s *session) checkpointAfter(ctx workflow.Context, turn *Turn) {
	if !turn.Touched || s.destroying {
		return
	}
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	s.cancelWork = cancel
	s.setState(ctx, editors.StatusRunning, "Taking a checkpoint of what the turn has changed.")
	item := ""
	if len(s.Items) > 0 {
		item = s.Items[len(s.Items)-1].ID
	}
	s.checkpoint(ctx, turn.ID, item, fmt.Sprintf("After turn %d", turn.ID))
}

// checkpoint pictures the workspace around a turn.
func (s *session) checkpoint(ctx workflow.Context, turn int, item, summary string) {
	out := s.picture(ctx, picture{turn: turn, item: item, summary: summary, effect: fmt.Sprintf("%s-%s", s.Session.ID, summary)})
	if ctx.Err() == nil {
		s.pictureFailed(ctx, out)
	}
}

// pictureFailed says once that a workspace cannot be pictured, which does not stop the work.
func (s *session) pictureFailed(ctx workflow.Context, out CheckpointOutput) {
	if out.Failure != "" && out.Failure != s.NoCheckpoints {
		s.notice(ctx, s.Session.TurnID, "No checkpoint could be taken, so this cannot be undone with restore: "+out.Failure)
	}
	s.NoCheckpoints = out.Failure
}

// pictureFor takes the checkpoint that an operation begins with, which must be there and lack nothing.
func (s *session) pictureFor(ctx workflow.Context, op Op, reason, summary string) (CheckpointOutput, *Failure) {
	out := s.picture(ctx, picture{turn: s.Session.TurnID, summary: summary, effect: s.effect(op, "before"), reason: reason})
	return out, needed(ctx, out)
}

const noPicture = "no checkpoint could be taken: "

// needed is why a checkpoint cannot be what something is carried by, if it cannot.
func needed(ctx workflow.Context, out CheckpointOutput) *Failure {
	switch {
	case ctx.Err() != nil:
		return &Failure{Code: editors.CodeCancelled, Message: "taking a checkpoint was cancelled"}
	case out.Failure != "":
		code := out.Code
		if code == "" {
			code = editors.CodeInternal
		}
		return &Failure{Code: code, Message: noPicture + out.Failure}
	case out.Checkpoint == nil:
		return &Failure{Code: editors.CodeUnsupported, Message: "the session's worker keeps no checkpoints, so nothing can be carried"}
	case out.MissingAll > 0 || len(out.Missing) > 0:
		all := max(out.MissingAll, len(out.Missing))
		return &Failure{
			Code: editors.CodeConflict, Message: fmt.Sprintf("%s could not be read and would be left behind: %s", count(all, "path"), listed(pathsOf(out.Missing), all)),
			Remedy: "Make them readable, or exclude them from checkpoints, and try again.",
		}
	}
	return nil
}

// pictureAfter pictures what an operation has left, so that the next one begins with what is there.
func (s *session) pictureAfter(ctx workflow.Context, op Op, reason, summary string) {
	out := s.picture(ctx, picture{turn: s.Session.TurnID, summary: summary, effect: s.effect(op, "after"), reason: reason})
	if ctx.Err() == nil {
		s.pictureFailed(ctx, out)
	}
}

// picture takes a checkpoint. A failure is a value in the result; a cancelled one has neither.
func (s *session) picture(ctx workflow.Context, p picture) CheckpointOutput {
	box := s.sandbox()
	in := CheckpointInput{Sandbox: box, TurnID: p.turn, ItemID: p.item, Summary: p.summary, Effect: p.effect, Reason: p.reason, Lacks: s.lacks()}
	work := s.onHost(workflow.ActivityOptions{StartToCloseTimeout: checkpointTimeout, HeartbeatTimeout: checkpointHeartbeat}, ActivityCheckpoint, in)
	if p.quiet {
		work.Away = nil
	}
	var out CheckpointOutput
	var err error
	for range checkpointTries {
		if err = work.Do(ctx, &out); !errors.Is(err, errLost) || ctx.Err() != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return CheckpointOutput{}
	case err != nil:
		return CheckpointOutput{Failure: cause(err), Code: codeOf(err)}
	}
	if taken := out.Checkpoint; taken != nil {
		s.emit(ctx, editors.Event{Type: editors.CheckpointCreated, Checkpoint: taken})
		if box.Epoch == s.Session.Epoch {
			s.Session.CheckpointID, s.Pictured = taken.ID, taken.Summary
		}
	}
	return out
}

// lacks is the checkpoint that notes what did not travel to where the session is.
func (s *State) lacks() string {
	if s.isHome(s.Session.Backend) {
		return ""
	}
	return first(s.Base, s.taken())
}

// tellPicture tells of a checkpoint that an activity took on its way.
func (s *session) tellPicture(ctx workflow.Context, id, summary string) {
	taken := editors.Checkpoint{ID: id, TurnID: s.Session.TurnID, At: workflow.Now(ctx), Summary: summary}
	s.emit(ctx, editors.Event{Type: editors.CheckpointCreated, Checkpoint: &taken})
}

func (s *session) validateTaken(in TakenInput) error {
	if s.answered(opKey(UpdateTaken, in.RequestID)) {
		return nil
	}
	return s.open()
}

// checkpointTaken tells of a checkpoint that a user asked for, which the worker took at any time.
func (s *session) checkpointTaken(ctx workflow.Context, in TakenInput) (SeqResult, error) {
	key := opKey(UpdateTaken, in.RequestID)
	var out SeqResult
	if s.recall(key, &out) {
		return out, nil
	}
	s.emit(ctx, editors.Event{Type: editors.CheckpointCreated, Checkpoint: &in.Checkpoint})
	out = SeqResult{Seq: s.Seq}
	s.remember(key, out)
	return out, nil
}
