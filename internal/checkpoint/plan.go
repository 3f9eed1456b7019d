// This file turns three trees into the steps that change the one on disk.

package checkpoint

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// planner decides path by path what becomes of a workspace: ours, to which what changed from base to theirs shall come.
type planner struct {
	ctx                context.Context
	s                  *Store
	base, ours, theirs Info
	fresh              bool // onto nothing, where git's own files can only be whole
	onto               bool // a restore: what differs from theirs is told, whoever changed it
	since              []Ref
	opts               MergeOptions
	texts              texts

	was       map[string]*tree.Entry // by path that they changed: what base has
	mine      map[string]difference  // by path: what changed from base to ours
	next      map[string]*decision   // by path: what changes
	dirs      map[string]bool        // whether something can be put into a directory; see ensure
	gits      []string               // repositories in which they changed something, in the order of paths
	told      map[string]bool        // paths of kept and conflicts
	kept      []worktree.Kept
	conflicts []worktree.Kept
	steps     []worktree.Step
	done      []worktree.Step // of steps: what was carried out
}

// decision is one path that changes; nil is nothing there.
type decision struct {
	ours, after *tree.Entry
	joined      bool // after has the changes of both sides in it
	over        bool // a change of ours is given up
}

func (d *decision) kind() Kind {
	switch {
	case d.ours == nil:
		return Added
	case d.after == nil:
		return Removed
	case d.joined:
		return Joined
	}
	return Changed
}

func (p *planner) plan() error {
	p.was, p.mine, p.next = map[string]*tree.Entry{}, map[string]difference{}, map[string]*decision{}
	p.dirs, p.told = map[string]bool{}, map[string]bool{}
	if err := p.s.compare(p.ctx, p.base.Root, p.ours.Root, func(d difference) error {
		p.mine[d.path] = d
		return nil
	}); err != nil {
		return err
	}
	all, err := p.s.differences(p.ctx, p.base.Root, p.theirs.Root)
	if err != nil {
		return err
	}
	for i := range all {
		p.was[all[i].path] = all[i].before
	}
	for i := range all {
		if err := p.decide(&all[i]); err != nil {
			return err
		}
	}
	for _, git := range p.gits {
		if err := p.mergeRepository(git); err != nil {
			return err
		}
	}
	if err := p.shape(); err != nil {
		return err
	}
	p.tellMine()
	return p.makeSteps()
}

func (p *planner) makeSteps() error {
	if len(p.next) > worktree.MaxSteps {
		return sandbox.Errorf(sandbox.ClassLimit, opMerge, "more than %d paths would change", worktree.MaxSteps)
	}
	grouped := false
	for _, path := range slices.Sorted(maps.Keys(p.next)) {
		d := p.next[path]
		p.steps = append(p.steps, worktree.Step{Path: path, Before: d.ours, After: d.after})
		grouped = grouped || (d.after != nil && d.after.Group != 0)
	}
	if grouped {
		if err := p.linkGroups(); err != nil {
			return err
		}
	}
	worktree.Sort(p.steps)
	return nil
}

// decide decides about one path that they changed.
func (p *planner) decide(d *difference) error {
	if !selected(p.opts.Paths, d.path) {
		return nil
	}
	if git, ok := repo.Of(d.path); ok && !p.fresh {
		p.meetGit(git, d)
		return nil
	}
	o := p.oursAt(d.path)
	group := mergeGroup(d.before, o, d.after)
	switch {
	case o.Same(d.after) && (o == nil || o.Group == group):
		return nil
	case p.untouchable(d.path):
		return nil
	case o.Same(d.before), o.Same(d.after):
		p.next[d.path] = &decision{ours: o, after: inGroup(d.after, group)}
		return nil
	}
	return p.both(d.path, d.before, o, d.after)
}

// oursAt returns what the workspace has at a path that they changed, or that is in mine.
func (p *planner) oursAt(path string) *tree.Entry {
	if m, ok := p.mine[path]; ok {
		return m.after
	}
	return p.was[path]
}

// untouchable tells whether a path must stay as it is, and keeps why: it is not in one of the pictures, or held.
func (p *planner) untouchable(path string) bool {
	for _, side := range []*Info{&p.ours, &p.theirs, &p.base} {
		if n := covering(side.Notes, path); n != nil {
			p.keep(path, leftAlone(side == &p.ours, n.Reason))
			return true
		}
	}
	reason, held := p.opts.Held[path]
	if held {
		p.conflict(path, reason)
	}
	return held
}

// leftAlone says why a path stays that is not in one of the pictures: that of now, or one of before.
func leftAlone(now bool, reason tree.Reason) string {
	switch {
	case now && reason == tree.Unreadable:
		return "it cannot be read now, so it was left alone"
	case now:
		return "no checkpoint can hold it as it is now (" + reason.String() + "), so it was left alone"
	}
	return "it is not part of the checkpoint: " + reason.String()
}

func (p *planner) keep(path, reason string) {
	if !p.told[path] {
		p.told[path] = true
		p.kept = append(p.kept, worktree.Kept{Path: path, Reason: reason})
	}
}

func (p *planner) conflict(path, reason string) {
	if !p.told[path] {
		p.told[path] = true
		p.conflicts = append(p.conflicts, worktree.Kept{Path: path, Reason: reason, Conflict: true})
	}
}

// meetGit notes that they changed something of git's own.
func (p *planner) meetGit(git string, d *difference) {
	switch {
	case p.opts.Git == GitLeave:
		if !p.oursAt(d.path).Same(d.after) {
			p.keep(git, cmp.Or(p.opts.GitStays, gitStays))
		}
	case len(p.gits) == 0 || p.gits[len(p.gits)-1] != git:
		p.gits = append(p.gits, git)
	}
}

const gitStays = "git's own state is left alone; use git to go back in it"

// tellMine tells, for a restore, what only the user changed.
func (p *planner) tellMine() {
	if !p.onto {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(p.mine)) {
		if _, theirs := p.was[path]; theirs || !selected(p.opts.Paths, path) {
			continue
		}
		if git, ok := repo.Of(path); ok {
			p.keep(git, gitStays)
			continue
		}
		p.keep(path, "you changed it since")
	}
}

// covering returns the note of a path that is not in a picture, or of a directory above it.
func covering(notes []tree.Note, path string) *tree.Note {
	if len(notes) == 0 {
		return nil
	}
	for p := path; p != ""; p = parent(p) {
		at, ok := slices.BinarySearchFunc(notes, p, func(n tree.Note, p string) int { return strings.Compare(n.Path, p) })
		if ok && notes[at].Reason.Left() {
			return &notes[at]
		}
	}
	return nil
}

// parent returns the path of the directory that a path is in, "" for the root.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }
