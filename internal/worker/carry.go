// This file carries workspaces for sessions: into fresh sandboxes, and back onto files that are the user's own.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/sandbox"
)

// The methods that tell what a carry would do. Nothing is changed by them.
const (
	MethodPlanOpen  = "planOpen"  // agent.OpenInput → agent.CarryOutput
	MethodPlanMerge = "planMerge" // agent.MergeInput → agent.CarryOutput
)

// OpenCarried makes a fresh sandbox that holds the tree of a checkpoint. What keeps it from being made is a value.
func (a *Activities) OpenCarried(ctx context.Context, in agent.OpenInput) (agent.CarryOutput, error) {
	return a.carrying(ctx, in.Sandbox, func(ctx context.Context, notify func(string)) (agent.CarryOutput, error) {
		return a.openCarried(ctx, in, notify)
	})
}

// MergeInto brings what changed in one workspace into another one. What keeps it from being brought is a value.
func (a *Activities) MergeInto(ctx context.Context, in agent.MergeInput) (agent.CarryOutput, error) {
	return a.carrying(ctx, in.Sandbox, func(ctx context.Context, notify func(string)) (agent.CarryOutput, error) {
		return a.mergeInto(ctx, in, notify)
	})
}

// carrying does something with a sandbox that nobody else may be at meanwhile.
func (a *Activities) carrying(ctx context.Context, in agent.Sandbox, do func(context.Context, func(string)) (agent.CarryOutput, error)) (agent.CarryOutput, error) {
	defer a.working()()
	var note atomic.Value
	note.Store("")
	defer beat(ctx, note.Load)()
	tctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	done, err := a.held.take(tctx, in.ID())
	if err != nil {
		return agent.CarryOutput{}, ended(ctx)
	}
	defer done()
	out, err := do(tctx, func(text string) { note.Store(text) })
	if err == nil {
		return out, nil
	}
	if ended := ended(ctx); ended != nil {
		return agent.CarryOutput{}, ended
	}
	return agent.CarryOutput{Failure: failureOf(err)}, nil
}

func (a *Activities) openCarried(ctx context.Context, in agent.OpenInput, notify func(string)) (agent.CarryOutput, error) {
	c, to, take, err := a.carrier(in.Sandbox, notify)
	if err != nil {
		return agent.CarryOutput{}, err
	}
	others, err := a.others(ctx, in)
	if err != nil {
		return agent.CarryOutput{}, err
	}
	var found checkpoint.Ref
	if in.CheckpointID == "" {
		if found, err = a.asFound(ctx, c.Store, in, take); err != nil {
			return agent.CarryOutput{}, err
		}
		in.CheckpointID = found.Checkpoint
	}
	home, apart := foldersOf(in)
	out, err := c.Open(ctx, carry.Opening{
		Home: home, Apart: apart, Others: others, SamePlace: in.Reason == reasonRecover,
		To: to, From: originOf(in.From), Checkpoint: in.CheckpointID, Base: in.Base, Taken: in.Taken, Rules: a.rules(to.Backend.Kind()),
		Session: checkpoint.Ref{
			Owner: in.Owner, Session: in.SessionID, Realm: a.Realm, Turn: in.TurnID, Reason: reasonOf(in.Reason), Effect: in.Effect, Summary: summaryOf(in),
		},
		Take: take, IntoNonEmpty: in.IntoNonEmpty, DryRun: in.DryRun,
	})
	if err != nil {
		if found.Checkpoint != "" && !errors.Is(context.Cause(ctx), carry.ErrStopped) { // else the next try begins with it
			_ = c.Store.Unpin(found)
		}
		return agent.CarryOutput{}, err
	}
	return agent.CarryOutput{Carry: out.Carry, CheckpointID: out.Checkpoint, Base: out.Base, Taken: out.Taken, Applied: true, Notes: out.Notes, LeftBehind: out.LeftBehind}, nil
}

// others returns the folders of other sessions, as far as they can be in the way.
func (a *Activities) others(ctx context.Context, in agent.OpenInput) ([]string, error) {
	if a.Others == nil || in.Backend.Kind != editors.Local || in.Reason == reasonRecover {
		return nil, nil
	}
	if session, ok := a.Forks.Of(folderOf(in.Sandbox)); ok && session == in.SessionID {
		return nil, nil // which nobody else can have
	}
	return a.Others.Folders(ctx, in.Owner, a.HostID, in.SessionID)
}

// asFound pictures the folder that a session begins with, once for the effect.
func (a *Activities) asFound(ctx context.Context, store *checkpoint.Store, in agent.OpenInput, take checkpoint.TakeOptions) (checkpoint.Ref, error) {
	pin := checkpoint.Ref{
		Owner: in.Owner, Session: in.SessionID, Realm: a.Realm, Reason: checkpoint.Carry, Effect: in.Effect + "/found", Summary: "The folder as it was found", At: time.Now(),
	}
	refs, err := store.List(in.SessionID, "")
	if err != nil {
		return pin, err
	}
	if i := slices.IndexFunc(refs, func(r checkpoint.Ref) bool { return r.Effect == pin.Effect }); i >= 0 {
		return refs[i], nil
	}
	folder, err := store.Folder(folderOf(in.From))
	if err != nil {
		return pin, err
	}
	defer folder.Close()
	take.Pin = &pin
	_, err = store.Take(ctx, folder, take)
	return pin, err
}

// The reasons for opening a sandbox that mean more than a switch.
const (
	reasonFork    = "fork"
	reasonRecover = "recover"
)

// foldersOf returns the folder that is the session's own, "" for a fork, which has none yet, and those that its new sandbox
// must have nothing to do with.
func foldersOf(in agent.OpenInput) (home string, apart []string) {
	if in.Reason == reasonFork {
		return "", []string{in.Folder, in.From.Folder, folderOf(in.From)}
	}
	if from := folderOf(in.From); from != in.Folder {
		apart = append(apart, from)
	}
	return in.Folder, apart
}

func summaryOf(in agent.OpenInput) string {
	switch in.Reason {
	case reasonFork:
		return "Start of the fork"
	case reasonRecover:
		return "What the sandbox was made again from"
	case "start":
		return "Start of the session"
	}
	return "What came to " + string(in.Backend.Kind)
}

func (a *Activities) mergeInto(ctx context.Context, in agent.MergeInput, notify func(string)) (agent.CarryOutput, error) {
	c, to, take, err := a.carrier(in.Sandbox, notify)
	if err != nil {
		return agent.CarryOutput{}, err
	}
	out, err := c.Merge(ctx, carry.Merging{
		To: to, From: originOf(in.From), Base: in.Base, Theirs: in.Theirs, Rules: a.rules(to.Backend.Kind()), OnConflict: checkpoint.OnConflict(in.OnConflict), Held: a.heldIn(in.Sandbox, in.Held),
		Session: checkpoint.Ref{Owner: in.Owner, Session: in.SessionID, Realm: a.Realm, Turn: in.TurnID, Effect: in.Effect, Summary: in.Summary},
		Take:    take, DryRun: in.DryRun,
	})
	if err != nil {
		return agent.CarryOutput{}, err
	}
	return agent.CarryOutput{Carry: out.Carry, Undo: out.Undo, Applied: out.Applied, Notes: out.Notes, LeftBehind: out.LeftBehind}, nil
}

// carrier returns what carries into a sandbox, that sandbox, and how workspaces are pictured.
func (a *Activities) carrier(in agent.Sandbox, notify func(string)) (*carry.Carrier, carry.Place, checkpoint.TakeOptions, error) {
	s, _, err := a.checkpointsOf(in)
	if err != nil {
		return nil, carry.Place{}, checkpoint.TakeOptions{}, err
	}
	b, err := a.backend(in)
	if err != nil {
		return nil, carry.Place{}, checkpoint.TakeOptions{}, err
	}
	return &carry.Carrier{Store: s.Store, Forks: a.Forks, HostID: a.HostID, Fault: a.Fault},
		carry.Place{Backend: b, Spec: a.spec(in, notify)},
		checkpoint.TakeOptions{Excludes: s.Excludes, Limits: s.Limits}, nil
}

func originOf(in agent.Sandbox) carry.Origin {
	return carry.Origin{Local: in.Backend.Kind == editors.Local, Folder: folderOf(in)}
}

func (a *Activities) rules(to sandbox.Kind) carry.Rules {
	return carry.Rules{
		Exclude: append(a.CheckpointWith.Excludes(), a.CarryWith.Excludes()...), Include: a.CarryWith.Includes(), Leaves: carry.Leaves(to),
	}
}

// planOpen tells what would be carried from a workspace as it is now.
func (a *Activities) planOpen(ctx context.Context, params json.RawMessage) (any, error) {
	return plan(ctx, a, params, func(ctx context.Context, in agent.OpenInput) (agent.CarryOutput, error) {
		if in.CheckpointID == "" {
			now, err := a.take(ctx, in.From, nil)
			if err != nil {
				return agent.CarryOutput{}, err
			}
			in.CheckpointID = now.ID
		}
		in.DryRun = true
		return a.openCarried(ctx, in, func(string) {})
	})
}

// planMerge tells what would be brought from a workspace as it is now.
func (a *Activities) planMerge(ctx context.Context, params json.RawMessage) (any, error) {
	return plan(ctx, a, params, func(ctx context.Context, in agent.MergeInput) (agent.CarryOutput, error) {
		if in.Theirs == "" {
			now, err := a.take(ctx, in.From, nil)
			if err != nil {
				return agent.CarryOutput{}, err
			}
			in.Theirs = now.ID
		}
		in.DryRun = true
		return a.mergeInto(ctx, in, func(string) {})
	})
}

// plan answers a call whose failures are values.
func plan[P any](ctx context.Context, a *Activities, params json.RawMessage, do func(context.Context, P) (agent.CarryOutput, error)) (any, error) {
	var in P
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "The call is malformed.")
	}
	defer a.working()()
	out, err := do(ctx, in)
	if err != nil {
		return agent.CarryOutput{Failure: failureOf(err)}, nil
	}
	return out, nil
}
