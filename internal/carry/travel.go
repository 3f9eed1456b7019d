// This file makes the checkpoint of what travels.

package carry

import (
	"context"
	"fmt"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/tree"
)

const (
	maxFiles   = 200 // that an outcome lists
	maxSkipped = 100 // and of each other list
)

// travel chooses what travels and keeps it for the session.
func (c *Carrier) travel(ctx context.Context, o *Opening) (*travelling, error) {
	t := &travelling{}
	source, err := c.Store.Stat(o.Checkpoint)
	if err != nil {
		return t, err
	}
	set, err := o.Rules.Apply(ctx, c.Store, source.Root)
	if err != nil {
		return t, err
	}
	if err := c.leaveGit(o, t, set, source); err != nil {
		return t, err
	}
	d := checkpoint.DeriveOptions{Drop: set.Drop, Pin: t.pin(o, "")}
	if o.To.local() && !o.From.Local {
		d.GitFrom = &o.Base // nothing that git would run comes out of a container
	}
	var left []checkpoint.Left
	if t.sent, left, err = c.Store.Derive(ctx, o.Checkpoint, d); err != nil {
		return t, err
	}
	t.keep(d.Pin)
	if err := c.bases(ctx, o, t, set); err != nil {
		return t, err
	}
	t.out.Checkpoint, t.out.Notes = t.sent.ID, set.Notes
	if err := c.describe(t, source, left); err != nil {
		return t, err
	}
	return t, c.fault(StepDerived)
}

// pin returns what a checkpoint is kept for, or nil in a dry run. part parts those of one effect.
func (t *travelling) pin(o *Opening, part string) *checkpoint.Ref {
	if o.DryRun {
		return nil
	}
	r := o.Session
	r.Effect += part
	return &r
}

func (t *travelling) keep(pin *checkpoint.Ref) {
	if pin != nil {
		t.pinned = append(t.pinned, *pin)
	}
}

// bases finds out what a way back, and an adoption by a parent, will be compared with: of each tree, what has a counterpart in
// the new place. What does not travel must not look as if it had been removed there.
func (c *Carrier) bases(ctx context.Context, o *Opening, t *travelling, set *Set) (err error) {
	t.out.Base = t.sent.ID
	if o.Base != "" {
		if t.out.Base, err = c.counterpart(ctx, o, t, set, o.Base, "/base"); err != nil {
			return err
		}
	}
	if o.Taken != "" {
		t.out.Taken, err = c.counterpart(ctx, o, t, set, o.Taken, "/taken")
	}
	return err
}

// counterpart keeps of a tree what has a counterpart in the new place. part parts what is kept for one effect.
func (c *Carrier) counterpart(ctx context.Context, o *Opening, t *travelling, set *Set, of, part string) (string, error) {
	if of == o.Checkpoint {
		return t.sent.ID, nil
	}
	pin := t.pin(o, part)
	info, _, err := c.Store.Derive(ctx, of, checkpoint.DeriveOptions{Drop: set.Drop, Pin: pin})
	if err != nil {
		return "", fmt.Errorf("keep the tree that it began as: %w", err)
	}
	t.keep(pin)
	return info.ID, nil
}

// describe counts what travels, and lists the first of it and of what does not.
func (c *Carrier) describe(t *travelling, source checkpoint.Info, left []checkpoint.Left) error {
	carry := &t.out.Carry
	carry.Files, carry.Skipped, carry.Conflicts = []editors.FileChange{}, []editors.Skipped{}, []editors.Skipped{}
	carry.Added, carry.Bytes = t.sent.Files+t.sent.Links, t.sent.Bytes
	for _, l := range left {
		skip(carry, l.Path, l.Reason)
	}
	t.out.LeftBehind = leftThere(carry, source.Notes, nil)
	return c.list(carry, t.sent.Root, "")
}

// list lists the first files of a tree.
func (c *Carrier) list(carry *editors.Carry, h tree.Hash, prefix string) error {
	if len(carry.Files) >= maxFiles {
		return nil
	}
	entries, err := c.Store.ReadDir(h)
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case len(carry.Files) >= maxFiles:
			return nil
		case e.Kind != tree.Dir:
			carry.Files = append(carry.Files, editors.FileChange{Path: text(prefix + e.Name), Kind: "added"})
			continue
		}
		if err := c.list(carry, e.Hash, prefix+e.Name+"/"); err != nil {
			return err
		}
	}
	return nil
}
