// This file brings what a fork has changed into its parent's workspace: the fork makes an offer, the parent takes it.

package agent

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// maxAdoptions bounds how many adoptions can be undone so that the fork knows.
const maxAdoptions = 20

func (s *session) validateOffer(in OfferInput) error {
	if s.answered(opKey(UpdateOffer, in.RequestID)) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if s.Session.ParentID == "" || s.ForkBase == "" {
		return refuse(ErrTypeConflict, "This session is not a fork: there is nothing it could give to a parent.")
	}
	return s.admitAside(in.RequestID)
}

// admitAside refuses what pictures the workspace while something is done to it.
func (s *session) admitAside(requestID string) error {
	if len(requestID) > editors.MaxRequestID {
		return refuse(ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	}
	if len(s.Ops) > 0 {
		return Failure{Code: editors.CodeBusy, Message: "The session is busy: " + s.Session.State.Reason, Remedy: "Wait for its end."}.Refusal()
	}
	return s.busy()
}

// offer pictures a fork's workspace for its parent.
func (s *session) offer(ctx workflow.Context, in OfferInput) (Offer, error) {
	key := opKey(UpdateOffer, in.RequestID)
	var out Offer
	if s.recall(key, &out) {
		return out, nil
	}
	var f *Failure
	s.aside(ctx, func(ctx workflow.Context) {
		var now CheckpointOutput
		now, f = s.pictureNow(ctx, "offer", "Offered to the parent")
		if f == nil {
			out = Offer{
				ForkID: s.Session.ID, ParentID: s.Session.ParentID, Base: s.taken(), CheckpointID: now.Checkpoint.ID,
				Title: s.Session.Title, Sandbox: s.sandbox(),
			}
			s.remember(key, out)
		}
	})
	return out, s.asideError(f)
}

// asideError is what a handler answers whose work beside the main loop has failed, perhaps because the run ends.
func (s *session) asideError(f *Failure) error {
	if f == nil {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	return f.Refusal()
}

// pictureNow takes a checkpoint beside the main loop, of the workspace as it is: nothing changes it meanwhile but its user.
func (s *session) pictureNow(ctx workflow.Context, reason, summary string) (out CheckpointOutput, f *Failure) {
	s.picturing++
	defer func() { s.picturing-- }()
	effect := fmt.Sprintf("%s-%s%d", s.Session.ID, reason, s.NextOp)
	s.NextOp++
	epoch := s.Session.Epoch
	f = s.there(ctx, func() *Failure {
		out = s.picture(ctx, picture{turn: s.Session.TurnID, summary: summary, effect: effect, reason: reason, quiet: true})
		return needed(ctx, out)
	})
	if s.Session.Epoch != epoch && s.idle() {
		s.rest(ctx) // it was made again
	}
	return out, f
}

func (s *session) validateAdopt(in AdoptInput) error {
	if s.known(opKey(UpdateAdopt, in.RequestID)) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	switch o := in.Offer; {
	case o.ParentID != s.Session.ID:
		return refuse(ErrTypeConflict, "Session %s is not a fork of this one.", o.ForkID)
	case o.CheckpointID == "" || o.Base == "":
		return refuse(ErrTypeInvalid, "The offer names no checkpoints.")
	case o.Sandbox.HostID != s.Session.HostID:
		return Failure{Code: editors.CodeUnsupported, Message: "the fork is on another host, whose checkpoints are not here"}.Refusal()
	}
	if err := checkOnConflict(in.OnConflict); err != nil {
		return err
	}
	if err := s.busy(); err != nil {
		return err
	}
	return s.admitOp(in.RequestID, in)
}

// adopt brings a fork's changes here and answers when they are.
func (s *session) adopt(ctx workflow.Context, in AdoptInput) (editors.AdoptResult, error) {
	out, err := perform[editors.AdoptResult](ctx, s, Op{Key: opKey(UpdateAdopt, in.RequestID), Adopt: &in})
	out.Result.Seq = out.Seq
	return out.Result, err
}

// take carries out an adoption.
func (s *session) take(ctx workflow.Context, op Op) (editors.AdoptResult, *Failure) {
	o := op.Adopt.Offer
	fork := fmt.Sprintf("%q", preview(o.Title, maxName))
	s.setState(ctx, editors.StatusRunning, "Adopting what "+fork+" has changed.")
	what := "adopting from " + fork
	var out CarryOutput
	f := s.there(ctx, func() (f *Failure) {
		out, f = s.carry(ctx, what, ActivityMergeInto, MergeInput{
			Sandbox: s.sandbox(), From: o.Sandbox, Base: o.Base, Theirs: o.CheckpointID, OnConflict: op.Adopt.OnConflict, Held: op.Adopt.Held,
			Effect: s.effect(op, ""), TurnID: s.Session.TurnID, Summary: "Before adopting from " + fork,
		})
		return f
	})
	if f == nil && !out.Applied {
		conflicts := ConflictFailure(what, out.Carry)
		f = &conflicts
	}
	result := editors.AdoptResult{SessionID: s.Session.ID, Carry: cutCarry(out.Carry), Undo: out.Undo}
	switch {
	case s.destroying:
		return result, f
	case f != nil:
		s.notice(ctx, s.Session.TurnID, fmt.Sprintf("Nothing was adopted from %s: %s", fork, f.sentence()))
		return result, f
	}
	s.took(ctx, op, fork, out)
	return result, nil
}

// took tells the user, the model and the fork what was adopted.
func (s *session) took(ctx workflow.Context, op Op, fork string, out CarryOutput) {
	if out.Undo != "" {
		s.tellPicture(ctx, out.Undo, "Before adopting from "+fork)
	}
	if s.holds(out, "After adopting from "+fork); out.CheckpointID == "" {
		s.pictureAfter(ctx, op, "adopt", "After adopting from "+fork)
	}
	text := came(out.Carry) + leftOut(out.Carry) + undecided(out.Carry)
	s.notice(ctx, s.Session.TurnID, fmt.Sprintf("Adopted from %s: %s%s", fork, text, undoHint(out.Undo)))
	s.note(fmt.Sprintf("The user has brought in what another session had changed: %s. Files: %s. Read them again before you rely on them.",
		text, listed(filesIn(out.Carry), out.Carry.Added+out.Carry.Changed+out.Carry.Removed)))
	o := op.Adopt.Offer
	if op.Adopt.OnConflict == editors.ConflictMine && out.Carry.ConflictsAll > 0 {
		return // what stayed as it is here is offered again, for another decision
	}
	if out.Undo != "" {
		s.Adoptions = append(s.Adoptions, Adoption{ForkID: o.ForkID, Undo: out.Undo, Before: o.Base, After: o.CheckpointID})
		s.Adoptions = append([]Adoption(nil), s.Adoptions[max(0, len(s.Adoptions)-maxAdoptions):]...)
	}
	s.tellFork(ctx, o.ForkID, AdoptedSignal{CheckpointID: o.CheckpointID})
}

// unadopt tells the forks whose adoption a restore of the whole workspace has undone, so that they can be adopted again.
func (s *session) unadopt(ctx workflow.Context, r editors.RestoreParams) {
	if len(r.Paths) > 0 {
		return
	}
	for _, a := range slices.Backward(s.Adoptions) {
		if strings.HasPrefix(a.Undo, r.CheckpointID) {
			s.tellFork(ctx, a.ForkID, AdoptedSignal{CheckpointID: a.Before, Instead: a.After})
		}
	}
}

func (s *session) tellFork(ctx workflow.Context, forkID string, told AdoptedSignal) {
	if err := workflow.SignalExternalWorkflow(ctx, WorkflowID(forkID), "", SignalAdopted, told).Get(ctx, nil); err != nil { // it is gone: nothing will be adopted from it again
		workflow.GetLogger(ctx).Info("the fork was not told what its parent has of it", "fork", forkID, "error", err)
	}
}

func filesIn(c editors.Carry) []string {
	var out []string
	for _, f := range c.Files {
		out = append(out, f.Path)
	}
	return out
}

// adopted hears, in a fork, that the parent has its changes.
func (s *session) adopted(_ workflow.Context, in AdoptedSignal) {
	if s.ForkBase == "" || in.CheckpointID == "" || in.Instead != "" && in.Instead != s.taken() {
		return
	}
	s.ForkBase, s.ForkTaken = in.CheckpointID, ""
}

// taken is the checkpoint of what the parent has of a fork, as far as it has a counterpart where the fork is now.
func (s *State) taken() string { return first(s.ForkTaken, s.ForkBase) }
