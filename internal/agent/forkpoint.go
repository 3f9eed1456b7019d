// This file tells where a fork of this session would begin. The session goes on undisturbed.

package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const findTimeout = checkpointTimeout

func (s *session) validateForkPoint(in ForkPointInput) error {
	if s.answered(opKey(UpdateForkPoint, in.RequestID)) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	queued := slices.ContainsFunc(s.Queue, func(a Ask) bool { return a.TurnID == in.TurnID })
	switch {
	case len(in.RequestID) > editors.MaxRequestID:
		return refuse(ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	case in.TurnID < 0 || in.TurnID >= s.NextTurn:
		return refuse(ErrTypeNotFound, "There is no turn %d.", in.TurnID)
	case s.Turn != nil && s.Turn.ID == in.TurnID:
		return Failure{
			Code: editors.CodeConflict, Message: fmt.Sprintf("Turn %d is still running.", in.TurnID), Remedy: "Wait for its end, or fork from an earlier turn.",
		}.Refusal()
	case queued:
		return refuse(ErrTypeConflict, "Turn %d has not begun.", in.TurnID)
	}
	return nil
}

// foundPoint is what is remembered of an answer.
type foundPoint struct {
	TurnEnd
	Notice string `json:"notice,omitempty"`
}

// forkPoint answers with the end of a turn, or with what there is now.
func (s *session) forkPoint(ctx workflow.Context, in ForkPointInput) (ForkPoint, error) {
	key := opKey(UpdateForkPoint, in.RequestID)
	var point ForkPoint
	var f *Failure
	s.aside(ctx, func(ctx workflow.Context) {
		var known foundPoint
		if s.recall(key, &known) {
			point, f = s.pointAt(ctx, known.TurnEnd)
			point.Turn, point.Notice = known.TurnEnd, known.Notice
			return
		}
		if point, f = s.findPoint(ctx, in.TurnID); f == nil {
			s.remember(key, foundPoint{point.Turn, point.Notice})
		}
	})
	return point, s.asideError(f)
}

// idle tells whether nothing runs or waits that changes the conversation or the workspace.
func (s *session) idle() bool { return s.Turn == nil && len(s.Queue) == 0 && len(s.Ops) == 0 }

func (s *session) findPoint(ctx workflow.Context, turn int) (ForkPoint, *Failure) {
	settled := func() bool { return turn != 0 || s.Turn != nil || len(s.Ops) == 0 } // what an operation leaves is what there is now
	if err := workflow.Await(ctx, func() bool { return !s.Starting && settled() }); err != nil {
		return ForkPoint{}, &Failure{Code: editors.CodeCancelled, Message: "waiting for what the session is doing was cancelled"}
	}
	if turn == 0 && s.idle() {
		return s.pointNow(ctx)
	}
	if turn == 0 {
		turn = s.LastEnded
	}
	if turn == 0 {
		return ForkPoint{}, &Failure{Code: editors.CodeConflict, Message: "No turn has ended yet.", Remedy: "Fork when the first turn has ended."}
	}
	end := TurnEnd{ID: turn}
	if i := s.endOf(turn); i >= 0 {
		end = s.Turns[i]
	}
	point, f := s.pointAt(ctx, end)
	switch {
	case f != nil:
		return point, f
	case point.Turn.Cut:
		return point, &Failure{
			Code: editors.CodeLimit, Message: fmt.Sprintf("Turn %d ended with more that the model had not seen than a fork can take along.", turn), Remedy: "Fork from another turn.",
		}
	case point.Turn.CheckpointID != "":
		return point, nil
	case !s.idle():
		return point, &Failure{Code: editors.CodeConflict, Message: fmt.Sprintf("There is no checkpoint of turn %d.", turn), Remedy: "Fork when the running turn has ended."}
	}
	now, f := s.pictureNow(ctx, "fork", "For a fork")
	if f == nil {
		point.Turn.CheckpointID = now.Checkpoint.ID
	}
	return point, f
}

// pointNow is what there is now: a turn that begins while the checkpoint is taken is not part of it.
func (s *session) pointNow(ctx workflow.Context) (ForkPoint, *Failure) {
	end := s.endNow(s.LastEnded)
	end.Pending, end.Cut = append([]Pending(nil), s.Pending...), false
	point := s.livePoint(end)
	last, of := s.Session.CheckpointID, s.Pictured
	now, f := s.pictureNow(ctx, "fork", "For a fork")
	switch point.Sandbox = s.sandbox(); {
	case f == nil:
		point.Turn.CheckpointID = now.Checkpoint.ID
	case f.Code == editors.CodeBackendUnavailable && last != "":
		point.Turn.CheckpointID = last
		point.Notice = fmt.Sprintf("The files are those of the latest checkpoint (%s): what has changed since is not among them, since %s.",
			first(of, short(last)), strings.TrimPrefix(f.Message, noPicture))
		return point, nil
	}
	return point, f
}

func (s *State) endOf(turn int) int {
	return slices.IndexFunc(s.Turns, func(e TurnEnd) bool { return e.ID == turn })
}

// pointAt is the fork point at the end of a turn, which is looked for in the sealed segments when it is there.
func (s *session) pointAt(ctx workflow.Context, end TurnEnd) (ForkPoint, *Failure) {
	point := s.livePoint(end)
	if end.ID == 0 || s.endOf(end.ID) >= 0 {
		return point, nil
	}
	gone := &Failure{Code: editors.CodeNotFound, Message: fmt.Sprintf("There is no turn %d.", end.ID)}
	if s.Sealed == "" {
		return point, gone
	}
	var found ForkPoint
	opts := workflow.ActivityOptions{StartToCloseTimeout: findTimeout, HeartbeatTimeout: checkpointHeartbeat}
	f := s.besides(opts, ActivityFindForkPoint, FindInput{Point: point, TurnID: end.ID}).Repeat(ctx, fmt.Sprintf("looking for turn %d", end.ID), &found)
	if f != nil && f.Code == editors.CodeNotFound {
		return point, gone
	}
	return found, f
}

// livePoint is a fork point with the items that are not sealed.
func (s *State) livePoint(end TurnEnd) ForkPoint {
	p := ForkPoint{
		Session: s.Session, Sandbox: s.sandbox(), Turn: end, Sealed: s.Sealed, NextItem: s.NextItem, Seq: s.Seq, GitBase: s.gitBase(), Rules: slices.Clone(s.Rules),
	}
	for _, i := range s.Items {
		if i.TurnID <= end.ID && i.Status != editors.ItemInProgress && (end.NextItem == 0 || itemNumber(i) < end.NextItem) {
			p.Items = append(p.Items, i)
		}
	}
	for _, e := range s.Turns {
		if e.ID <= end.ID {
			p.Turns = append(p.Turns, e)
		}
	}
	return p
}

// itemNumber is the number in an item's id.
func itemNumber(i editors.Item) int {
	n, err := strconv.Atoi(strings.TrimPrefix(i.ID, "i"))
	if err != nil {
		return 0
	}
	return n
}
