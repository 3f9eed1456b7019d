// This file stops, finds and destroys sandboxes.

package daytona

import (
	"context"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

const (
	opStop    = "stop sandbox"
	opDestroy = "destroy sandbox"
	opList    = "list sandboxes"
)

// Stop implements sandbox.Stopper: the files of the sandbox stay, its processes end, and it starts when it is opened or used
// again.
func (b *Backend) Stop(ctx context.Context, ref sandbox.Ref) error {
	done, err := b.boxes.Enter(ctx, opStop, ref.ID)
	if err != nil {
		return err
	}
	defer done()
	if x := b.boxes.Known(ref.ID); x != nil {
		x.Rest()
	}
	i, f := b.locate(ctx, opStop, ref.ID)
	if f == nil {
		f = b.halt(ctx, opStop, i.ID)
	}
	return unlessGone(f).Fault()
}

// List implements sandbox.Lister, asking Daytona: what any host has made with this account counts.
func (b *Backend) List(ctx context.Context, owner string) ([]sandbox.Found, error) {
	all, f := b.list(ctx, opList)
	if f != nil {
		return nil, f.Err
	}
	var labels []cloud.Labels
	for _, i := range all {
		if i.phase() != gone {
			labels = append(labels, i.Labels)
		}
	}
	return cloud.Found(sandbox.KindDaytona, b.opts.Root, owner, labels), nil
}

// Lost implements sandbox.Loser.
func (b *Backend) Lost(ctx context.Context, ref sandbox.Ref) (bool, error) {
	_, f := b.locate(ctx, "look for the sandbox", ref.ID)
	return f.Is(sandbox.ClassNotFound), unlessGone(f).Fault()
}

// Destroy implements sandbox.Backend. It deletes everything that Daytona has of the sandbox.
func (b *Backend) Destroy(ctx context.Context, ref sandbox.Ref) error {
	done, err := b.boxes.Enter(ctx, opDestroy, ref.ID)
	if err != nil {
		return err
	}
	defer done()
	x := b.boxes.Last(ref.ID)
	i, f := b.locate(ctx, opDestroy, ref.ID)
	if f != nil && !f.Is(sandbox.ClassNotFound) {
		return f.Err
	}
	if x != nil {
		x.gone.Store(true)
	}
	if f == nil {
		if f = b.remove(ctx, opDestroy, i.ID); f != nil {
			return f.Err
		}
	}
	b.boxes.Drop(ref.ID, x)
	if x != nil {
		x.Forsake()
	}
	return nil
}
