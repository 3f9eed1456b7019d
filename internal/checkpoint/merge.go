// This file brings into a workspace what changed from one checkpoint to another, beside what changed in it meanwhile.

package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

const opMerge = "merge a checkpoint"

// OnConflict says what becomes of paths that both sides changed in ways that do not go together.
type OnConflict string

// The ways. "" is Fail.
const (
	Fail   OnConflict = "fail"   // nothing is applied; the conflicts are told
	Mine   OnConflict = "mine"   // all else is applied; what the workspace has stays
	Theirs OnConflict = "theirs" // what the workspace has is replaced; it is in the checkpoint Merged.Undo
)

// GitMode says what becomes of git's own state, wherever a repository is.
type GitMode int

// The modes. In both, what git runs or follows (settings, hooks, links to elsewhere) stays as the workspace has it.
const (
	GitLeave GitMode = iota // it stays as it is
	// GitMerge adds objects, and takes index, branches and all that belongs to them whole from the side that changed
	// them. If both did, the workspace's stay, and those that come are kept below refs/sandbox-agent: a conflict.
	GitMerge
)

// MergeOptions say what is merged and how.
type MergeOptions struct {
	Base   string // checkpoint that both sides go back to; "": an empty folder
	Theirs string // checkpoint whose changes since Base come
	// Lacks are checkpoints that note what did not travel to where Theirs was taken: that counts as unknown there, never as removed.
	Lacks []string
	// Paths: only these and what is below them; relative to the root.
	Paths      []string
	DryRun     bool // change nothing
	OnConflict OnConflict
	Git        GitMode
	GitStays   string // why git's own state stays with GitLeave; default: it is left alone
	// EffectID makes repeating the merge harmless; it needs Pin. "": it is made anew.
	EffectID string
	// Pin is what the checkpoint of the tree as it was is kept for; without, the next GC may collect it.
	Pin *Ref
	// Take says how the tree as it is now is pictured: as the checkpoints were, or else what was excluded counts as removed.
	Take TakeOptions
	// Held are paths that are never written, with the reason: an editor has unsaved changes of them. They count as changed.
	Held map[string]string
}

// FileChange is one path that a merge changes.
type FileChange struct {
	Path string
	Kind Kind // Added, Changed, Removed or Joined
	// Overruled: the workspace had a change of its own, which is in the undo checkpoint alone. Only with Theirs.
	Overruled bool
}

// Merged is the outcome of a merge. All lists are sorted by path.
type Merged struct {
	Undo      string          // checkpoint of the tree as it was; "" when nothing was to be applied
	Files     []FileChange    // what changed, or would
	Kept      []worktree.Kept // what stays although it differs, with the reason
	Conflicts []worktree.Kept // what stays because both sides changed it, with the reason
	Bytes     int64           // of content that had to be brought
	Applied   bool            // the workspace is as Files say; else nothing in it was changed
}

// Merge brings what changed from o.Base to o.Theirs into a workspace, three-way: what only they changed comes, what only
// the workspace changed stays, texts that both changed are joined by lines. The tree as it is goes into a checkpoint first.
// What no checkpoint holds and what changes while this runs stays as it is and is told. Conflicts are an outcome, no error.
// Whatever fails, the tree is as it was. It fails with ClassNotFound and ClassCorrupt for checkpoints that are not there
// or damaged, with ClassLimit for too little disk, and with ClassInvalid or ClassNotFound for Paths that are none.
func (s *Store) Merge(ctx context.Context, w Workspace, o MergeOptions) (Merged, error) {
	p := &planner{ctx: ctx, s: s, opts: o}
	out, err := p.run(w)
	return out, s.Blame(ctx, classed(opMerge, err), o.Base, o.Theirs)
}

// run keeps the collector away from checkpoints and merged texts until all is done.
func (p *planner) run(w Workspace) (Merged, error) {
	release, err := p.s.share(p.ctx)
	if err != nil {
		return Merged{}, err
	}
	defer release()
	if err := p.look(w); err != nil {
		return Merged{}, err
	}
	defer p.texts.abort()
	if err := p.plan(); err != nil {
		return Merged{}, err
	}
	out := p.outcome()
	switch {
	case p.opts.DryRun:
		return out, nil
	case len(p.conflicts) > 0 && p.opts.OnConflict.fails():
		return out, p.forgetUndo()
	}
	if err := p.apply(w, &out); err != nil {
		return Merged{}, p.without(err, out.Bytes)
	}
	p.remember()
	return out, nil
}

func (c OnConflict) fails() bool { return c != Mine && c != Theirs }

// look finds the three sides.
func (p *planner) look(w Workspace) (err error) {
	p.texts.s, p.texts.dry = p.s, p.opts.DryRun
	if err := p.cleanPaths(); err != nil {
		return err
	}
	if p.theirs, err = p.s.Stat(p.opts.Theirs); err != nil {
		return err
	}
	if err := p.lacks(); err != nil {
		return err
	}
	if p.base, err = p.lastSeen(); err != nil {
		return err
	}
	if p.ours, err = p.before(w); err != nil {
		return err
	}
	if p.onto && p.opts.Base == "" && len(p.since) == 0 {
		p.base = p.ours
	}
	if err := p.findPaths(); err != nil {
		return errors.Join(err, p.forgetUndo())
	}
	return nil
}

// lacks adds to what is known of theirs what did not travel there.
func (p *planner) lacks() error {
	for _, id := range p.opts.Lacks {
		from, err := p.s.Stat(id)
		if err != nil {
			return err
		}
		for _, n := range from.Notes {
			if n.Reason == tree.Excluded && covering(p.theirs.Notes, n.Path) == nil {
				p.theirs.Notes = append(slices.Clone(p.theirs.Notes), n)
				slices.SortFunc(p.theirs.Notes, func(a, b tree.Note) int { return strings.Compare(a.Path, b.Path) })
			}
		}
	}
	return nil
}

// before takes the checkpoint of the tree as it is, or finds the one that an earlier try of the same effect took.
func (p *planner) before(w Workspace) (Info, error) {
	o := &p.opts
	if o.Pin != nil {
		o.Pin.Reason = Undo
	}
	if o.EffectID != "" && o.Pin != nil && !o.DryRun {
		o.Pin.Effect = o.EffectID
		refs, err := p.s.List(o.Pin.Session, o.Pin.Folder)
		if err != nil {
			return Info{}, err
		}
		for _, r := range refs {
			if r.Reason == Undo && r.Effect == o.EffectID {
				*o.Pin = r
				return p.s.Stat(r.Checkpoint)
			}
		}
	}
	take := o.Take
	if take.Pin = nil; !o.DryRun {
		take.Pin = o.Pin
	}
	return p.s.Take(p.ctx, w, take)
}

// forgetUndo lets the checkpoint go that was taken for nothing, so that another try under the same id looks anew.
func (p *planner) forgetUndo() error {
	if p.opts.Pin == nil {
		return nil
	}
	return p.s.Unpin(*p.opts.Pin)
}

// without is the error of a merge that could not be applied. One that found no room has changed nothing for certain, so that
// there is nothing to undo.
func (p *planner) without(err error, bytes int64) error {
	var known *sandbox.Error
	if !errors.Is(err, pack.ErrFull) && !noSpace(err) && !(errors.As(err, &known) && known.Message == worktree.NoSpace) {
		return err
	}
	if bytes > 0 {
		err = &sandbox.Error{
			Class: sandbox.ClassLimit, Op: opMerge, Err: err,
			Message: fmt.Sprintf("there is no room for what would come, about %d MiB; nothing was changed: free some space on the disk of the workspace and try again", max(bytes>>20, 1)),
		}
	}
	return errors.Join(err, p.forgetUndo())
}

// cleanPaths refuses paths that lead out of the workspace.
func (p *planner) cleanPaths() error {
	paths := make([]string, 0, len(p.opts.Paths))
	for _, given := range p.opts.Paths {
		path := strings.TrimSuffix(strings.TrimPrefix(given, "./"), "/")
		switch {
		case path == ".", given == "./":
			path = "."
		case tree.CheckPath(path) != nil:
			return &sandbox.Error{Class: sandbox.ClassInvalid, Op: opMerge, Path: given, Message: "it is no path in the workspace; name one relative to its folder"}
		}
		paths = append(paths, path)
	}
	p.opts.Paths = paths
	return nil
}

// findPaths refuses paths that are nowhere.
func (p *planner) findPaths() error {
	for _, path := range p.opts.Paths {
		known, err := p.known(path)
		if err != nil {
			return err
		}
		if !known {
			return &sandbox.Error{Class: sandbox.ClassNotFound, Op: opMerge, Path: path, Message: "it is neither in the checkpoint nor in the workspace"}
		}
	}
	return nil
}

// known tells whether a path is on one of the sides.
func (p *planner) known(path string) (bool, error) {
	if path == "." {
		return true, nil
	}
	for _, side := range []*Info{&p.theirs, &p.ours, &p.base} {
		if covering(side.Notes, path) != nil {
			return true, nil
		}
		if e, err := p.s.lookup(side.Root, path); err != nil || e != nil {
			return e != nil, err
		}
	}
	return false, nil
}

// outcome tells what is planned.
func (p *planner) outcome() Merged {
	out := Merged{Kept: p.kept, Conflicts: p.conflicts}
	for i := range p.steps {
		s := &p.steps[i]
		d := p.next[s.Path]
		out.Files = append(out.Files, FileChange{Path: s.Path, Kind: d.kind(), Overruled: d.over})
		if s.NeedsContent() {
			out.Bytes += s.After.Size
		}
	}
	out.sort()
	return out
}

func (m *Merged) sort() {
	slices.SortFunc(m.Files, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	for _, list := range [][]worktree.Kept{m.Kept, m.Conflicts} {
		slices.SortStableFunc(list, func(a, b worktree.Kept) int { return cmp.Compare(a.Path, b.Path) })
	}
}

// apply makes what is planned, and tells in out what became of it.
func (p *planner) apply(w Workspace, out *Merged) error {
	out.Undo, out.Applied = p.ours.ID, true
	if len(p.steps) == 0 {
		return nil
	}
	if err := p.texts.commit(); err != nil {
		return err
	}
	done, err := p.s.apply(p.ctx, w, worktree.Change{ID: orRandom(p.opts.EffectID), Steps: p.steps}, p.theirs.Root)
	if err != nil {
		return err
	}
	left := make(map[string]bool, len(done.Kept))
	for _, k := range done.Kept {
		left[k.Path] = true
		if k.Conflict {
			out.Conflicts = append(out.Conflicts, k)
		} else {
			out.Kept = append(out.Kept, k)
		}
	}
	out.Files = slices.DeleteFunc(out.Files, func(f FileChange) bool { return left[f.Path] })
	p.done = slices.DeleteFunc(p.steps, func(s worktree.Step) bool { return left[s.Path] })
	out.sort()
	return nil
}
