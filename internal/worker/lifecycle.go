// This file makes sure that sandboxes are there, stops them while nobody needs them, and removes them.

package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/sandbox"
)

// EnsureSandbox makes a session's sandbox ready for commands, or tells that it is gone.
func (a *Activities) EnsureSandbox(ctx context.Context, in agent.Sandbox) (agent.EnsureOutput, error) {
	defer a.working()()
	defer beat(ctx, func() any { return "" })()
	tctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	gone, err := a.gone(tctx, in)
	if err == nil && !gone {
		err = a.wake(tctx, in)
	}
	if err == nil {
		return agent.EnsureOutput{Gone: gone}, nil
	}
	if ended := ended(ctx); ended != nil {
		return agent.EnsureOutput{}, ended
	}
	return agent.EnsureOutput{Failure: failureOf(err)}, nil
}

func (a *Activities) wake(ctx context.Context, in agent.Sandbox) error {
	sb, err := a.open(ctx, in, func(string) {})
	if err != nil {
		return err
	}
	defer sb.Close()
	return sb.Health(ctx)
}

// gone tells whether nothing is left of the workspace of a sandbox that was made before.
func (a *Activities) gone(ctx context.Context, in agent.Sandbox) (bool, error) {
	b, err := a.backend(in)
	if err != nil {
		return false, err
	}
	if in.Backend.Kind == editors.Local { // the user's own folder is nobody's to make again
		return a.forkGone(in), nil
	}
	loser, ok := b.(sandbox.Loser)
	if !ok || !a.wasMade(in) {
		return false, nil
	}
	return loser.Lost(ctx, refOf(in))
}

// forkGone tells whether the sandbox is the folder of a fork, which was made here, and is there no longer.
func (a *Activities) forkGone(in agent.Sandbox) bool {
	if in.Backend.Kind != editors.Local {
		return false
	}
	_, fork := a.Forks.Of(folderOf(in))
	_, err := os.Lstat(folderOf(in))
	return fork && errors.Is(err, fs.ErrNotExist)
}

// wasMade tells whether the sandbox must have been there before. That of a new session is made when it is first needed.
func (a *Activities) wasMade(in agent.Sandbox) bool {
	if in.Epoch > 0 || a.Checkpoints == nil {
		return in.Epoch > 0
	}
	store, err := a.Checkpoints()
	if err != nil {
		return false
	}
	refs, err := store.List(in.SessionID, "")
	return err == nil && len(refs) > 0
}

// StopSandbox stops a sandbox that takes something while nobody uses it. A local one takes nothing: its helper ends by itself.
func (a *Activities) StopSandbox(ctx context.Context, in agent.Sandbox) error {
	defer a.working()()
	defer beat(ctx, func() any { return "" })()
	b, err := a.backend(in)
	if err != nil {
		return err
	}
	s, ok := b.(sandbox.Stopper)
	if !ok {
		return nil
	}
	done, err := a.held.take(ctx, in.ID())
	if err != nil {
		return err
	}
	defer done()
	if err := s.Stop(ctx, refOf(in)); err != nil {
		return fmt.Errorf("stop sandbox: %w", err)
	}
	return nil
}

// DestroySandbox removes a sandbox and, with the session, all that belongs to it: its plans, its hold on checkpoints and the
// folder of a fork; never the user's own folder.
func (a *Activities) DestroySandbox(ctx context.Context, in agent.DestroyInput) error {
	defer a.working()()
	defer beat(ctx, func() any { return "" })()
	b, err := a.backend(in.Sandbox)
	if err != nil {
		return err
	}
	done, err := a.held.take(ctx, in.ID())
	if err != nil {
		return err
	}
	defer done()
	err = b.Destroy(ctx, refOf(in.Sandbox))
	if !in.Former {
		err = errors.Join(err, a.forget(in, err == nil || in.Backend.Kind != editors.Local))
	}
	if err == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithCause(plain(err), "destroy", err) // the user reads why
}

// forget lets go what else belongs to a session that ends, also while its sandbox cannot be removed. Its home goes if it is
// idle: nothing can run there any more.
func (a *Activities) forget(in agent.DestroyInput, idle bool) error {
	var failed []error
	if a.Servers != nil {
		a.Servers.Leave(in.SessionID)
	}
	if err := os.RemoveAll(a.plans(in.SessionID).Dir); err != nil {
		failed = append(failed, fmt.Errorf("forget plans: %w", err))
	}
	if err := a.releaseCheckpoints(in.SessionID); err != nil {
		failed = append(failed, fmt.Errorf("release checkpoints: %w", err))
	}
	if session, ok := a.Forks.Of(in.Home); ok && session == in.SessionID && idle {
		failed = append(failed, a.Forks.Remove(session))
	}
	return errors.Join(failed...)
}
