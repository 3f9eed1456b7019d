// This file ends a turn, and keeps what a fork needs to begin there.

package agent

import (
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

func (s *session) endTurn(ctx workflow.Context, status editors.TurnStatus, failed *turnFailure) error {
	turn := s.Turn
	if err := workflow.Await(ctx, func() bool { return !s.ensuring }); err != nil {
		return err
	}
	s.settleCalls(ctx)
	s.withdrawApprovals(ctx, turn.ID)
	s.checkpointAfter(ctx, turn) // before anybody learns that the turn has ended: what is written from then on is the user's
	if turn.Interrupt && status == editors.TurnCompleted {
		status = editors.TurnInterrupted
	}
	s.Pending = append(s.Pending, turn.Steers...)
	s.Worked += s.turnTime(ctx)
	usage := turn.Usage
	end := editors.Event{Type: editors.TurnEnded, TurnID: turn.ID, Status: status, Usage: &usage}
	if failed != nil {
		end.Error = &editors.ErrorData{Code: failed.code, Remedy: failed.remedy}
		end.Message = failed.message
	}
	s.recordEnd(turn.ID)
	s.Turn, s.unready = nil, nil
	if len(s.Queue) == 0 && len(s.Ops) == 0 {
		s.restAfter(ctx, failed) // first, so that who follows a turn to its end has seen why it ended
	}
	s.emit(ctx, end)
	if status == editors.TurnCompleted && len(s.Former) > 0 {
		left := s.Former
		s.Former = nil
		s.doom(ctx, left...)
	} else {
		s.dropDoomed(ctx)
	}
	if status == editors.TurnCompleted {
		s.wantTitle(ctx, turn.ID)
	}
	if !s.opDue() {
		s.nextQueued(ctx)
	}
	s.list(ctx)
	if !s.destroying {
		s.seal(ctx)
	}
	return nil
}

// recordEnd keeps what there is when turn id has ended.
func (s *State) recordEnd(id int) {
	s.Turns = append(s.Turns, s.endNow(id))
	s.LastEnded = id
}

// endNow is the end of turn id as it would be now.
func (s *State) endNow(id int) TurnEnd {
	end := TurnEnd{ID: id, Head: s.Head, CheckpointID: s.Session.CheckpointID, NextItem: s.NextItem, Pending: append([]Pending(nil), s.Pending...)}
	if size(end.Pending) > maxEndPending {
		end.Pending, end.Cut = nil, true
	}
	return end
}

// nextQueued starts the turn of the request that waits longest, if there is one.
func (s *session) nextQueued(ctx workflow.Context) {
	if len(s.Queue) == 0 || s.destroying {
		return
	}
	a := s.Queue[0]
	s.Queue = append([]Ask(nil), s.Queue[1:]...)
	s.openTurn(ctx, a.TurnID)
	s.emit(ctx, editors.Event{Type: editors.QueueChanged, Queued: s.queued()})
	s.admit(ctx, a)
}

func (s *session) restAfter(ctx workflow.Context, failed *turnFailure) {
	if failed != nil {
		s.setState(ctx, editors.StatusFailed, failed.message, failed.remedy)
		return
	}
	s.rest(ctx)
}

// rest sets the state of a session without a running turn.
func (s *session) rest(ctx workflow.Context) {
	switch {
	case s.Paused && s.Stopped:
		s.setState(ctx, editors.StatusPaused, "Its sandbox is stopped; ask to go on.")
	case s.Paused:
		s.setState(ctx, editors.StatusPaused, "Ask to go on.")
	default:
		s.setState(ctx, editors.StatusIdle, "")
	}
}
