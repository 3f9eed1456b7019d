// This file brings the workspace of a session back to a checkpoint.

package worker

import (
	"context"
	"maps"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/sandbox"
)

// Restore restores, once under its effect. What keeps it from being done is a value.
func (a *Activities) Restore(ctx context.Context, in agent.RestoreTask) (agent.RestoreOutput, error) {
	defer a.working()()
	defer beat(ctx, func() any { return "" })()
	tctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	out, err := a.restore(tctx, in)
	if err == nil {
		return out, nil
	}
	if ended := ended(ctx); ended != nil {
		return agent.RestoreOutput{}, ended
	}
	out.Failure = failureOf(err)
	return out, nil
}

func (a *Activities) restore(ctx context.Context, in agent.RestoreTask) (agent.RestoreOutput, error) {
	s, closeIt, err := a.checkpointsOf(in.Sandbox)
	if err != nil {
		return agent.RestoreOutput{}, err
	}
	defer closeIt()
	s.Held = a.heldIn(in.Sandbox, in.Restore.Held)
	p := in.Restore.RestoreParams
	p.RequestID = in.Effect
	out := agent.RestoreOutput{Summary: s.Summary(p.CheckpointID)}
	out.Result, err = s.Restore(ctx, p)
	return out, err
}

// planRestore tells what a restore would do.
func planRestore(s commands.Subject, ctx context.Context, in agent.RestoreInput) (editors.RestoreResult, error) { //nolint:revive // as the methods of Subject are called
	held := maps.Clone(s.Held) // what editors of this host show
	if held == nil {
		held = map[string]string{}
	}
	maps.Copy(held, in.Held)
	s.Held, in.DryRun = held, true
	return s.Restore(ctx, in.RestoreParams)
}

// comes says what of a checkpoint a restore may bring into a sandbox: what would not have been carried there does not come by
// a restore either, as when the checkpoint was taken before the session left this machine.
func (a *Activities) comes(in agent.Sandbox, store *checkpoint.Store) func(context.Context, string, bool) (string, error) {
	rules := a.rules(sandbox.Kind(in.Backend.Kind))
	if !rules.Leaves {
		return nil
	}
	return func(ctx context.Context, id string, keep bool) (string, error) {
		from, err := store.Stat(id)
		if err != nil {
			return "", err
		}
		set, err := rules.Apply(ctx, store, from.Root)
		if err != nil {
			return "", err
		}
		o := checkpoint.DeriveOptions{Drop: set.Drop}
		if keep && len(set.Left) > 0 {
			o.Pin = &checkpoint.Ref{
				Owner: in.Owner, Session: in.SessionID, Reason: checkpoint.Carry, Effect: id + "/comes", Summary: "What of an earlier checkpoint leaves this machine",
			}
		}
		info, _, err := store.Derive(ctx, id, o)
		return info.ID, err
	}
}
