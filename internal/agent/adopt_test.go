package agent

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
)

func offered() Offer {
	return Offer{ForkID: "f1", ParentID: "s1", Base: "base", CheckpointID: "theirs", Title: "Work (fork #1)", Sandbox: Sandbox{SessionID: "f1", HostID: "h1"}}
}

func (h *harness) adopt(id string, o Offer, how editors.OnConflict) *reply {
	return h.update(UpdateAdopt, AdoptInput{RequestID: id, Offer: o, OnConflict: how})
}

// expectAdopted answers the signal to the fork with err and counts it.
func (h *harness) expectAdopted(err error, told *int) {
	h.env.OnSignalExternalWorkflow("default-test-namespace", WorkflowID("f1"), "", SignalAdopted, AdoptedSignal{CheckpointID: "theirs"}).
		Return(func(string, string, string, string, any) error { *told++; return err })
}

func TestAnAdoptionMergesIntoTheParentsPresentWorkspace(t *testing.T) {
	h := newHarness(t)
	told := 0
	h.expectAdopted(nil, &told)
	var r, again *reply
	h.at(time.Second, func() { h.switchTo("s", toDocker) })
	h.at(time.Minute, func() { r = h.adopt("a", offered(), editors.ConflictTheirs) })
	h.at(2*time.Minute, func() {
		again = h.adopt("a", offered(), editors.ConflictTheirs)
		h.ask("r", "go")
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.NoError(t, r.err)
	require.Equal(t, r.value, again.value)
	require.Equal(t, 1, told)
	m := h.carried.merged[0]
	require.Len(t, h.carried.merged, 1)
	require.Equal(t, []string{"s1.1", "base", "theirs", "f1"}, []string{m.ID(), m.Base, m.Theirs, m.From.SessionID})
	require.Equal(t, editors.ConflictTheirs, m.OnConflict)
	result := r.value.(editors.AdoptResult)
	require.Equal(t, "undo1", result.Undo)
	require.Equal(t, 2, result.Carry.Changed)
	require.Contains(t, noticesOf(events)[1], `Adopted from "Work (fork #1)": 2 files changed`)
	require.Contains(t, h.steps[0].Pending[1].Text, "Files: a, b.")
}

func TestAnAdoptionThatCannotBeChangesNothing(t *testing.T) {
	h := newHarness(t)
	told := 0
	h.expectAdopted(temporal.NewNonRetryableApplicationError("gone", "x", nil), &told)
	h.carried.merge = func(context.Context, MergeInput) (CarryOutput, error) {
		switch len(h.carried.merged) {
		case 1:
			return CarryOutput{Carry: editors.Carry{Conflicts: []editors.Skipped{{Path: "a"}}, ConflictsAll: 1}}, nil
		case 2:
			return CarryOutput{Failure: &Failure{Code: editors.CodeCorruptCheckpoint, Message: "checkpoint theirs is damaged"}}, nil
		case 3:
			return CarryOutput{}, lost()
		}
		return CarryOutput{Applied: true, CheckpointID: "merged"}, nil
	}
	stranger, far := offered(), offered()
	stranger.ParentID, far.Sandbox.HostID = "other", "h2"
	var conflict, damaged, unknown, away, well *reply
	h.at(1*time.Minute, func() { conflict = h.adopt("a", offered(), "") })
	h.at(2*time.Minute, func() { damaged = h.adopt("b", offered(), "") })
	h.at(3*time.Minute, func() { unknown, away = h.adopt("c", stranger, ""), h.adopt("d", far, "") })
	h.at(4*time.Minute, func() { h.stays(editors.Local); require.Zero(t, told) })
	h.at(5*time.Minute, func() { well = h.adopt("e", offered(), editors.ConflictMine) })
	h.at(6*time.Minute, func() { require.Equal(t, "merged", h.view(nil).Session.CheckpointID) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, "a", failureOf(t, conflict.err).Detail)
	require.Equal(t, editors.CodeCorruptCheckpoint, failureOf(t, damaged.err).Code)
	require.ErrorContains(t, unknown.rejected, "not a fork of this one")
	require.Equal(t, editors.CodeUnsupported, failureOf(t, away.rejected).Code)
	require.NoError(t, well.err, "a fork that is gone keeps nothing from being adopted")
	require.Equal(t, 1, told)
	require.Equal(t, h.carried.merged[2], h.carried.merged[3], "the same effect, when the worker was lost")
}

func TestAForkOffersWhatItsParentLacks(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalNever)
	in.State.Session.ParentID, in.State.ForkBase, in.State.Starting = "p1", "base", false
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) == 1 {
			return calls(run("c1", "sleep 60")), nil
		}
		return says("ok"), nil
	}
	var first, again, busy, second *reply
	offer := func(id string) *reply { return h.update(UpdateOffer, OfferInput{RequestID: id}) }
	h.at(time.Second, func() { first = offer("a") })
	h.at(time.Minute, func() {
		again = offer("a")
		h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{CheckpointID: "c1"})
	})
	h.tool = h.slow(func() { busy = offer("b") })
	h.at(2*time.Minute, func() { h.ask("r", "go") })
	h.at(3*time.Minute, func() { second = offer("c") })
	h.finish(time.Hour, in)
	require.Equal(t, Offer{ForkID: "s1", ParentID: "p1", Base: "base", CheckpointID: "c1", Title: "Session s1", Sandbox: h.pictured[0].Sandbox}, first.value)
	require.Equal(t, first.value, again.value)
	require.Contains(t, failureOf(t, busy.rejected).Message, "Turn 1 is running")
	require.Equal(t, "c1", second.value.(Offer).Base, "the parent has the rest")
}

func TestAForkOffersNothingThatCouldNotFollowIt(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalNever)
	in.State.Session.ParentID, in.State.ForkBase, in.State.Home, in.State.Starting = "p1", "base", "/forks/s1/w", false
	in.State.Session.Backend = editors.Backend{Kind: editors.Local, WorkspaceRoot: "/forks/s1/w"}
	h.carried.open = func(_ context.Context, in OpenInput) (CarryOutput, error) {
		return CarryOutput{Applied: true, CheckpointID: "there", Base: "cut home", Taken: "cut " + in.Taken}, nil
	}
	offer := func(id string) *reply { return h.update(UpdateOffer, OfferInput{RequestID: id}) }
	var away, further, undone, home *reply
	h.at(1*time.Minute, func() { h.switchTo("s", toDocker) })
	h.at(2*time.Minute, func() { away = offer("a") })
	h.at(3*time.Minute, func() { h.switchTo("t", editors.Backend{Kind: editors.Docker, Image: "other"}) })
	h.at(4*time.Minute, func() { further = offer("b") })
	h.at(5*time.Minute, func() {
		require.Equal(t, "cut cut base", h.view(nil).ForkBase, "what a dry run compares with")
		h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{CheckpointID: "theirs"})
		h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{CheckpointID: "cut cut base", Instead: "theirs"})
	})
	h.at(6*time.Minute, func() { undone = offer("c") })
	h.at(7*time.Minute, func() { h.switchTo("u", editors.Backend{Kind: editors.Docker, Image: "third"}) })
	h.at(8*time.Minute, func() { h.switchTo("v", editors.Backend{Kind: editors.Local}) })
	h.at(9*time.Minute, func() { home = offer("d") })
	h.finish(time.Hour, in)
	require.Equal(t, "cut base", away.value.(Offer).Base)
	require.Equal(t, "cut cut base", further.value.(Offer).Base)
	require.Equal(t, "cut cut base", undone.value.(Offer).Base)
	require.Equal(t, "cut cut base", home.value.(Offer).Base, "at home all of it has a counterpart again")
	require.Equal(t, "cut home", h.carried.merged[0].Base)
}

func TestOnlyForksOffer(t *testing.T) {
	h := newHarness(t)
	var r *reply
	h.at(time.Second, func() { r = h.update(UpdateOffer, OfferInput{}) })
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.ErrorContains(t, r.rejected, "not a fork")
}

func TestAForkLearnsWhatItsParentHasOfIt(t *testing.T) {
	h := newHarness(t)
	var told []AdoptedSignal
	h.env.OnSignalExternalWorkflow("default-test-namespace", WorkflowID("f1"), "", SignalAdopted, mock.Anything).
		Return(func(_, _, _, _ string, signal any) error { told = append(told, signal.(AdoptedSignal)); return nil })
	h.carried.merge = func(_ context.Context, in MergeInput) (CarryOutput, error) {
		out := CarryOutput{Applied: true, Undo: fmt.Sprint("undo", len(h.carried.merged))}
		if in.OnConflict == editors.ConflictMine {
			out.Carry.ConflictsAll = 1
		}
		return out, nil
	}
	back := func(to string, paths ...string) func() {
		return func() {
			h.update(UpdateRestore, RestoreInput{RestoreParams: editors.RestoreParams{CheckpointID: to, Paths: paths}})
		}
	}
	h.at(1*time.Minute, func() { h.adopt("a", offered(), editors.ConflictMine) })
	h.at(2*time.Minute, func() { h.adopt("b", offered(), "") })
	h.at(3*time.Minute, back("undo2", "a"))
	h.at(4*time.Minute, back("undo2"))
	h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Equal(t, []AdoptedSignal{{CheckpointID: "theirs"}, {CheckpointID: "base", Instead: "theirs"}}, told,
		"what was kept by a decision is offered again, and so is what was undone as a whole")
}

func TestAForkBelievesNoOlderNews(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalNever)
	in.State.Session.ParentID, in.State.ForkBase, in.State.Starting = "p1", "c2", false
	h.at(time.Second, func() { h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{CheckpointID: "c0", Instead: "c1"}) })
	h.at(time.Minute, func() { require.Equal(t, "c2", h.view(nil).ForkBase) })
	h.at(2*time.Minute, func() { h.env.SignalWorkflow(SignalAdopted, AdoptedSignal{CheckpointID: "c1", Instead: "c2"}) })
	h.at(3*time.Minute, func() { require.Equal(t, "c1", h.view(nil).ForkBase) })
	h.finish(time.Hour, in)
}

func TestConflictsThatAreLeftAreToldWithTheirReasons(t *testing.T) {
	held := []editors.Skipped{{Path: "a", Reason: "it has unsaved changes in the editor"}, {Path: "b"}}
	for told, carry := range map[string]editors.Carry{
		"": {Changed: 2},
		"; 1 conflict, where the version that was here stays: a (it has unsaved changes in the editor)":                {Conflicts: held[:1], ConflictsAll: 1},
		"; 9 conflicts, where the version that was here stays: a (it has unsaved changes in the editor), b and 7 more": {Conflicts: held, ConflictsAll: 9},
	} {
		require.Equal(t, told, undecided(carry))
	}
}
