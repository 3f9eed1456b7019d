// This file brings workspaces back to checkpoints.

package checkpoint

import (
	"cmp"
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
	// LastSeen is the checkpoint of what the agent saw last: what the user changed since stays. "": everything that differs
	// is restored.
	LastSeen string
	// Since are the refs by which restores of some paths, made after LastSeen, can be undone, oldest first: what they brought
	// is nothing that the user changed.
	Since []Ref
	// EffectID makes repeating the restore harmless; it needs Pin. "": it is made anew.
	EffectID string
	// Pin is what the checkpoint of the tree as it was is kept for; without, the next GC may collect it.
	Pin *Ref
	// Take says how the tree as it is now is pictured: as the checkpoint was, or else what was excluded counts as removed.
	Take  TakeOptions
	Held  map[string]string // see MergeOptions
	Lacks []string          // see MergeOptions
}

// Restored is the outcome of a restore.
type Restored struct {
	Restored []string        // paths of Files
	Files    []FileChange    // what is as in the checkpoint now, or would be; Joined: but for what the user changed since
	Kept     []worktree.Kept // paths that differ from it and stay, with the reason, sorted
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
	nothing := Info{Root: tree.Empty}
	p := planner{ctx: ctx, s: s, base: nothing, ours: nothing, theirs: info, fresh: true}
	p.theirs.Notes = nil // what is not there cannot be met
	if err := p.plan(); err != nil {
		return classed(opRestore, err)
	}
	_, err = s.apply(ctx, w, worktree.Change{ID: orRandom(effectID), Fresh: true, Steps: p.steps}, info.Root)
	return err
}

// RestoreOnto brings a workspace to a checkpoint by changing what differs and nothing else: a Merge of what changed from
// LastSeen to the checkpoint, in which the workspace's own changes win. Git's own state stays as it is.
func (s *Store) RestoreOnto(ctx context.Context, id string, w Workspace, o RestoreOptions) (Restored, error) {
	p := &planner{ctx: ctx, s: s, onto: true, since: o.Since, opts: MergeOptions{
		Base: o.LastSeen, Theirs: id, Paths: o.Paths, DryRun: o.DryRun, OnConflict: Mine, EffectID: o.EffectID, Pin: o.Pin,
		Take: o.Take, Held: o.Held, Lacks: o.Lacks,
	}}
	m, err := p.run(w)
	if err != nil {
		return Restored{}, s.Blame(ctx, classed(opRestore, err), o.LastSeen, id)
	}
	out := Restored{Files: m.Files, Undo: m.Undo, Kept: slices.Concat(m.Kept, m.Conflicts)}
	slices.SortStableFunc(out.Kept, func(a, b worktree.Kept) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range m.Files {
		out.Restored = append(out.Restored, f.Path)
	}
	return out, nil
}

// remember keeps what a later restore needs to tell what the user changed since. What was to be done is done: if this
// fails, the later one restores more, which can be taken back.
func (p *planner) remember() {
	pin := p.opts.Pin
	if pin == nil || pin.After != "" {
		return
	}
	after, err := p.left(p.done)
	if err != nil {
		return
	}
	if pin.After = after.ID; p.onto {
		pin.To, pin.Paths = p.theirs.ID, p.opts.Paths
	}
	_ = p.s.repin(*pin)
}

func (s *Store) apply(ctx context.Context, w Workspace, c worktree.Change, root tree.Hash) (worktree.Outcome, error) {
	done, err := worktree.Apply(ctx, w, c, s.content, func(b worktree.Begun) error { return s.checkNames(ctx, root, b) })
	return done, classed(opRestore, err)
}

func orRandom(id string) string {
	if id != "" {
		return id
	}
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
