// This file holds switch and adopt, which bring a workspace from one sandbox into another.

package core

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// The calls that tell what a switch or an adopt would do; a worker answers them on its feed.
const (
	CallPlanOpen  = "planOpen"  // agent.OpenInput → agent.CarryOutput
	CallPlanMerge = "planMerge" // agent.MergeInput → agent.CarryOutput
)

// carryTime bounds what brings a workspace elsewhere: a sandbox is made, and everything in the workspace is read once.
const carryTime = 15 * time.Minute

func (c *Conn) switchBackend(ctx context.Context, p editors.SwitchParams) (editors.SwitchResult, error) {
	v, err := c.core.here(ctx, p.SessionID)
	if err != nil {
		return editors.SwitchResult{}, err
	}
	target, err := c.core.destination(ctx, v, p.Backend)
	if err != nil {
		return editors.SwitchResult{}, err
	}
	held, err := unsavedIn(ctx, onDisk(target))
	if err != nil {
		return editors.SwitchResult{}, err
	}
	p.RequestID = newRequestID(p.RequestID)
	in := agent.SwitchInput{SwitchParams: p, By: c.name, Held: held}
	if p.DryRun {
		return c.core.planSwitch(ctx, v, target, in)
	}
	return carry(ctx, c, "switching the session", v, agent.UpdateSwitch, p.RequestID, in,
		func(r editors.SwitchResult) int64 { return r.Seq })
}

// destination returns the sandbox that a session would have after a switch, and refuses one that cannot be.
func (c *Core) destination(ctx context.Context, v agent.View, b editors.Backend) (agent.Sandbox, error) {
	target, err := c.sandboxOf(v)
	if err != nil {
		return target, err
	}
	if err := c.checkDestination(ctx, b); err != nil {
		return target, err
	}
	home, err := homeOf(v)
	if err != nil {
		return target, err
	}
	if b.Kind == editors.Local && b.WorkspaceRoot == "" && home != target.Folder {
		b.WorkspaceRoot = home
	}
	target.Backend, target.Epoch = b, target.Epoch+1
	return target, nil
}

func (c *Core) checkDestination(ctx context.Context, b editors.Backend) error {
	if err := checkBackend(b); err != nil {
		return err
	}
	switch {
	case b.WorkspaceRoot != "" && b.Kind != editors.Local:
		return editors.Errorf(editors.CodeInvalidParams, "workspaceRoot is for the backend local; %s has a place of its own", b.Kind).
			WithRemedy("Leave workspaceRoot out.")
	case b.Image != "" && b.Kind == editors.Local:
		return editors.Errorf(editors.CodeInvalidParams, "the backend local has no images").WithRemedy("Leave image out.")
	case b.WorkspaceRoot != "":
		if err := c.checkRoot(b.WorkspaceRoot); err != nil {
			return err
		}
	}
	return c.checkAvailable(ctx, b.Kind)
}

// planSwitch asks this host's worker what a switch would carry; nothing is changed.
func (c *Core) planSwitch(ctx context.Context, v agent.View, target agent.Sandbox, in agent.SwitchInput) (editors.SwitchResult, error) {
	from, err := c.sandboxOf(v)
	if err != nil {
		return editors.SwitchResult{}, err
	}
	const what = "looking at what a switch would carry"
	var out agent.CarryOutput
	switch {
	case target.Backend == v.Session.Backend:
		return editors.SwitchResult{}, editors.Errorf(editors.CodeConflict, "the session runs there already")
	case comesHome(v, target):
		out, err = c.plan(ctx, what, CallPlanMerge, agent.MergeInput{
			Sandbox: target, From: from, Base: v.Base, OnConflict: in.OnConflict, Held: in.Held, DryRun: true,
		})
	default:
		out, err = c.plan(ctx, what, CallPlanOpen, agent.OpenInput{Sandbox: target, From: from, Base: v.Base, IntoNonEmpty: in.IntoNonEmpty, DryRun: true})
	}
	if err != nil {
		return editors.SwitchResult{}, err
	}
	return editors.SwitchResult{Backend: target.Backend, Carry: out.Carry, Seq: v.Seq}, nil
}

// comesHome tells whether a switch brings a session back to the directory that it left, where files may have changed since.
func comesHome(v agent.View, target agent.Sandbox) bool {
	home, err := homeOf(v)
	return err == nil && v.Base != "" && filepath.Clean(onDisk(target)) == filepath.Clean(home)
}

func (c *Core) plan(ctx context.Context, what, method string, in any) (agent.CarryOutput, error) {
	var out agent.CarryOutput
	err := bounded(ctx, carryTime, func(ctx context.Context) error { return c.live.await(ctx, method, in, &out) })
	switch {
	case err != nil:
		return out, asError(what, err)
	case out.Failure != nil:
		return out, asError(what, out.Failure.Refusal())
	}
	return out, nil
}

func (c *Conn) adoptFork(ctx context.Context, p editors.AdoptParams) (editors.AdoptResult, error) {
	fork, parent, err := c.core.family(ctx, p.SessionID)
	if err != nil {
		return editors.AdoptResult{}, err
	}
	target, err := c.core.sandboxOf(parent)
	if err != nil {
		return editors.AdoptResult{}, err
	}
	held, err := unsavedIn(ctx, onDisk(target))
	if err != nil {
		return editors.AdoptResult{}, err
	}
	if p.DryRun {
		return c.core.planAdopt(ctx, fork, parent, target, agent.AdoptInput{OnConflict: p.OnConflict, Held: held})
	}
	p.RequestID = newRequestID(p.RequestID)
	var offer agent.Offer
	err = c.core.update(patientWith(ctx, fork), "looking at what the fork changed", agent.WorkflowID(p.SessionID), agent.UpdateOffer, p.RequestID,
		agent.OfferInput{RequestID: p.RequestID}, &offer)
	if err != nil {
		return editors.AdoptResult{}, goesOn(err)
	}
	in := agent.AdoptInput{RequestID: p.RequestID, Offer: offer, OnConflict: p.OnConflict, By: c.name, Held: held}
	return carry(ctx, c, "adopting the fork's changes", parent, agent.UpdateAdopt, p.RequestID, in,
		func(r editors.AdoptResult) int64 { return r.Seq })
}

// family returns a fork and the session it was forked from.
func (c *Core) family(ctx context.Context, forkID string) (fork, parent agent.View, err error) {
	if fork, err = c.here(ctx, forkID); err != nil {
		return fork, parent, err
	}
	if fork.Session.ParentID == "" {
		return fork, parent, editors.Errorf(editors.CodeInvalidParams, "the session is not a fork").
			WithRemedy("Name a fork: sandbox-agent sessions shows forks below what they were forked from.")
	}
	parent, err = c.here(ctx, fork.Session.ParentID)
	if editors.CodeOf(err) == editors.CodeNotFound {
		return fork, parent, editors.Errorf(editors.CodeNotFound, "the session that this was forked from is gone").
			WithRemedy("Go on in the fork, or copy from its workspace what you need.")
	}
	return fork, parent, err
}

// planAdopt asks this host's worker what an adopt would bring; nothing is changed.
func (c *Core) planAdopt(ctx context.Context, fork, parent agent.View, target agent.Sandbox, in agent.AdoptInput) (editors.AdoptResult, error) {
	from, err := c.sandboxOf(fork)
	if err != nil {
		return editors.AdoptResult{}, err
	}
	plan := agent.MergeInput{Sandbox: target, From: from, Base: fork.ForkBase, OnConflict: in.OnConflict, Held: in.Held, DryRun: true}
	out, err := c.plan(ctx, "looking at what an adopt would bring", CallPlanMerge, plan)
	if err != nil {
		return editors.AdoptResult{}, err
	}
	return editors.AdoptResult{SessionID: target.SessionID, Carry: out.Carry, Seq: parent.Seq}, nil
}

// carry runs an update that brings files somewhere, in the session of v.
func carry[R any](ctx context.Context, c *Conn, what string, v agent.View, name, requestID string, arg any, seq func(R) int64) (R, error) {
	result, err := change(patientWith(ctx, v), c, what, v.Session.ID, name, requestID, arg, seq)
	return result, goesOn(err)
}

// goesOn says of a request that is not waited for any more that it is carried out all the same.
func goesOn(err error) error {
	var e *editors.Error
	if errors.As(err, &e) && e.Code == editors.CodeCancelled {
		e.Message += "; what was begun goes on"
		e.Remedy = "How it ends is told in the session; the same requestId finds the answer."
	}
	return err
}

// patientWith lets a request take as long as a carry does, and tell meanwhile what the session says it is doing.
func patientWith(ctx context.Context, v agent.View) context.Context {
	return withPatience(telling(ctx, func(ctx context.Context, e engine) string {
		var now agent.View
		_ = e.Query(ctx, agent.WorkflowID(v.Session.ID), agent.QueryView, agent.ViewRequest{AfterSeq: &v.Seq}, &now)
		return now.Session.State.Reason // "" when it does not answer
	}), carryTime)
}
