// This file lets checkpoints of a container's workspace be taken and restored by the helper inside.

package docker

import (
	"context"
	"time"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/client"
)

// A picture, and making a change, take as long as the workspace is large.
const treeTime = 10 * time.Minute

// tree is in for what only a helper's client can do.
func (h *handle) tree(ctx context.Context, op string, expected time.Duration) (*client.Client, func(), error) {
	_, done, err := h.in(ctx, op, expected)
	return h.box.client, done, err
}

// Scan pictures the workspace into a store of checkpoints.
func (h *handle) Scan(ctx context.Context, o worktree.ScanOptions, store worktree.Store) error {
	c, done, err := h.tree(ctx, "take a checkpoint", treeTime)
	if err != nil {
		return err
	}
	defer done()
	return c.Scan(ctx, o, store)
}

// Begin implements worktree.Changer.
func (h *handle) Begin(ctx context.Context, change worktree.Change) (worktree.Begun, error) {
	c, done, err := h.tree(ctx, "restore", 0)
	if err != nil {
		return worktree.Begun{}, err
	}
	defer done()
	return c.Begin(ctx, change)
}

// Put implements worktree.Changer.
func (h *handle) Put(ctx context.Context, id string, pieces []worktree.Piece) error {
	c, done, err := h.tree(ctx, "restore", 0)
	if err != nil {
		return err
	}
	defer done()
	return c.Put(ctx, id, pieces)
}

// Commit implements worktree.Changer.
func (h *handle) Commit(ctx context.Context, id string) (worktree.Outcome, error) {
	c, done, err := h.tree(ctx, "restore", treeTime)
	if err != nil {
		return worktree.Outcome{}, err
	}
	defer done()
	return c.Commit(ctx, id)
}

// Abort implements worktree.Changer.
func (h *handle) Abort(ctx context.Context, id string) error {
	c, done, err := h.tree(ctx, "restore", 0)
	if err != nil {
		return err
	}
	defer done()
	return c.Abort(ctx, id)
}
