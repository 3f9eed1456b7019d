package agent

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
)

// carried is what the harness's sandboxes were asked, and how they answer. An answer that is nil succeeds.
type carried struct {
	opened    []OpenInput
	merged    []MergeInput
	restored  []RestoreTask
	found     []FindInput
	ensured   []Sandbox
	stopped   []Sandbox
	destroyed []DestroyInput

	open    func(context.Context, OpenInput) (CarryOutput, error)
	merge   func(context.Context, MergeInput) (CarryOutput, error)
	restore func(context.Context, RestoreTask) (RestoreOutput, error)
	find    func(FindInput) (ForkPoint, error)
	ensure  func(Sandbox) (EnsureOutput, error)
	stop    func(Sandbox) error
	destroy func(DestroyInput) error
	picture func(context.Context, CheckpointInput) (CheckpointOutput, error)
}

func (h *harness) registerCarrying(register func(string, any)) {
	c := &h.carried
	register(ActivityOpenCarried, func(ctx context.Context, in OpenInput) (CarryOutput, error) {
		record(h, &c.opened, in)
		if c.open != nil {
			return c.open(ctx, in)
		}
		return CarryOutput{Carry: editors.Carry{Added: 120}, CheckpointID: "opened-" + in.ID(), Applied: true}, nil
	})
	register(ActivityMergeInto, func(ctx context.Context, in MergeInput) (CarryOutput, error) {
		record(h, &c.merged, in)
		if c.merge != nil {
			return c.merge(ctx, in)
		}
		return CarryOutput{
			Carry:   editors.Carry{Changed: 2, Merged: 1, Files: []editors.FileChange{{Path: "a", Kind: "changed"}, {Path: "b", Kind: "merged"}}},
			Applied: true, Undo: fmt.Sprint("undo", len(c.merged)),
		}, nil
	})
	register(ActivityRestore, func(ctx context.Context, in RestoreTask) (RestoreOutput, error) {
		record(h, &c.restored, in)
		if c.restore != nil {
			return c.restore(ctx, in)
		}
		result := editors.RestoreResult{
			Restored: []string{"a", "b", "c"}, Conflicts: []string{"b"}, Kept: []string{"d"}, Reasons: map[string]string{"b": "it has unsaved changes in an editor"}, Undo: "undo",
		}
		return RestoreOutput{Result: result, Summary: "After turn 1"}, nil
	})
	register(ActivityFindForkPoint, func(_ context.Context, in FindInput) (ForkPoint, error) {
		record(h, &c.found, in)
		return c.find(in)
	})
	register(ActivityEnsureSandbox, func(_ context.Context, in Sandbox) (EnsureOutput, error) {
		record(h, &c.ensured, in)
		if c.ensure != nil {
			return c.ensure(in)
		}
		return EnsureOutput{}, nil
	})
	register(ActivityStopSandbox, func(_ context.Context, in Sandbox) error {
		record(h, &c.stopped, in)
		if c.stop != nil {
			return c.stop(in)
		}
		return nil
	})
	register(ActivityDestroySandbox, func(_ context.Context, in DestroyInput) error {
		record(h, &c.destroyed, in)
		if !in.Former {
			h.killed++
		}
		if c.destroy != nil {
			return c.destroy(in)
		}
		return nil
	})
}

var toDocker = editors.Backend{Kind: editors.Docker, Image: "debian:12"}

func (h *harness) switchTo(id string, b editors.Backend) *reply {
	return h.update(UpdateSwitch, SwitchInput{SwitchParams: editors.SwitchParams{RequestID: id, Backend: b}})
}

// lost is how an activity ends whose worker stops.
func lost() error {
	return temporal.NewNonRetryableApplicationError("stopped", ErrTypeWorkerStopped, nil)
}

// failureOf is the failure that an update ended with.
func failureOf(t *testing.T, err error) Failure {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	var f Failure
	require.NoError(t, app.Details(&f))
	require.Equal(t, string(f.Code), app.Type())
	return f
}

func noticesOf(events []editors.EventMessage) []string {
	var out []string
	for _, i := range itemsOf(events, editors.Notice) {
		out = append(out, i.Text)
	}
	return out
}

func statesOf(events []editors.EventMessage) []string {
	var out []string
	for _, e := range ofType(events, editors.StateChanged) {
		out = append(out, string(e.State.Status)+" "+e.State.Reason)
	}
	return out
}

func TestASwitchMovesTheSessionAndSaysSo(t *testing.T) {
	h := newHarness(t)
	var r *reply
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { r = h.switchTo("s", toDocker) })
	h.at(2*time.Minute, func() {
		v := h.view(nil)
		require.Equal(t, toDocker, v.Session.Backend)
		require.EqualValues(t, 1, v.Session.Epoch)
		require.Equal(t, "opened-s1.1", v.Session.CheckpointID)
		require.Equal(t, "c2", v.Base, "the way back is compared with what was carried away")
		require.Equal(t, editors.StatusIdle, v.Session.State.Status)
		require.Empty(t, h.carried.destroyed, "the folder's sandbox is kept until a turn has succeeded")
		h.ask("r2", "two")
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, r.err)
	result := r.value.(editors.SwitchResult)
	require.Equal(t, toDocker, result.Backend)
	require.Equal(t, 120, result.Carry.Added)
	require.False(t, result.Queued)
	last := editors.EventMessage{}
	for _, e := range events {
		if e.Seq == result.Seq {
			last = e
		}
	}
	require.Equal(t, editors.StateChanged, last.Event.Type, "the answer counts all that the switch has caused")

	in := h.carried.opened[0]
	require.Equal(t, "c2", in.CheckpointID)
	require.Equal(t, "c2", in.Base)
	require.Equal(t, "s1.1", in.ID())
	require.Equal(t, "s1", in.From.ID())
	require.Equal(t, "s1-op1", in.Effect)
	require.Equal(t, "switch", h.pictured[1].Reason)
	require.Equal(t, toDocker, *ofType(events, editors.BackendChanged)[0].Backend)
	require.Contains(t, statesOf(events), "switching Taking a checkpoint before moving to docker (image debian:12).")
	require.Equal(t, []string{"Now runs in docker (image debian:12): 120 files carried; packages, running processes and background commands did not travel."}, noticesOf(events))
	pending := h.steps[1].Pending
	require.Len(t, pending, 2)
	require.Contains(t, pending[0].Text, "now in docker (image debian:12)")
	require.True(t, pending[0].Note)
	require.Equal(t, "two", pending[1].Text)
	require.Equal(t, DestroyInput{Sandbox: in.From, Former: true}, h.carried.destroyed[0], "a turn has succeeded")
	require.Len(t, h.carried.destroyed, 2)
}

func TestASwitchWaitsForTheRunningTurnAndKeepsItsPlace(t *testing.T) {
	h := newHarness(t)
	var wrong, queued, again, refused *reply
	h.tool = h.slow(func() {
		h.ask("r2", "two")
		queued = h.switchTo("s", toDocker)
		again = h.switchTo("s", toDocker)
		h.ask("r3", "three")
		wrong = h.update(UpdateSwitch, SwitchInput{SwitchParams: editors.SwitchParams{Backend: toDocker, ExpectedTurnID: 1}})
		refused = h.update(UpdateRestore, RestoreInput{RestoreParams: editors.RestoreParams{CheckpointID: "c1"}})
	})
	h.model = func(in ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.True(t, queued.value.(editors.SwitchResult).Queued)
	require.Equal(t, 2, queued.value.(editors.SwitchResult).AfterTurnID)
	require.Equal(t, queued.value, again.value)
	require.ErrorContains(t, wrong.rejected, "Turn 1 is running")
	require.Equal(t, editors.CodeBusy, failureOf(t, refused.rejected).Code)
	require.Len(t, h.carried.opened, 1)
	var order []string
	for _, e := range events {
		switch e.Event.Type {
		case editors.TurnStarted:
			order = append(order, fmt.Sprint("turn ", e.Event.TurnID))
		case editors.BackendChanged:
			order = append(order, "moved")
		}
	}
	require.Equal(t, []string{"turn 1", "turn 2", "moved", "turn 3"}, order, "in the order of arrival")
	require.Equal(t, []string{"1 completed", "2 completed", "3 completed"}, endsOf(events))
	require.Equal(t, editors.Local, h.steps[2].Backend.Kind)
	require.Equal(t, editors.Docker, h.steps[3].Backend.Kind)
}

func TestASwitchBackMergesIntoTheFolder(t *testing.T) {
	h := newHarness(t)
	var back, same *reply
	h.at(0, func() { h.switchTo("a", toDocker) })
	h.at(time.Minute, func() {
		back = h.update(UpdateSwitch, SwitchInput{
			SwitchParams: editors.SwitchParams{RequestID: "b", Backend: editors.Backend{Kind: editors.Local, WorkspaceRoot: "/w/"}, OnConflict: editors.ConflictMine},
			Held:         map[string]string{"a": "unsaved"},
		})
	})
	h.at(2*time.Minute, func() {
		v := h.view(nil)
		require.Equal(t, editors.Backend{Kind: editors.Local}, v.Session.Backend, "the own folder has one name")
		require.Empty(t, v.Base)
		require.EqualValues(t, 2, v.Session.Epoch)
		same = h.switchTo("c", editors.Backend{Kind: editors.Local})
		h.ask("r", "go")
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, back.err)
	require.Equal(t, "undo1", back.value.(editors.SwitchResult).Undo)
	require.ErrorContains(t, same.rejected, "already")
	m := h.carried.merged[0]
	require.Equal(t, "c2", m.Base)
	require.Equal(t, "c3", m.Theirs)
	require.Equal(t, "s1.2", m.ID())
	require.Equal(t, "s1.1", m.From.ID())
	require.Equal(t, editors.ConflictMine, m.OnConflict)
	require.Equal(t, map[string]string{"a": "unsaved"}, m.Held)
	require.Contains(t, noticesOf(events)[1], "Now runs in the folder /w: 2 files changed (1 of the changed with the changes of both sides)")
	require.Contains(t, noticesOf(events)[1], "restore the checkpoint that was taken before (undo1)")
	var gone []string
	for _, d := range h.carried.destroyed {
		gone = append(gone, fmt.Sprint(d.ID(), " ", d.Former))
	}
	require.Equal(t, []string{"s1 true", "s1.1 true", "s1.2 false"}, gone)
}

func TestConflictsChangeNothingUntilDecided(t *testing.T) {
	h := newHarness(t)
	h.carried.merge = func(context.Context, MergeInput) (CarryOutput, error) {
		return CarryOutput{Carry: editors.Carry{Conflicts: []editors.Skipped{{Path: "main.go", Reason: "both"}}, ConflictsAll: 1}}, nil
	}
	var back *reply
	h.at(0, func() { h.switchTo("a", toDocker) })
	h.at(time.Minute, func() { back = h.switchTo("b", editors.Backend{Kind: editors.Local}) })
	h.at(2*time.Minute, func() {
		require.Equal(t, toDocker, h.view(nil).Session.Backend)
		require.Equal(t, editors.StatusIdle, h.view(nil).Session.State.Status)
		require.Equal(t, "c2", h.view(nil).Base)
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	f := failureOf(t, back.err)
	require.Equal(t, editors.CodeConflict, f.Code)
	require.Contains(t, f.Detail, "main.go")
	require.Contains(t, f.Remedy, "mine")
	require.Contains(t, noticesOf(events)[1], "The session stays in docker (image debian:12)")
	require.Contains(t, noticesOf(events)[1], "main.go")
}
