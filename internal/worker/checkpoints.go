// This file answers what the servers on this host ask about a session's checkpoints.

package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/sandbox"
)

// The methods on checkpoints. Their params are agent.OnSandbox of the command's.
const (
	MethodCheckpoint  = "checkpoint"  // editors.CheckpointParams → editors.CheckpointResult
	MethodCheckpoints = "checkpoints" // editors.SessionParams → editors.CheckpointsResult
	MethodDiff        = "diff"        // editors.DiffParams → editors.DiffResult
	MethodRestore     = "restore"     // editors.RestoreParams → editors.RestoreResult
)

// onCheckpoints decodes a call and answers it by do.
func onCheckpoints[P, R any](a *Activities, do func(commands.Subject, context.Context, P) (R, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var call agent.OnSandbox[P]
		if err := json.Unmarshal(params, &call); err != nil {
			return nil, editors.Errorf(editors.CodeInvalidParams, "The call is malformed.")
		}
		defer a.working()()
		s, closeIt, err := a.checkpointsOf(call.Sandbox)
		if err != nil {
			return nil, commands.Error(err)
		}
		defer closeIt()
		return do(s, ctx, call.Params)
	}
}

// checkpointsOf returns the checkpoints of a session, whose sandbox is opened when it is needed.
func (a *Activities) checkpointsOf(in agent.Sandbox) (commands.Subject, func(), error) {
	if a.Checkpoints == nil {
		return commands.Subject{}, nil, editors.Errorf(editors.CodeUnsupported, "This worker keeps no checkpoints.")
	}
	store, err := a.Checkpoints()
	if err != nil {
		return commands.Subject{}, nil, err
	}
	var opened []sandbox.Sandbox
	s := commands.Subject{Store: store, Owner: in.Owner, Session: in.SessionID}
	s.Configure(a.CheckpointWith)
	s.Open = func(ctx context.Context) (checkpoint.Workspace, error) {
		sb, err := a.open(ctx, in, func(string) {})
		if err != nil {
			return nil, err
		}
		opened = append(opened, sb)
		return checkpoint.Of(sb)
	}
	return s, func() {
		for _, sb := range opened {
			_ = sb.Close()
		}
	}, nil
}

// TakeCheckpoint pictures a session's workspace. What keeps it from being pictured is a value in the result.
func (a *Activities) TakeCheckpoint(ctx context.Context, in agent.CheckpointInput) (agent.CheckpointOutput, error) {
	defer a.working()()
	defer beat(ctx, func() any { return in.Summary })()
	if a.Checkpoints == nil {
		return agent.CheckpointOutput{}, nil
	}
	tctx, cancel := untilStop(ctx, errStopping)
	defer cancel()
	s, closeIt, err := a.checkpointsOf(in.Sandbox)
	if err != nil {
		return agent.CheckpointOutput{Failure: plain(err)}, nil
	}
	defer closeIt()
	taken, err := s.TakeForTurn(tctx, in.TurnID, in.ItemID, in.Summary, in.Effect)
	switch {
	case err == nil:
		return agent.CheckpointOutput{Checkpoint: &taken}, nil
	case stopping(ctx):
		return agent.CheckpointOutput{}, workerStopped()
	case ctx.Err() != nil:
		return agent.CheckpointOutput{}, temporal.NewCanceledError()
	}
	return agent.CheckpointOutput{Failure: plain(err)}, nil
}

// releaseCheckpoints lets a session's checkpoints be collected.
func (a *Activities) releaseCheckpoints(sessionID string) error {
	if a.Checkpoints == nil {
		return nil
	}
	store, err := a.Checkpoints()
	if err != nil {
		return err
	}
	return store.Release(sessionID, "")
}

// collectAge spares checkpoints that somebody may be about to refer to.
const collectAge = time.Hour

// collectCheckpoints removes what nothing refers to, as far as the store is over its quota.
func (a *Activities) collectCheckpoints(ctx context.Context, log *slog.Logger) {
	store, err := a.Checkpoints()
	if err == nil {
		_, err = store.GC(ctx, checkpoint.GCOptions{Grace: collectAge})
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("checkpoints not collected", "error", err)
	}
}
