// This file brings the workspace of a session back to a checkpoint.

package worker

import (
	"context"
	"maps"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/checkpoint/commands"
)

// Restore restores, once under its effect. What keeps it from being done is a value.
func (a *Activities) Restore(ctx context.Context, in agent.RestoreTask) (agent.RestoreOutput, error) {
	defer a.working()()
	defer beat(ctx, func() any { return "" })()
	tctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	result, err := a.restore(tctx, in)
	if err == nil {
		return agent.RestoreOutput{Result: result}, nil
	}
	if ended := ended(ctx); ended != nil {
		return agent.RestoreOutput{}, ended
	}
	return agent.RestoreOutput{Failure: failureOf(err)}, nil
}

func (a *Activities) restore(ctx context.Context, in agent.RestoreTask) (editors.RestoreResult, error) {
	s, closeIt, err := a.checkpointsOf(in.Sandbox)
	if err != nil {
		return editors.RestoreResult{}, err
	}
	defer closeIt()
	s.Held = a.heldIn(in.Sandbox, in.Restore.Held)
	p := in.Restore.RestoreParams
	p.RequestID = in.Effect
	return s.Restore(ctx, p)
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
