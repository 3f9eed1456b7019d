// This file makes the checkpoint of what a merge leaves: its plan, not the disk, on which others write meanwhile.

package checkpoint

import (
	"path"
	"slices"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
)

// left makes the checkpoint of ours with the steps that were done. What somebody writes while a merge runs is not in it, so
// that it stays theirs.
func (p *planner) left(done []worktree.Step) (Info, error) {
	if len(done) == 0 {
		return p.ours, nil
	}
	d := &deriver{ctx: p.ctx, s: p.s, groups: map[uint64]*hardLinks{}}
	b, err := d.stepped("", p.ours.Root, stepsByDir(done))
	if err != nil {
		return Info{}, err
	}
	if d.writer, err = p.s.packs.NewWriter(); err != nil {
		return Info{}, err
	}
	defer d.writer.Abort()
	if d.made.Root, err = d.write("", b); err != nil {
		return Info{}, err
	}
	return d.commit(p.ours)
}

// stepsByDir sorts steps by the directory that they change, and lists the directories above these with none.
func stepsByDir(steps []worktree.Step) map[string][]worktree.Step {
	byDir := map[string][]worktree.Step{}
	for _, s := range steps {
		dir := parent(s.Path)
		byDir[dir] = append(byDir[dir], s)
		for dir != "" {
			dir = parent(dir)
			if _, known := byDir[dir]; known {
				break
			}
			byDir[dir] = nil
		}
	}
	return byDir
}

// stepped selects for every name of a directory what a step has made of it, else what is there.
func (d *deriver) stepped(at string, h tree.Hash, steps map[string][]worktree.Step) (*branch, error) {
	here, touched := steps[at]
	if !touched {
		return d.whole(at, h)
	}
	entries, err := d.entries(h)
	if err != nil {
		return nil, err
	}
	after := make(map[string]*tree.Entry, len(entries))
	for i := range entries {
		after[entries[i].Name] = &entries[i]
	}
	for _, s := range here {
		after[path.Base(s.Path)] = s.After
	}
	names := make([]string, 0, len(after))
	for name, e := range after {
		if e != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	b := &branch{}
	for _, name := range names {
		was := dirHash(entryOf(entries, name))
		sub := func(at string, _ tree.Hash) (*branch, error) { return d.stepped(at, was, steps) }
		e := *after[name]
		e.Name = name
		if err := d.add(b, path.Join(at, name), &e, sub); err != nil {
			return nil, err
		}
	}
	return b, nil
}
