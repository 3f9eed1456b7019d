package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// stays requires that a session has not moved and is idle.
func (h *harness) stays(b editors.BackendKind) {
	s := h.view(nil).Session
	require.Equal(h, b, s.Backend.Kind)
	require.Zero(h, s.Epoch)
	require.Equal(h, editors.StatusIdle, s.State.Status)
}

func TestASwitchThatFailsAnywhereLeavesTheSessionWhereItWas(t *testing.T) {
	daemon := &Failure{Code: editors.CodeBackendUnavailable, Message: "The Docker daemon does not answer.", Remedy: "Start it."}
	failures := []struct {
		name   string
		code   editors.Code
		says   string
		doomed int
		set    func(*carried)
	}{
		{"no checkpoint", editors.CodeLimit, "too large", 0, func(c *carried) {
			c.picture = func(context.Context, CheckpointInput) (CheckpointOutput, error) {
				return CheckpointOutput{Failure: "The folder is too large.", Code: editors.CodeLimit}, nil
			}
		}},
		{"a checkpoint that lacks something", editors.CodeConflict, "2 paths could not be read and would be left behind: secret and 1 more", 0, func(c *carried) {
			c.picture = func(context.Context, CheckpointInput) (CheckpointOutput, error) {
				return CheckpointOutput{Checkpoint: &editors.Checkpoint{ID: "p"}, Missing: []editors.Skipped{{Path: "secret"}}, MissingAll: 2}, nil
			}
		}},
		{"no checkpoints at all", editors.CodeUnsupported, "keeps no checkpoints", 0, func(c *carried) {
			c.picture = func(context.Context, CheckpointInput) (CheckpointOutput, error) { return CheckpointOutput{}, nil }
		}},
		{"the checkpoint's worker is lost", editors.CodeWorkerUnavailable, "no worker", 0, func(c *carried) {
			c.picture = func(context.Context, CheckpointInput) (CheckpointOutput, error) { return CheckpointOutput{}, lost() }
		}},
		{"no sandbox", editors.CodeBackendUnavailable, "daemon", 1, func(c *carried) {
			c.open = func(context.Context, OpenInput) (CarryOutput, error) { return CarryOutput{Failure: daemon}, nil }
		}},
		{"a damaged checkpoint", editors.CodeCorruptCheckpoint, "damaged", 1, func(c *carried) {
			c.open = func(context.Context, OpenInput) (CarryOutput, error) {
				return CarryOutput{}, temporal.NewNonRetryableApplicationError("it is damaged", string(editors.CodeCorruptCheckpoint), nil)
			}
		}},
		{"a worker that dies again and again", editors.CodeWorkerUnavailable, "again and again", 1, func(c *carried) {
			c.open = func(context.Context, OpenInput) (CarryOutput, error) { return CarryOutput{}, lost() }
		}},
	}
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			h := newHarness(t)
			f.set(&h.carried)
			var r, again *reply
			h.at(time.Minute, func() { r = h.switchTo("s", toDocker) })
			h.at(time.Hour, func() {
				h.stays(editors.Local)
				require.Empty(t, h.view(nil).Base)
				again = h.switchTo("s", toDocker)
			})
			events := h.finish(2*time.Hour, testSession(editors.ApprovalNever))
			failed := failureOf(t, r.err)
			require.Equal(t, f.code, failed.Code)
			require.Contains(t, failed.Message, f.says)
			require.Equal(t, failed, failureOf(t, again.err), "the same request has the same outcome")
			notices := noticesOf(events)
			require.Contains(t, notices[len(notices)-1], "The session stays in the folder /w; it could not move to docker (image debian:12): ")
			require.Empty(t, ofType(events, editors.BackendChanged))
			require.Len(t, h.carried.destroyed, 1+f.doomed, "what may be left of the new sandbox is removed")
			require.LessOrEqual(t, len(h.carried.opened), repeatTries)
			for _, in := range h.carried.opened {
				require.Equal(t, h.carried.opened[0], in, "it is the same effect")
			}
		})
	}
}

func TestASwitchOutlivesWorkersAndTheirAbsence(t *testing.T) {
	h := newHarness(t)
	h.carried.open = func(context.Context, OpenInput) (CarryOutput, error) {
		switch len(h.carried.opened) {
		case 1:
			return CarryOutput{}, lost()
		case 2:
			return CarryOutput{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		case 3:
			return CarryOutput{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil)
		}
		return CarryOutput{Carry: editors.Carry{Added: 1}, CheckpointID: "x", Base: "as carried"}, nil
	}
	var r *reply
	h.at(time.Minute, func() { r = h.switchTo("s", toDocker) })
	h.at(time.Hour, func() { require.Equal(t, "as carried", h.view(nil).Base, "what was left out is not taken for removed") })
	events := h.finish(2*time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, r.err)
	require.Len(t, h.carried.opened, 4)
	require.Contains(t, statesOf(events), "recovering "+reasonAway)
	require.Len(t, ofType(events, editors.BackendChanged), 1)
}

func TestRequestsWaitWhileASessionMoves(t *testing.T) {
	h := newHarness(t)
	var asked, interrupted, restored *reply
	h.carried.open = func(context.Context, OpenInput) (CarryOutput, error) {
		h.meanwhile(func() {
			require.Equal(t, editors.StatusSwitching, h.view(nil).Session.State.Status)
			asked = h.ask("r", "go")
			interrupted = h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1})
			restored = h.update(UpdateRestore, RestoreInput{RestoreParams: editors.RestoreParams{CheckpointID: "c1"}})
		})
		return CarryOutput{CheckpointID: "x"}, nil
	}
	h.at(time.Minute, func() { h.switchTo("s", toDocker) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.True(t, asked.value.(editors.AskResult).Queued)
	require.ErrorContains(t, interrupted.rejected, "switching")
	require.ErrorContains(t, restored.rejected, "Turn 1 is about to run")
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Equal(t, editors.Docker, h.steps[0].Backend.Kind)
}

func TestDestroyEndsASwitchAndWhatItHasMade(t *testing.T) {
	h := newHarness(t)
	h.carried.open = func(ctx context.Context, _ OpenInput) (CarryOutput, error) {
		h.meanwhile(func() { h.update(UpdateDestroy, editors.SessionParams{SessionID: "s1"}) })
		if pause(ctx) != nil {
			return CarryOutput{}, temporal.NewCanceledError()
		}
		return CarryOutput{}, nil
	}
	var first, second *reply
	h.at(time.Minute, func() { first, second = h.switchTo("s", toDocker), h.switchTo("t", editors.Backend{Kind: editors.E2B}) })
	h.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalNever))
	require.NoError(t, h.env.GetWorkflowError())
	require.ErrorContains(t, first.err, "destroyed")
	require.ErrorContains(t, second.err, "destroyed")
	require.Len(t, h.carried.opened, 1)
	var gone []string
	for _, d := range h.carried.destroyed {
		gone = append(gone, d.ID())
	}
	require.ElementsMatch(t, []string{"s1.1", "s1"}, gone)
	require.Equal(t, 1, h.killed)
}

func TestOperationsAreOrderedAndOutliveContinueAsNew(t *testing.T) {
	first := newHarness(t)
	first.carried.open = func(context.Context, OpenInput) (CarryOutput, error) {
		first.meanwhile(func() { first.env.SetCurrentHistoryLength(rollEvents + 1) })
		return CarryOutput{Carry: editors.Carry{Added: 3}, CheckpointID: "x"}, nil
	}
	var moved, back *reply
	first.at(time.Minute, func() {
		moved, back = first.switchTo("a", toDocker), first.switchTo("b", editors.Backend{Kind: editors.Local})
	})
	first.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalNever))
	in := first.rolled()
	require.NoError(t, moved.err, "what was under way has ended")
	require.Equal(t, ErrTypeDraining, typeOf(t, back.err), "who asks is to ask again")
	require.Len(t, in.State.Ops, 1)

	second := newHarness(t)
	var again, once *reply
	second.at(time.Second, func() {
		again, once = second.switchTo("a", toDocker), second.switchTo("b", editors.Backend{Kind: editors.Local})
	})
	events := second.finish(time.Hour, in)
	require.Equal(t, moved.value, again.value)
	require.NoError(t, once.err)
	require.Equal(t, editors.Local, once.value.(editors.SwitchResult).Backend.Kind)
	require.Len(t, second.carried.merged, 1)
	require.Len(t, ofType(events, editors.BackendChanged), 2)
}

func typeOf(t *testing.T, err error) string {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	return app.Type()
}

func TestBadSwitchesAreRefused(t *testing.T) {
	bad := map[string]SwitchInput{
		"already":       {SwitchParams: editors.SwitchParams{Backend: editors.Backend{Kind: editors.Local, WorkspaceRoot: "/w"}}},
		"must be local": {SwitchParams: editors.SwitchParams{Backend: editors.Backend{Kind: "cloud"}}},
		"no meaning":    {SwitchParams: editors.SwitchParams{Backend: editors.Backend{Kind: editors.Local, Image: "x"}}},
		"local only":    {SwitchParams: editors.SwitchParams{Backend: editors.Backend{Kind: editors.Docker, WorkspaceRoot: "/x"}}},
		"absolute":      {SwitchParams: editors.SwitchParams{Backend: editors.Backend{Kind: editors.Local, WorkspaceRoot: "x"}}},
		"dry run":       {SwitchParams: editors.SwitchParams{Backend: toDocker, DryRun: true}},
		"onConflict":    {SwitchParams: editors.SwitchParams{Backend: toDocker, OnConflict: "guess"}},
		"not the last":  {SwitchParams: editors.SwitchParams{Backend: toDocker, ExpectedTurnID: 7}},
		"requestId":     {SwitchParams: editors.SwitchParams{Backend: toDocker, RequestID: strings.Repeat("r", 200)}},
		"name fewer":    {SwitchParams: editors.SwitchParams{Backend: toDocker}, Held: map[string]string{"a": strings.Repeat("x", maxOpBytes)}},
	}
	h := newHarness(t)
	replies := map[string]*reply{}
	h.at(time.Minute, func() {
		for says, in := range bad {
			replies[says] = h.update(UpdateSwitch, in)
		}
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	for says, r := range replies {
		require.ErrorContains(t, r.rejected, says)
	}
	require.Len(t, events, 2)
}

func TestAnotherImageAndAnotherFolderAreOtherPlaces(t *testing.T) {
	h := newHarness(t)
	h.carried.open = func(_ context.Context, in OpenInput) (CarryOutput, error) {
		return CarryOutput{CheckpointID: "x", Base: in.Base + "'"}, nil
	}
	places := []editors.Backend{toDocker, {Kind: editors.Docker, Image: "alpine"}, {Kind: editors.Local, WorkspaceRoot: "/other"}, {Kind: editors.Local}}
	for i, b := range places {
		h.at(time.Duration(i+1)*time.Minute, func() { h.switchTo("", b) })
	}
	h.at(10*time.Minute, func() {
		v := h.view(nil)
		require.EqualValues(t, 4, v.Session.Epoch)
		require.Equal(t, editors.Backend{Kind: editors.Local}, v.Session.Backend)
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Len(t, ofType(events, editors.BackendChanged), 4)
	require.Len(t, h.carried.opened, 3)
	for i, in := range h.carried.opened {
		require.Equal(t, "c2"+strings.Repeat("'", i), in.Base, "the user's own tree, as far as it has come along")
	}
	require.Equal(t, "/other", h.carried.opened[2].Backend.WorkspaceRoot)
	require.Equal(t, "c2'''", h.carried.merged[0].Base)
}

func TestASessionThatBeganElsewhereComesHomeByAMerge(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalNever)
	in.State.Session.Backend = toDocker
	h.at(time.Minute, func() { h.switchTo("s", editors.Backend{Kind: editors.Local}) })
	h.finish(time.Hour, in)
	require.Empty(t, h.carried.opened)
	require.Equal(t, "c1", h.carried.merged[0].Base, "it began as a copy of the folder")
}

func TestWhatMovesAgainAndAgainStaysSmall(t *testing.T) {
	h := newHarness(t)
	for i := range 120 {
		b := toDocker
		if i%2 == 1 {
			b = editors.Backend{Kind: editors.Local}
		}
		h.at(time.Duration(i+1)*time.Minute, func() { require.NoError(t, h.switchTo(fmt.Sprint(i), b).rejected) })
	}
	h.at(3*time.Hour, func() {
		h.env.SetCurrentHistoryLength(rollEvents + 1)
		h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{})
	})
	h.env.ExecuteWorkflow(WorkflowName, testSession(editors.ApprovalNever))
	in := h.rolled()
	require.EqualValues(t, 120, in.State.Session.Epoch)
	require.Len(t, in.State.Former, maxFormer)
	require.Empty(t, in.State.Doomed)
	require.Len(t, h.carried.destroyed, 120-maxFormer)
	require.LessOrEqual(t, len(in.State.Pending), maxNotes)
	require.LessOrEqual(t, len(in.State.Items), sealAboveItems)
	require.Less(t, size(in), 400<<10)
}

func TestARestoreTellsTheUserAndTheModel(t *testing.T) {
	h := newHarness(t)
	var r, again *reply
	ask := RestoreInput{RestoreParams: editors.RestoreParams{RequestID: "x", CheckpointID: "c1", Paths: []string{"a"}}, Held: map[string]string{"b": "unsaved"}}
	h.at(time.Minute, func() { r = h.update(UpdateRestore, ask) })
	h.at(2*time.Minute, func() {
		again = h.update(UpdateRestore, ask)
		require.Equal(t, "c2", h.view(nil).Session.CheckpointID, "what is there afterwards has a checkpoint")
		h.ask("r", "go")
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, r.err)
	require.Equal(t, r.value, again.value)
	require.Equal(t, "undo", r.value.(editors.RestoreResult).Undo)
	require.Equal(t, []RestoreTask{{Sandbox: h.carried.restored[0].Sandbox, Restore: ask, Effect: "s1-op1"}}, h.carried.restored)
	require.Equal(t, []string{`Restored 3 files to checkpoint "After turn 1"; 2 files stay: b (it has unsaved changes in an editor), d. To go back, restore the checkpoint that was taken before (undo).`}, noticesOf(events))
	require.Contains(t, h.steps[0].Pending[0].Text, "earlier state: a, b, c.")
	require.Contains(t, statesOf(events), "running Restoring a checkpoint.")
	require.Equal(t, "undo", ofType(events, editors.CheckpointCreated)[1].Checkpoint.ID)
}

func TestARestoreThatFailsChangesNothing(t *testing.T) {
	h := newHarness(t)
	h.carried.restore = func(context.Context, RestoreTask) (RestoreOutput, error) {
		if len(h.carried.restored) == 1 {
			return RestoreOutput{}, lost()
		}
		return RestoreOutput{Failure: &Failure{Code: editors.CodeCorruptCheckpoint, Message: "checkpoint c1 is damaged"}}, nil
	}
	var r *reply
	h.at(time.Minute, func() {
		r = h.update(UpdateRestore, RestoreInput{RestoreParams: editors.RestoreParams{CheckpointID: "c1"}})
	})
	h.at(2*time.Minute, func() { h.stays(editors.Local) })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, editors.CodeCorruptCheckpoint, failureOf(t, r.err).Code)
	require.Equal(t, []string{"Checkpoint c1 was not restored: checkpoint c1 is damaged."}, noticesOf(events))
	require.Equal(t, h.carried.restored[0], h.carried.restored[1])
}

func TestALongRestoreIsToldInPart(t *testing.T) {
	long := editors.RestoreResult{Undo: "u", Reasons: map[string]string{}}
	for i := range 2000 {
		path := fmt.Sprint("directory/file", i)
		long.Restored = append(long.Restored, path)
		long.Conflicts = append(long.Conflicts, path)
		long.Reasons[path] = "changed"
	}
	cut := cutRestore(long)
	require.True(t, cut.Truncated)
	require.Less(t, size(cut), 3*maxListSize)
	require.Len(t, cut.Reasons, len(cut.Conflicts))
}

func TestAForkOfNowWaitsForWhatIsBeingDone(t *testing.T) {
	h := newHarness(t)
	var point *reply
	h.carried.open = func(context.Context, OpenInput) (CarryOutput, error) {
		h.meanwhile(func() { point = h.forkPoint("x", 0) })
		return CarryOutput{CheckpointID: "x"}, nil
	}
	h.at(time.Minute, func() { h.switchTo("s", toDocker) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, point.err)
	require.Equal(t, "s1.1", point.value.(ForkPoint).Sandbox.ID())
}

func TestWhatWasAllowedInOnePlaceIsNotAllowedInAnother(t *testing.T) {
	h := newHarness(t)
	in := inDocker()
	in.State.Rules = []policy.Rule{{Tool: "exec_command", Pattern: "make"}}
	var there, here *reply
	h.at(1*time.Minute, func() { h.switchTo("a", editors.Backend{Kind: editors.Docker, Image: "other"}) })
	h.at(2*time.Minute, func() { there = h.forkPoint("", 0) })
	h.at(3*time.Minute, func() { h.switchTo("b", editors.Backend{Kind: editors.Local}) })
	h.at(4*time.Minute, func() { here = h.forkPoint("", 0) })
	events := h.finish(time.Hour, in)
	require.Len(t, there.value.(ForkPoint).Rules, 1, "another image is no other place in this")
	require.Empty(t, here.value.(ForkPoint).Rules)
	require.NotContains(t, noticesOf(events)[0], "asked again")
	require.Contains(t, noticesOf(events)[1], "what you always allowed there is asked again here")
}

func TestAnAbsentHostIsSaidAndForgottenOverContinueAsNew(t *testing.T) {
	first := newHarness(t)
	away := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	first.carried.picture = func(context.Context, CheckpointInput) (CheckpointOutput, error) { return CheckpointOutput{}, away }
	first.env.OnActivity(ActivityPing, mockAny).Return(away).After(time.Hour)
	first.at(time.Minute, func() { require.Equal(t, reasonAway, first.view(nil).Session.State.Reason) })
	first.at(2*time.Minute, func() {
		first.env.SetCurrentHistoryLength(rollEvents + 1)
		first.env.SignalWorkflow(SignalAdopted, AdoptedSignal{})
	})
	in := testSession(editors.ApprovalNever)
	in.State.Session.State.Status = editors.StatusIdle
	first.env.ExecuteWorkflow(WorkflowName, in)
	in = first.rolled()
	require.True(t, in.State.Starting)

	second := newHarness(t)
	second.at(time.Minute, func() {
		v := second.view(nil)
		require.Equal(t, editors.StatusIdle, v.Session.State.Status)
		require.Equal(t, "c1", v.Session.CheckpointID)
	})
	second.finish(time.Hour, in)
}
