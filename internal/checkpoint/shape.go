// This file sees to it that what is planned can be: what is put somewhere has a directory, and a directory that goes is
// empty by then.

package checkpoint

import (
	"maps"
	"path"
	"slices"

	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
)

const dirMode = 0o755 // of a directory that is on no side

func (p *planner) shape() error {
	if p.fresh {
		return nil // a whole tree
	}
	paths := slices.Sorted(maps.Keys(p.next))
	for _, at := range paths {
		if p.next[at].after == nil {
			continue
		}
		ok, err := p.ensure(parent(at))
		if err != nil {
			return err
		}
		if !ok {
			delete(p.next, at)
			p.blocked(at)
		}
	}
	return p.clear(paths)
}

// blocked tells that a path has no place, unless that was told of a directory above it.
func (p *planner) blocked(at string) {
	for dir := parent(at); dir != ""; dir = parent(dir) {
		if p.told[dir] {
			return
		}
	}
	p.conflict(at, "its directory is something else here")
}

// ensure tells whether there is a directory at a path afterwards, where need be one that is made for it.
func (p *planner) ensure(dir string) (bool, error) {
	if dir == "" {
		return true, nil
	}
	if ok, known := p.dirs[dir]; known {
		return ok, nil
	}
	ok, err := p.makeDir(dir)
	p.dirs[dir] = ok
	return ok, err
}

func (p *planner) makeDir(dir string) (bool, error) {
	if d := p.next[dir]; d != nil && d.after != nil {
		if d.after.Kind != tree.Dir {
			return false, nil
		}
		return p.ensure(parent(dir))
	}
	o, err := p.s.lookup(p.ours.Root, dir)
	switch {
	case err != nil || isDir(o):
		return err == nil, err
	case o != nil && (p.opts.OnConflict != Theirs || p.untouchable(dir)):
		return false, nil
	}
	if ok, err := p.ensure(parent(dir)); err != nil || !ok {
		return false, err
	}
	t, err := p.s.lookup(p.theirs.Root, dir)
	if err != nil {
		return false, err
	}
	if !isDir(t) {
		t = &tree.Entry{Name: path.Base(dir), Kind: tree.Dir, Mode: dirMode}
	}
	p.next[dir] = &decision{ours: o, after: t, over: o != nil}
	return true, nil
}

// clear takes back that a directory goes which is not empty by then. paths are those of all decisions, in order.
func (p *planner) clear(paths []string) error {
	holds := p.holding()
	for _, dir := range slices.Backward(paths) {
		d := p.next[dir]
		if d == nil || !isDir(d.ours) || isDir(d.after) || !holds[dir] {
			continue
		}
		if d.after == nil {
			delete(p.next, dir)
			p.keep(dir, "it holds what stays")
			continue
		}
		if ok, err := p.empty(dir); err != nil {
			return err
		} else if !ok {
			delete(p.next, dir)
			p.conflict(dir, "it is a directory here that holds what stays")
		}
	}
	return nil
}

// holding returns the directories that something of ours stays in.
func (p *planner) holding() map[string]bool {
	holds := map[string]bool{}
	mark := func(at string) {
		for dir := parent(at); dir != "" && !holds[dir]; dir = parent(dir) {
			holds[dir] = true
		}
	}
	stays := func(at string) {
		after := p.oursAt(at)
		if d := p.next[at]; d != nil {
			after = d.after
		}
		if after != nil {
			mark(at)
		}
	}
	for at := range p.was {
		stays(at)
	}
	for at := range p.mine {
		stays(at)
	}
	for at := range p.next {
		stays(at)
	}
	for _, n := range p.ours.Notes {
		if n.Reason.Left() {
			mark(n.Path)
		}
	}
	for at := range p.opts.Held {
		mark(at)
	}
	return holds
}

// empty plans to remove everything in a directory for what they have in its place, if that may be.
func (p *planner) empty(dir string) (bool, error) {
	if p.opts.OnConflict != Theirs {
		return false, nil
	}
	o, err := p.s.lookup(p.ours.Root, dir)
	if err != nil || !isDir(o) {
		return false, err
	}
	inside := map[string]*decision{}
	free := true
	err = p.s.walk(p.ctx, o.Hash, dir+"/", func(at string, e *tree.Entry) error {
		_, git := repo.Of(at)
		_, held := p.opts.Held[at]
		free = free && !git && !held
		inside[at] = &decision{ours: e, over: true}
		return nil
	})
	for _, n := range p.ours.Notes {
		free = free && !(n.Reason.Left() && within(dir, n.Path))
	}
	if err != nil || !free {
		return false, err
	}
	for at, d := range inside {
		if p.next[at] == nil {
			p.next[at] = d
		}
	}
	p.next[dir].over = true
	return true, nil
}
