// This file pauses, finds and destroys sandboxes.

package e2b

import (
	"context"
	"slices"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	opStop      = "pause sandbox"
	opDestroy   = "destroy sandbox"
	opList      = "list sandboxes"
	removeTries = 3
)

// Stop implements sandbox.Stopper: E2B pauses the sandbox with its processes, which go on when it is opened or used again.
func (b *Backend) Stop(ctx context.Context, ref sandbox.Ref) error {
	done, err := b.boxes.Enter(ctx, opStop, ref.ID)
	if err != nil {
		return err
	}
	defer done()
	if x := b.boxes.Known(ref.ID); x != nil {
		x.disconnect()
	}
	all, f := b.locate(ctx, opStop, ref.ID)
	for _, l := range all {
		if f == nil && l.State == stateRunning {
			f = b.suspend(ctx, l.SandboxID)
		}
	}
	return f.Fault()
}

// List implements sandbox.Lister, asking E2B: what any host has made with this account counts.
func (b *Backend) List(ctx context.Context, owner string) ([]sandbox.Found, error) {
	all, f := b.list(ctx, opList, cloud.LabelOurs, "1")
	if f != nil {
		return nil, f.Err
	}
	labels := make([]cloud.Labels, len(all))
	for n, l := range all {
		labels[n] = l.Metadata
	}
	return cloud.Found(sandbox.KindE2B, b.opts.Root, owner, labels), nil
}

// Lost implements sandbox.Loser.
func (b *Backend) Lost(ctx context.Context, ref sandbox.Ref) (bool, error) {
	all, f := b.locate(ctx, "look for the sandbox", ref.ID)
	if f != nil {
		return false, f.Err
	}
	return len(all) == 0, nil
}

// Destroy implements sandbox.Backend. It deletes everything that E2B has of the sandbox.
func (b *Backend) Destroy(ctx context.Context, ref sandbox.Ref) error {
	done, err := b.boxes.Enter(ctx, opDestroy, ref.ID)
	if err != nil {
		return err
	}
	defer done()
	x := b.boxes.Last(ref.ID)
	doubted := b.doubted(ref.ID)
	for range removeTries {
		all, f := b.locate(ctx, opDestroy, ref.ID)
		if f == nil && len(all) == 0 && doubted {
			all, f = b.look(ctx, ref.ID)
		}
		if f != nil {
			b.doubt(ref.ID, doubted)
			return f.Err
		}
		if x != nil && !slices.ContainsFunc(all, func(l listed) bool { return l.SandboxID == x.e2b }) && !x.gone.Load() {
			all = append(all, listed{SandboxID: x.e2b})
		}
		if len(all) == 0 {
			break
		}
		if x != nil {
			x.gone.Store(true)
		}
		for _, l := range all {
			if f := b.remove(ctx, opDestroy, l.SandboxID); f != nil {
				return f.Err
			}
		}
	}
	b.boxes.Drop(ref.ID, x)
	if x != nil {
		x.Forsake()
	}
	return nil
}
