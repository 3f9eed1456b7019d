// This file brings a tree among files that are there already.

package carry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// meet brings the tree among files that are there already, if the user wants that: they stay.
func (c *Carrier) meet(ctx context.Context, o *Opening, t *travelling, w checkpoint.Workspace) error {
	if err := consent(o); err != nil {
		return err
	}
	if err := measure(ctx, o, w); err != nil {
		return err
	}
	undo := o.Session
	undo.Summary = "Before the session moved into the folder"
	m, err := c.Store.Merge(ctx, w, o.meeting(t, &undo))
	if err != nil {
		return err
	}
	t.met = undo
	report(&t.out.Carry, m)
	if err := c.fault(StepFilled); err != nil {
		return err
	}
	now, err := c.Store.Take(ctx, w, t.take(o))
	if err != nil {
		return err
	}
	if err := c.arrived(o, t, now); err != nil {
		return err
	}
	return c.rebase(ctx, o, t, now)
}

// measure refuses a folder that is too large to be pictured, before it is read.
func measure(ctx context.Context, o *Opening, w checkpoint.Workspace) error {
	folder, ok := w.(*worktree.Tree)
	if !ok {
		return nil
	}
	return folder.Measure(ctx, worktree.ScanOptions{Excludes: o.Take.Excludes, Limits: o.Take.Limits})
}

func consent(o *Opening) error {
	if o.IntoNonEmpty {
		return nil
	}
	return sandbox.Errorf(sandbox.ClassConflict, opOpen,
		"the folder %s is not empty: choose another one, or consent to its files staying among those that come (intoNonEmpty, --yes in a terminal)", o.To.Spec.Workspace)
}

// meeting is the merge by which the tree comes.
func (o *Opening) meeting(t *travelling, undo *checkpoint.Ref) checkpoint.MergeOptions {
	return checkpoint.MergeOptions{
		Theirs: t.sent.ID, OnConflict: checkpoint.Mine, Git: checkpoint.GitMerge, EffectID: o.Session.Effect, Pin: undo, Take: o.Take,
	}
}

// rebase makes what the way back and an adoption are compared with: nothing of the files that were there travels unless it is
// changed.
func (c *Carrier) rebase(ctx context.Context, o *Opening, t *travelling, now checkpoint.Info) error {
	for part, base := range map[string]*string{"/base": &t.out.Base, "/taken": &t.out.Taken} {
		if *base == "" {
			continue
		}
		pin := o.Session
		pin.Effect += part
		info, err := c.Store.Rebase(ctx, *base, t.sent.ID, now.ID, &pin)
		if err != nil {
			return fmt.Errorf("keep the tree that it began as: %w", err)
		}
		t.keep(&pin)
		*base = info.ID
	}
	return nil
}

// planMeeting tells what would become of a local folder that has files.
func (c *Carrier) planMeeting(ctx context.Context, o *Opening, t *travelling) error {
	if !o.To.local() {
		return nil
	}
	entries, err := os.ReadDir(o.To.Spec.Workspace)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err := consent(o); err != nil {
		return err
	}
	folder, err := c.Store.Folder(o.To.Spec.Workspace)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := measure(ctx, o, folder); err != nil {
		return err
	}
	plan := o.meeting(t, nil)
	plan.DryRun = true
	m, err := c.Store.Merge(ctx, folder, plan)
	if err != nil {
		return err
	}
	report(&t.out.Carry, m)
	return nil
}

// part takes out again what a meeting has brought. What changed since stays.
func (c *Carrier) part(ctx context.Context, o *Opening, t *travelling) error {
	if t.met.Checkpoint == "" || t.met.After == "" {
		return nil
	}
	folder, err := c.Store.Folder(o.To.Spec.Workspace)
	if err != nil {
		return err
	}
	defer folder.Close()
	_, err = c.Store.Merge(ctx, folder, checkpoint.MergeOptions{
		Base: t.met.After, Theirs: t.met.Checkpoint, OnConflict: checkpoint.Mine, Git: checkpoint.GitMerge,
		EffectID: o.Session.Effect + "/back", Take: o.Take,
	})
	return err
}
