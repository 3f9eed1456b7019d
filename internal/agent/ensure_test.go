package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
)

// inDocker is a session that runs in Docker and was pictured there.
func inDocker() Input {
	in := testSession(editors.ApprovalNever)
	in.State.Session.Backend, in.State.Starting = toDocker, false
	in.State.Session.CheckpointID, in.State.Pictured, in.State.Base = "last", "After turn 3", "base"
	return in
}

// worksOnce lets the agent run one command.
func (h *harness) worksOnce() {
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "make")), nil
		}
		return says("ok"), nil
	}
}

func TestASandboxThatIsGoneIsMadeAgain(t *testing.T) {
	h := newHarness(t)
	h.worksOnce()
	h.carried.ensure = func(Sandbox) (EnsureOutput, error) {
		if len(h.carried.ensured) == 1 {
			return EnsureOutput{}, lost()
		}
		return EnsureOutput{Gone: true}, nil
	}
	h.at(0, func() { h.ask("r", "go") })
	h.at(time.Minute, func() { require.EqualValues(t, 1, h.view(nil).Session.Epoch) })
	events := h.finish(time.Hour, inDocker())
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	open := h.carried.opened[0]
	require.Equal(t, []string{"last", "base", "recover", "s1.1", "s1"}, []string{open.CheckpointID, open.Base, open.Reason, open.ID(), open.From.ID()})
	require.Equal(t, "s1.1", h.tools[0].ID(), "the first tool call waits for it")
	require.Contains(t, noticesOf(events)[0], "a fresh one was made from checkpoint \"After turn 3\". Packages and processes are lost.")
	require.Equal(t, "toolResult", h.steps[1].Pending[0].Kind)
	require.Contains(t, h.steps[1].Pending[1].Text, "The sandbox was gone")
	require.Len(t, h.steps, 2)
	require.Equal(t, "s1", h.carried.destroyed[0].ID())
	require.True(t, h.carried.destroyed[0].Former)
}

func TestATurnWithoutASandboxFailsWithAReason(t *testing.T) {
	for name, set := range map[string]func(*harness, *Input){
		"no checkpoint": func(h *harness, in *Input) {
			in.State.Session.CheckpointID = ""
			h.carried.ensure = func(Sandbox) (EnsureOutput, error) { return EnsureOutput{Gone: true}, nil }
		},
		"does not answer": func(h *harness, _ *Input) {
			h.carried.ensure = func(Sandbox) (EnsureOutput, error) {
				return EnsureOutput{Failure: &Failure{Code: editors.CodeBackendUnavailable, Message: "The daemon does not answer.", Remedy: "Start it."}}, nil
			}
		},
		"no room": func(h *harness, _ *Input) {
			h.carried.ensure = func(Sandbox) (EnsureOutput, error) { return EnsureOutput{Gone: true}, nil }
			h.carried.open = func(context.Context, OpenInput) (CarryOutput, error) {
				return CarryOutput{Failure: &Failure{Code: editors.CodeBackendUnavailable, Message: "There is no room."}}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.worksOnce()
			in := inDocker()
			set(h, &in)
			h.at(0, func() { h.ask("r", "go") })
			events := h.finish(time.Hour, in)
			require.Equal(t, []string{"1 failed"}, endsOf(events))
			end := ofType(events, editors.TurnEnded)[0]
			require.Contains(t, strings.ToLower(end.Message), name)
			require.Equal(t, editors.CodeBackendUnavailable, end.Error.Code)
			require.Empty(t, h.tools)
			require.Equal(t, editors.ItemInterrupted, itemsOf(events, editors.ToolCall)[0].Status)
		})
	}
}

func TestAnInterruptEndsTheSearchForASandbox(t *testing.T) {
	h := newHarness(t)
	h.worksOnce()
	h.carried.ensure = func(Sandbox) (EnsureOutput, error) { return EnsureOutput{Gone: true}, nil }
	h.carried.open = func(ctx context.Context, _ OpenInput) (CarryOutput, error) {
		h.meanwhile(func() { h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1}) })
		if pause(ctx) != nil {
			return CarryOutput{}, temporal.NewCanceledError()
		}
		return CarryOutput{}, nil
	}
	h.at(0, func() { h.ask("r", "go") })
	h.at(time.Minute, func() {
		require.Equal(t, editors.StatusIdle, h.view(nil).Session.State.Status)
		require.Zero(t, h.view(nil).Session.Epoch)
	})
	events := h.finish(time.Hour, inDocker())
	require.Equal(t, []string{"1 interrupted"}, endsOf(events))
}

func TestAnAnswerWithoutToolsNeedsNoSandbox(t *testing.T) {
	h := newHarness(t)
	h.carried.ensure = func(Sandbox) (EnsureOutput, error) {
		return EnsureOutput{Failure: &Failure{Code: editors.CodeBackendUnavailable, Message: "down"}}, nil
	}
	h.at(0, func() { h.ask("r", "hello") })
	require.Equal(t, []string{"1 completed"}, endsOf(h.finish(time.Hour, inDocker())))
}

func TestAPauseStopsTheSandboxAndTheNextTurnLooksForIt(t *testing.T) {
	h := newHarness(t)
	h.tool = h.slow(func() { h.update(UpdatePause, editors.SessionParams{}) })
	h.worksOnce()
	h.carried.stop = func(Sandbox) error {
		if len(h.carried.stopped) == 1 {
			return lost()
		}
		return nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() {
		require.Equal(t, "Its sandbox is stopped; ask to go on.", h.view(nil).Session.State.Reason)
		require.Len(t, h.carried.stopped, 2)
		h.ask("r2", "two")
	})
	h.at(2*time.Minute, func() { h.update(UpdatePause, editors.SessionParams{}) })
	h.at(3*time.Minute, func() { h.update(UpdatePause, editors.SessionParams{}) })
	events := h.finish(time.Hour, inDocker())
	require.Equal(t, []string{"1 completed", "2 completed"}, endsOf(events))
	require.Len(t, h.carried.ensured, 2)
	require.Len(t, h.carried.stopped, 3, "what is stopped is not stopped again")
}

func TestASandboxThatCannotBeStoppedIsSaid(t *testing.T) {
	h := newHarness(t)
	h.carried.stop = func(Sandbox) error { return temporal.NewNonRetryableApplicationError("no daemon", "x", nil) }
	h.at(0, func() { h.update(UpdatePause, editors.SessionParams{}) })
	h.at(time.Minute, func() { require.Equal(t, editors.StatusPaused, h.view(nil).Session.State.Status) })
	events := h.finish(time.Hour, inDocker())
	require.Contains(t, noticesOf(events)[0], "no daemon")
	require.Len(t, h.carried.stopped, 1)
}

func TestAPauseStopsWhatTheSessionHasLeftToo(t *testing.T) {
	h := newHarness(t)
	h.at(0, func() { h.switchTo("s", editors.Backend{Kind: editors.Local}) })
	h.at(time.Minute, func() { h.update(UpdatePause, editors.SessionParams{}) })
	h.finish(time.Hour, inDocker())
	require.Len(t, h.carried.stopped, 1)
	require.Equal(t, "s1", h.carried.stopped[0].ID())
}

func TestALocalSessionNeitherLooksNorStops(t *testing.T) {
	h := newHarness(t)
	h.worksOnce()
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.update(UpdatePause, editors.SessionParams{}) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Empty(t, h.carried.ensured)
	require.Empty(t, h.carried.stopped)
}

func TestAFormerSandboxThatCannotBeRemovedHoldsUpNothing(t *testing.T) {
	h := newHarness(t)
	h.carried.destroy = func(in DestroyInput) error {
		if in.Former {
			return temporal.NewApplicationError("the daemon is away", "unavailable")
		}
		return nil
	}
	h.at(0, func() { h.switchTo("s", toDocker) })
	h.at(time.Minute, func() { h.ask("r1", "one") })
	h.at(2*time.Minute, func() { h.ask("r2", "two") })
	events := h.finish(100*time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []string{"1 completed", "2 completed"}, endsOf(events))
	former := 0
	for _, in := range h.carried.destroyed {
		if in.Former {
			former++
		}
	}
	require.Equal(t, 2+5, former, "once after each turn, and with patience at the end: it is never forgotten")
}

func TestADestroyTellsWhatRemains(t *testing.T) {
	h := newHarness(t)
	h.carried.destroy = func(in DestroyInput) error {
		if !in.Former {
			return nil
		}
		return temporal.NewApplicationError("no Docker engine answers", "unavailable")
	}
	in := inDocker()
	in.State.Keeping = []Sandbox{{SessionID: "s1", Epoch: 7, HostID: "h1", Backend: toDocker}}
	var r *reply
	h.at(time.Hour, func() { r = h.update(UpdateDestroy, editors.SessionParams{}) })
	h.finish(time.Hour, in)
	require.NoError(t, r.err)
	require.Contains(t, r.value.(DestroyOutput).Remains, "could not all be removed yet: no Docker engine answers. The worker removes it")
	require.Equal(t, r.value.(DestroyOutput).Remains, h.view(nil).Session.State.Reason)
}

func TestASandboxThatIsGoneIsMadeAgainBeforeItIsLeft(t *testing.T) {
	h := newHarness(t)
	h.carried.ensure = func(in Sandbox) (EnsureOutput, error) { return EnsureOutput{Gone: in.Epoch == 1}, nil }
	var back *reply
	h.at(time.Second, func() { h.switchTo("s", toDocker) })
	h.at(time.Minute, func() { back = h.switchTo("b", editors.Backend{Kind: editors.Local}) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, back.err)
	require.Len(t, h.carried.opened, 2)
	require.Equal(t, "recover", h.carried.opened[1].Reason)
	require.Equal(t, h.carried.opened[1].Sandbox, h.carried.merged[0].From, "what comes home is what was made again")
	require.Contains(t, noticesOf(events)[1], "The sandbox was gone")
}

func restoreOf(h *harness) *reply {
	return h.update(UpdateRestore, RestoreInput{RestoreParams: editors.RestoreParams{RequestID: "n", CheckpointID: "c9"}})
}

// Whatever needs the workspace while the session rests finds it made again.
func TestASandboxThatIsGoneIsMadeAgainForWhatNeedsIt(t *testing.T) {
	gone := &Failure{Code: editors.CodeNotFound, Message: "the folder is gone"}
	for name, need := range map[string]func(*harness) *reply{
		"a fork":      func(h *harness) *reply { return h.forkPoint("n", 0) },
		"an offer":    func(h *harness) *reply { return h.update(UpdateOffer, OfferInput{RequestID: "n"}) },
		"a restore":   restoreOf,
		"an adoption": func(h *harness) *reply { return h.adopt("n", offered(), "") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			told := 0
			h.expectAdopted(nil, &told)
			h.carried.ensure = func(in Sandbox) (EnsureOutput, error) { return EnsureOutput{Gone: in.Epoch == 0}, nil }
			h.carried.picture = func(_ context.Context, in CheckpointInput) (CheckpointOutput, error) {
				if in.Epoch == 0 {
					return CheckpointOutput{Failure: gone.Message, Code: gone.Code}, nil
				}
				return CheckpointOutput{Checkpoint: &editors.Checkpoint{ID: "again"}}, nil
			}
			h.carried.restore = func(_ context.Context, in RestoreTask) (RestoreOutput, error) {
				if in.Epoch == 0 {
					return RestoreOutput{Failure: gone}, nil
				}
				return RestoreOutput{}, nil
			}
			h.carried.merge = func(_ context.Context, in MergeInput) (CarryOutput, error) {
				if in.Epoch == 0 {
					return CarryOutput{Failure: gone}, nil
				}
				return CarryOutput{Applied: true}, nil
			}
			in := inDocker()
			in.State.Session.ParentID, in.State.ForkBase = "p1", "base"
			var r *reply
			h.at(time.Second, func() { r = need(h) })
			h.at(time.Minute, func() {
				require.Equal(t, editors.StatusIdle, h.view(nil).Session.State.Status)
				require.EqualValues(t, 1, h.view(nil).Session.Epoch)
			})
			events := h.finish(time.Hour, in)
			require.NoError(t, r.err)
			require.Contains(t, noticesOf(events)[0], "The sandbox was gone; a fresh one was made from checkpoint \"After turn 3\"")
			require.Len(t, h.carried.opened, 1)
			switch v := r.value.(type) {
			case ForkPoint:
				require.Equal(t, []string{"s1.1", "again"}, []string{v.Sandbox.ID(), v.Turn.CheckpointID})
			case Offer:
				require.Equal(t, []string{"s1.1", "again"}, []string{v.Sandbox.ID(), v.CheckpointID})
			}
		})
	}
}

func TestWhatIsNotGoneIsNotMadeAgain(t *testing.T) {
	h := newHarness(t)
	h.carried.restore = func(context.Context, RestoreTask) (RestoreOutput, error) {
		return RestoreOutput{Failure: &Failure{Code: editors.CodeNotFound, Message: "there is no checkpoint c9"}}, nil
	}
	var r *reply
	h.at(time.Second, func() { r = restoreOf(h) })
	h.finish(time.Hour, inDocker())
	require.Contains(t, failureOf(t, r.err).Message, "there is no checkpoint c9")
	require.Empty(t, h.carried.opened)
	require.Len(t, h.carried.restored, 1)
}

func TestAForkThatEndsLeavesItsWorkToItsParent(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalNever)
	in.State.Session.ParentID, in.State.ForkBase, in.State.Starting, in.State.Home = "p1", "base", false, "/forks/s1/w"
	before := -1
	h.carried.picture = func(_ context.Context, p CheckpointInput) (CheckpointOutput, error) {
		before = len(h.carried.destroyed)
		return CheckpointOutput{Failure: "the disk is full"}, nil
	}
	h.finish(time.Hour, in)
	last := h.pictured[len(h.pictured)-1]
	require.Equal(t, []string{"p1", "base", "fork", `Fork "Session s1" when it was destroyed`}, []string{last.KeepFor, last.Unless, last.Reason, last.Summary})
	require.Zero(t, before, "while it is still there")
	require.Equal(t, "/forks/s1/w", h.carried.destroyed[0].Home, "and it goes also when that cannot be done")
}
