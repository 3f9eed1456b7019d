package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
)

func (h *harness) forkPoint(id string, turn int) *reply {
	return h.update(UpdateForkPoint, ForkPointInput{RequestID: id, TurnID: turn})
}

func itemIDs(items []editors.Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.ID)
	}
	return out
}

func TestAForkBeginsNowOrAtTheEndOfATurn(t *testing.T) {
	h := newHarness(t)
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		res := says("ok")
		res.Head = fmt.Sprint("head", len(h.steps))
		return res, nil
	}
	var nothing, now, again, first, future, negative *reply
	h.at(time.Second, func() { nothing = h.forkPoint("n", 0) })
	h.at(time.Minute, func() { h.ask("r1", "one") })
	h.at(2*time.Minute, func() { h.ask("r2", "two") })
	h.at(3*time.Minute, func() { h.switchTo("s", toDocker) })
	h.at(4*time.Minute, func() { now = h.forkPoint("x", 0) })
	h.at(5*time.Minute, func() {
		again = h.forkPoint("x", 0)
		first = h.forkPoint("y", 1)
		future = h.forkPoint("z", 3)
		negative = h.forkPoint("z", -1)
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))

	p := nothing.value.(ForkPoint)
	require.Equal(t, TurnEnd{CheckpointID: "c2", NextItem: 1}, p.Turn)
	require.Empty(t, p.Items)

	p = now.value.(ForkPoint)
	require.Equal(t, 2, p.Turn.ID)
	require.Equal(t, "head2", p.Turn.Head)
	require.Equal(t, "c4", p.Turn.CheckpointID, "what is on disk now")
	require.Equal(t, []string{"i1", "i2", "i3", "i4", "i5"}, itemIDs(p.Items), "with the notice of the switch")
	require.Len(t, p.Turn.Pending, 1, "and what the model is told of it")
	require.Equal(t, "c3", p.GitBase)
	require.Equal(t, "s1.1", p.Sandbox.ID())
	require.Equal(t, "s1", p.Session.ID)
	require.Equal(t, "fork", h.pictured[len(h.pictured)-1].Reason)
	require.Equal(t, p.Turn, again.value.(ForkPoint).Turn)
	require.Equal(t, p.Items, again.value.(ForkPoint).Items)

	p = first.value.(ForkPoint)
	require.Equal(t, "head1", p.Turn.Head)
	require.Equal(t, "c2", p.Turn.CheckpointID, "the newest one before the turn's end")
	require.Equal(t, []string{"i1", "i2"}, itemIDs(p.Items))
	require.Len(t, p.Turns, 1)
	require.Equal(t, ErrTypeNotFound, typeOf(t, future.rejected))
	require.Equal(t, ErrTypeNotFound, typeOf(t, negative.rejected))
	require.Equal(t, []string{"1 completed", "2 completed"}, endsOf(events))
}

// An engine that is away keeps nobody from going on elsewhere with what it had at the latest checkpoint.
func TestAForkOfNowWithoutTheEngineBeginsAtTheLatestCheckpoint(t *testing.T) {
	h := newHarness(t)
	h.carried.picture = func(context.Context, CheckpointInput) (CheckpointOutput, error) {
		return CheckpointOutput{Failure: "no Docker engine answers", Code: editors.CodeBackendUnavailable}, nil
	}
	in := inDocker()
	var first, again *reply
	h.at(time.Second, func() { first = h.forkPoint("n", 0) })
	h.at(time.Minute, func() { again = h.forkPoint("n", 0) })
	h.finish(time.Hour, in)
	require.NoError(t, first.err)
	p := first.value.(ForkPoint)
	require.Equal(t, "last", p.Turn.CheckpointID)
	require.Equal(t, "The files are those of the latest checkpoint (After turn 3): what has changed since is not among them, since no Docker engine answers.", p.Notice)
	require.Equal(t, []string{p.Notice, "last"}, []string{again.value.(ForkPoint).Notice, again.value.(ForkPoint).Turn.CheckpointID})
	require.Len(t, h.pictured, 1)

	s := NewForkState("me", false, Forked{Session: editors.Session{ID: "f1"}, Home: "/forks/f1/w", Point: p})
	require.Contains(t, s.Items[len(s.Items)-1].Text, p.Notice)
	require.Contains(t, s.Pending[len(s.Pending)-1].Text, p.Notice, "the model is told too")
}

func TestAForkOfARunningSessionDisturbsNothing(t *testing.T) {
	h := newHarness(t)
	var now, running, queued *reply
	h.tool = h.slow(func() {
		h.ask("r3", "three")
		now, running, queued = h.forkPoint("a", 0), h.forkPoint("b", 2), h.forkPoint("c", 3)
	})
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 2 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.ask("r2", "two") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	p := now.value.(ForkPoint)
	require.Equal(t, 1, p.Turn.ID)
	require.Equal(t, []string{"i1", "i2"}, itemIDs(p.Items))
	require.Equal(t, "c1", p.Turn.CheckpointID)
	f := failureOf(t, running.rejected)
	require.Equal(t, editors.CodeConflict, f.Code)
	require.Contains(t, f.Message, "Turn 2 is still running")
	require.ErrorContains(t, queued.rejected, "Turn 3 has not begun")
	require.Equal(t, []string{"1 completed", "2 completed", "3 completed"}, endsOf(events))
	require.Len(t, h.pictured, 3, "none was taken for the fork")
}

func TestTheFirstChangeWaitsUntilAForkHasItsPicture(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "make")), nil
		}
		return says("ok"), nil
	}
	taking := false
	h.carried.picture = func(ctx context.Context, in CheckpointInput) (CheckpointOutput, error) {
		if in.Reason == "fork" {
			taking = true
			h.meanwhile(func() { h.ask("r1", "one") })
			require.NoError(t, pause(ctx))
			taking = false
		}
		require.False(t, taking, "only one is taken at a time")
		return CheckpointOutput{Checkpoint: &editors.Checkpoint{ID: in.Effect}}, nil
	}
	h.tool = func(context.Context, RunToolInput) (RunToolResult, error) {
		require.False(t, taking)
		return RunToolResult{Status: editors.ItemCompleted}, nil
	}
	var r *reply
	h.at(time.Minute, func() { r = h.forkPoint("x", 0) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Zero(t, r.value.(ForkPoint).Turn.ID)
	require.Equal(t, "s1-fork1", r.value.(ForkPoint).Turn.CheckpointID)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Len(t, h.tools, 1)
}

func TestASessionWithoutCheckpointsCannotBeForked(t *testing.T) {
	h := newHarness(t)
	h.noPicture = "The folder is too large."
	var now, first *reply
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { now = h.forkPoint("a", 0) })
	h.at(2*time.Minute, func() { first = h.forkPoint("b", 1) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Contains(t, failureOf(t, now.err).Message, "too large")
	require.Contains(t, failureOf(t, first.err).Message, "too large")
}

func TestAForkPointThatTheRunCannotWaitForIsAskedForAgain(t *testing.T) {
	h := newHarness(t)
	h.carried.picture = func(ctx context.Context, in CheckpointInput) (CheckpointOutput, error) {
		if in.Reason == "fork" {
			h.meanwhile(func() {
				h.env.SetCurrentHistoryLength(rollEvents + 1)
				h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{})
			})
			if pause(ctx) != nil {
				return CheckpointOutput{}, temporal.NewCanceledError()
			}
		}
		return CheckpointOutput{Checkpoint: &editors.Checkpoint{ID: "c"}}, nil
	}
	var r *reply
	h.at(time.Minute, func() { r = h.forkPoint("x", 0) })
	h.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalNever))
	h.rolled()
	require.Equal(t, ErrTypeDraining, typeOf(t, r.err))
}

// sealing lets the harness answer for what it has sealed, as the worker does.
func (h *harness) sealing() {
	h.carried.find = func(in FindInput) (ForkPoint, error) {
		for i := len(h.sealed) - 1; i >= 0; i-- {
			for _, e := range h.sealed[i].Segment.Turns {
				if e.ID == in.TurnID {
					p := in.Point
					p.Turn, p.Sealed, p.Items = e, h.sealed[i].Segment.Prev, nil
					for _, item := range append(h.sealed[i].Segment.Items, in.Point.Items...) {
						if item.TurnID <= e.ID {
							p.Items = append(p.Items, item)
						}
					}
					return p, nil
				}
			}
		}
		return ForkPoint{}, temporal.NewNonRetryableApplicationError("no such turn", ErrTypeNotFound, errors.New("none"))
	}
}

func TestThousandsOfTurnsStayBoundedAndCanBeForked(t *testing.T) {
	const turns, every = 3000, 500
	in := testSession(editors.ApprovalNever)
	ends := map[int]string{} // heads
	var segments []SealInput
	for done := 0; done < turns; done += every {
		h := newHarness(t)
		h.sealed = segments
		h.sealing()
		h.model = func(m ModelStepInput) (ModelStepResult, error) {
			res := says("ok")
			res.Head = fmt.Sprint("head", m.TurnID)
			ends[m.TurnID] = res.Head
			return res, nil
		}
		for i := range every {
			h.at(time.Duration(i)*time.Minute, func() { h.ask(fmt.Sprint("r", i), "again") })
		}
		var early, late, none *reply
		h.at((every+1)*time.Minute, func() {
			early, late, none = h.forkPoint("", 2), h.forkPoint("", done+every-1), h.forkPoint("", done+every+7)
		})
		h.at((every+2)*time.Minute, func() {
			h.env.SetCurrentHistoryLength(rollEvents + 1)
			h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{})
		})
		h.env.ExecuteWorkflow(WorkflowName, in)
		in = h.rolled()
		segments = h.sealed
		require.NoError(t, early.err)
		p := early.value.(ForkPoint)
		require.Equal(t, 2, p.Turn.ID)
		require.Equal(t, ends[2], p.Turn.Head)
		for _, i := range p.Items {
			require.LessOrEqual(t, i.TurnID, 2)
		}
		require.Equal(t, 2, p.Items[len(p.Items)-1].TurnID)
		require.Equal(t, ends[done+every-1], late.value.(ForkPoint).Turn.Head)
		require.Error(t, none.rejected)
		require.Less(t, size(in), 256<<10)
		require.LessOrEqual(t, len(in.State.Turns), sealAboveItems)
		require.Equal(t, done+every, in.State.LastEnded)
	}
	require.Equal(t, turns+1, in.State.NextTurn)
	sealed := map[int]int{}
	for _, s := range segments {
		for _, e := range s.Segment.Turns {
			sealed[e.ID]++
		}
	}
	for _, e := range in.State.Turns {
		sealed[e.ID]++
	}
	for id := 1; id <= turns; id++ {
		require.Equal(t, 1, sealed[id], "the end of turn %d is in one place", id)
	}
}

func TestARemovedRequestIsNoTurn(t *testing.T) {
	h := newHarness(t)
	h.tool = h.slow(func() {
		h.ask("r2", "two")
		h.update(UpdateQueue, editors.QueueParams{Op: "remove", ItemID: "i4"})
	})
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	var r *reply
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.ask("r3", "three") })
	h.at(2*time.Minute, func() { r = h.forkPoint("x", 2) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, editors.CodeNotFound, failureOf(t, r.err).Code)
}

func TestAForkGoesOnFromItsPoint(t *testing.T) {
	source := newHarness(t)
	source.at(0, func() { source.ask("r1", "one") })
	var r *reply
	source.at(time.Minute, func() { r = source.forkPoint("x", 0) })
	source.finish(time.Hour, testSession(editors.ApprovalNever))
	p := r.value.(ForkPoint)

	fork := newHarness(t)
	in := Input{State: NewForkState("me", false, Forked{
		Session: editors.Session{ID: "s1", Title: "Fork", Model: "demo", HostID: "h1", ApprovalMode: editors.ApprovalNever, Backend: editors.Backend{Kind: editors.Local, WorkspaceRoot: "/forks/f"}},
		Home:    "/forks/f", Point: p, Carried: CarryOutput{Carry: editors.Carry{Added: 1}, CheckpointID: "own"},
	})}
	var second, third *reply
	fork.at(time.Second, func() {
		v := fork.view(nil)
		require.Equal(t, []string{"i1", "i2", "i3"}, itemIDs(v.Items))
		zero := int64(0)
		require.True(t, fork.view(&zero).Snapshot, "who knows nothing gets the carried items too")
		require.Equal(t, 1, v.Session.TurnID)
		require.Equal(t, "own", v.ForkBase)
		second = fork.forkPoint("y", 1)
		fork.ask("r1", "two")
	})
	fork.at(time.Minute, func() {
		require.Equal(t, 2, fork.view(nil).Session.TurnID)
		third = fork.forkPoint("z", 0)
	})
	var into *reply
	fork.at(2*time.Minute, func() { into = fork.switchTo("home", editors.Backend{Kind: editors.Local, WorkspaceRoot: "/w"}) })
	fork.at(time.Hour, func() { fork.update(UpdateDestroy, editors.SessionParams{SessionID: "s1"}) })
	fork.env.ExecuteWorkflow(WorkflowName, in)
	require.NoError(t, fork.env.GetWorkflowError())
	require.Equal(t, p.Turn.Head, fork.steps[0].Head)
	require.Contains(t, fork.steps[0].Pending[0].Text, "fork of")
	require.Equal(t, "own", second.value.(ForkPoint).Turn.CheckpointID, "a fork of a fork begins with what the fork has")
	require.Equal(t, []string{"i1", "i2"}, itemIDs(second.value.(ForkPoint).Items))
	require.Equal(t, 2, third.value.(ForkPoint).Turn.ID)
	require.ErrorContains(t, into.rejected, "overlaps with a folder that is in use, /w", "the source's folder is the source's")
	require.Empty(t, fork.carried.opened)
	last := fork.carried.destroyed[len(fork.carried.destroyed)-1]
	require.Equal(t, "/forks/f", last.Home)
	require.False(t, last.Former)
}

func TestATurnThatLeftTooMuchUnseenIsForkedFromNowOnly(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		return ModelStepResult{Failure: &ModelFailure{Kind: "noKey", Message: "There is no key."}}, nil
	}
	var first, now *reply
	h.at(0, func() { h.ask("r1", strings.Repeat("x", maxEndPending+1)) })
	h.at(time.Minute, func() { first, now = h.forkPoint("a", 1), h.forkPoint("b", 0) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, editors.CodeLimit, failureOf(t, first.err).Code)
	require.NoError(t, now.err)
	require.Len(t, now.value.(ForkPoint).Turn.Pending, 1)
}
