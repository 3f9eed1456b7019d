// This file carries workspaces for sessions: into fresh sandboxes, and back onto files that are the user's own.

package worker

import (
	"context"
	"encoding/json"
	"sync/atomic"

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
	out, err := c.Open(ctx, carry.Opening{
		To: to, From: originOf(in.From), Checkpoint: in.CheckpointID, Base: in.Base, Rules: a.rules(to.Backend.Kind()),
		Session: checkpoint.Ref{
			Owner: in.Owner, Session: in.SessionID, Turn: in.TurnID, Reason: reasonOf(in.Reason), Effect: in.Effect, Summary: summaryOf(in),
		},
		Take: take, IntoNonEmpty: in.IntoNonEmpty, DryRun: in.DryRun,
	})
	if err != nil {
		return agent.CarryOutput{}, err
	}
	return agent.CarryOutput{Carry: out.Carry, CheckpointID: out.Checkpoint, Base: out.Base, Applied: true, Notes: out.Notes}, nil
}

func summaryOf(in agent.OpenInput) string {
	switch in.Reason {
	case "fork":
		return "Start of the fork"
	case "recover":
		return "What the sandbox was made again from"
	}
	return "What came to " + string(in.Backend.Kind)
}

func (a *Activities) mergeInto(ctx context.Context, in agent.MergeInput, notify func(string)) (agent.CarryOutput, error) {
	c, to, take, err := a.carrier(in.Sandbox, notify)
	if err != nil {
		return agent.CarryOutput{}, err
	}
	out, err := c.Merge(ctx, carry.Merging{
		To: to, From: originOf(in.From), Base: in.Base, Theirs: in.Theirs, OnConflict: checkpoint.OnConflict(in.OnConflict), Held: in.Held,
		Session: checkpoint.Ref{Owner: in.Owner, Session: in.SessionID, Turn: in.TurnID, Effect: in.Effect, Summary: in.Summary},
		Take:    take, DryRun: in.DryRun,
	})
	if err != nil {
		return agent.CarryOutput{}, err
	}
	return agent.CarryOutput{Carry: out.Carry, Undo: out.Undo, Applied: out.Applied, Notes: out.Notes}, nil
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
