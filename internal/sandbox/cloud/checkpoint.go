// This file lets checkpoints of a sandbox's workspace be taken and restored by the helper inside.

package cloud

import (
	"context"

	"sandboxagent/internal/checkpoint/worktree"
)

// Scan pictures the workspace into a store of checkpoints.
func (h *Handle) Scan(ctx context.Context, o worktree.ScanOptions, store worktree.Store) error {
	c, done, err := h.in("take a checkpoint")
	if err != nil {
		return err
	}
	defer done()
	return c.Scan(ctx, o, store)
}

// Begin implements worktree.Changer.
func (h *Handle) Begin(ctx context.Context, change worktree.Change) (worktree.Begun, error) {
	c, done, err := h.in("restore")
	if err != nil {
		return worktree.Begun{}, err
	}
	defer done()
	return c.Begin(ctx, change)
}

// Put implements worktree.Changer.
func (h *Handle) Put(ctx context.Context, id string, pieces []worktree.Piece) error {
	c, done, err := h.in("restore")
	if err != nil {
		return err
	}
	defer done()
	return c.Put(ctx, id, pieces)
}

// Commit implements worktree.Changer.
func (h *Handle) Commit(ctx context.Context, id string) (worktree.Outcome, error) {
	c, done, err := h.in("restore")
	if err != nil {
		return worktree.Outcome{}, err
	}
	defer done()
	return c.Commit(ctx, id)
}

// Abort implements worktree.Changer.
func (h *Handle) Abort(ctx context.Context, id string) error {
	c, done, err := h.in("restore")
	if err != nil {
		return err
	}
	defer done()
	return c.Abort(ctx, id)
}
