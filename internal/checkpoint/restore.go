// This file brings workspaces back to checkpoints.

package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
)

const opRestore = "restore a checkpoint"

// RestoreOptions say how a workspace is brought back.
type RestoreOptions struct {
	Paths  []string // only these and what is below them
	DryRun bool     // change nothing
	// LastSeen is the checkpoint of what the agent saw last: what the user changed since stays as it is. "": everything
	// that differs is restored.
	LastSeen string
	// EffectID makes repeating the restore harmless; it needs Pin. "": it is made anew.
	EffectID string
	// Pin is what the checkpoint of the tree as it was is kept for; without, the next GC may collect it.
	Pin *Ref
	// Take says how the tree as it is now is pictured: as the checkpoint was, or else what was excluded counts as removed.
	Take TakeOptions
}

// Restored is the outcome of a restore.
type Restored struct {
	Restored []string        // paths that are as in the checkpoint now, or would be; sorted
	Kept     []worktree.Kept // paths that differ from it and stay, with the reason
	Undo     string          // checkpoint of the tree as it was
}

// RestoreEmpty makes the tree of a checkpoint in an empty workspace, times included. All objects are read first; then
// everything is built beside and appears at the end. A workspace that is not empty is refused with ClassConflict.
func (s *Store) RestoreEmpty(ctx context.Context, id string, w Workspace, effectID string) error {
	info, err := s.Stat(id)
	if err != nil {
		return err
	}
	if err := s.Verify(ctx, id); err != nil {
		return err
	}
	p := planner{ctx: ctx, s: s, now: Info{Root: tree.Empty}, target: info, fresh: true}
	p.target.Notes = nil // what is not there cannot be met
	if err := p.plan(); err != nil {
		return classed(opRestore, err)
	}
	_, err = s.apply(ctx, w, worktree.Change{ID: orRandom(effectID), Fresh: true, Steps: p.steps}, info.Root)
	return err
}

// RestoreOnto brings a workspace to a checkpoint by changing what differs and nothing else. The tree as it is goes into
// a checkpoint first. Files of git's own, wherever a .git is, stay as they are. What a checkpoint does not hold, what the user changed since LastSeen and what changes while this
// runs stays as it is and is told. Whatever fails, the tree is as it was.
func (s *Store) RestoreOnto(ctx context.Context, id string, w Workspace, o RestoreOptions) (Restored, error) {
	target, err := s.Stat(id)
	if err != nil {
		return Restored{}, err
	}
	now, err := s.before(ctx, w, &o)
	if err != nil {
		return Restored{}, err
	}
	p := planner{ctx: ctx, s: s, now: now, target: target, opts: o}
	if err := p.plan(); err != nil {
		return Restored{}, classed(opRestore, err)
	}
	out := Restored{Kept: p.kept}
	if !o.DryRun {
		out.Undo = now.ID
	}
	if !o.DryRun && len(p.steps) > 0 {
		done, err := s.apply(ctx, w, worktree.Change{ID: orRandom(o.EffectID), Steps: p.steps}, target.Root)
		if err != nil {
			return Restored{}, err
		}
		out.Kept = append(out.Kept, done.Kept...)
	}
	out.Restored = restored(p.steps, out.Kept)
	return out, nil
}

// before takes the checkpoint of the tree as it is, or finds the one that an earlier try of the same restore took.
func (s *Store) before(ctx context.Context, w Workspace, o *RestoreOptions) (Info, error) {
	if o.EffectID != "" && o.Pin != nil && !o.DryRun {
		o.Pin.Effect, o.Pin.Reason = o.EffectID, Undo
		refs, err := s.List(o.Pin.Session, o.Pin.Folder)
		if err != nil {
			return Info{}, err
		}
		for _, r := range refs {
			if r.Reason == Undo && r.Effect == o.EffectID {
				return s.Stat(r.Checkpoint)
			}
		}
	}
	take := o.Take
	if take.Pin = nil; !o.DryRun {
		take.Pin = o.Pin
	}
	return s.Take(ctx, w, take)
}

func (s *Store) apply(ctx context.Context, w Workspace, c worktree.Change, root tree.Hash) (worktree.Outcome, error) {
	done, err := worktree.Apply(ctx, w, c, s.content, func(b worktree.Begun) error { return s.checkNames(ctx, root, b) })
	return done, classed(opRestore, err)
}

func restored(steps []worktree.Step, kept []worktree.Kept) []string {
	left := make(map[string]bool, len(kept))
	for _, k := range kept {
		left[k.Path] = true
	}
	var paths []string
	for i := range steps {
		if !left[steps[i].Path] {
			paths = append(paths, steps[i].Path)
		}
	}
	slices.Sort(paths)
	return paths
}

func orRandom(id string) string {
	if id != "" {
		return id
	}
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
