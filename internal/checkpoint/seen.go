// This file finds out what a workspace was like before the user changed it.

package checkpoint

import (
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/tree"
)

// LastSeen returns what RestoreOptions need to tell the user's changes from others in a restore to a checkpoint, given the
// refs of a session, oldest first. Where it takes the latest restore back, that is what that one left; else the newest
// checkpoint of the agent's work, or the one that was restored since. A restore that is repeated under effect, if not "",
// sees what it saw when it was made.
func LastSeen(refs []Ref, to, effect string) (id string, since []Ref) {
	if made := slices.IndexFunc(refs, func(r Ref) bool { return effect != "" && r.Reason == Undo && r.Effect == effect }); made >= 0 {
		refs = refs[:made]
	}
	for _, r := range slices.Backward(refs) {
		if r.Reason == Turn {
			break
		}
		if r.Reason == Undo {
			if r.Checkpoint == to && r.After != "" {
				return r.After, nil
			}
			break
		}
	}
	return seen(refs)
}

func seen(refs []Ref) (id string, since []Ref) {
	for i, r := range slices.Backward(refs) {
		switch {
		case r.Reason != Turn && r.Reason != Undo:
			continue
		case r.Reason == Turn:
			id = r.Checkpoint
		case r.To == "": // a merge
			id = r.After
		case len(r.Paths) > 0:
			since = append(since, r)
			continue
		default:
			id, since = restored(refs[:i], r.To, since)
		}
		break
	}
	slices.Reverse(since)
	return id, since
}

// restored is what was seen after a restore to a checkpoint: that, or, where it takes an earlier restore back, what was seen
// before that. later are restores made since, the latest first.
func restored(refs []Ref, to string, later []Ref) (id string, since []Ref) {
	for i, r := range slices.Backward(refs) {
		if r.Reason == Undo && r.Checkpoint == to {
			id, since = seen(refs[:i])
			slices.Reverse(since)
			return id, append(later, since...)
		}
	}
	return to, later
}

// lastSeen is the base of the merge.
func (p *planner) lastSeen() (Info, error) {
	base := Info{Root: tree.Empty}
	from := p.opts.Base
	if from == "" && len(p.since) > 0 {
		from = p.since[0].Checkpoint
	}
	var err error
	if from != "" {
		if base, err = p.s.Stat(from); err != nil {
			return base, err
		}
	}
	if len(p.since) == 0 {
		return base, nil
	}
	w, err := p.s.packs.NewWriter()
	if err != nil {
		return base, err
	}
	defer w.Abort()
	g := grafter{s: p.s, w: w, made: map[tree.Hash][]tree.Entry{}}
	for _, r := range p.since {
		to, err := p.s.Stat(r.To)
		if err != nil {
			return base, err
		}
		for _, path := range r.Paths {
			if base.Root, err = g.graft(base.Root, to.Root, path); err != nil {
				return base, err
			}
		}
		base.Notes = slices.Concat(base.Notes, to.Notes)
	}
	slices.SortFunc(base.Notes, func(a, b tree.Note) int { return strings.Compare(a.Path, b.Path) })
	return base, w.Commit()
}

// grafter makes trees of others.
type grafter struct {
	s    *Store
	w    *pack.Writer
	made map[tree.Hash][]tree.Entry // not to be read from the store yet
}

func (g *grafter) dir(h tree.Hash) ([]tree.Entry, error) {
	if made, ok := g.made[h]; ok {
		return made, nil
	}
	return g.s.dir(h)
}

// graft returns onto with what from has at a path.
func (g *grafter) graft(onto, from tree.Hash, path string) (tree.Hash, error) {
	name, rest, deeper := strings.Cut(path, "/")
	if path == "." {
		return from, nil
	}
	entries, err := g.dir(onto)
	if err != nil {
		return onto, err
	}
	source, err := g.s.lookup(from, name)
	if err != nil {
		return onto, err
	}
	at, there := slices.BinarySearchFunc(entries, name, byName)
	if deeper {
		var old *tree.Entry
		if there {
			old = &entries[at]
		}
		if source, err = g.below(old, source, rest); err != nil {
			return onto, err
		}
	}
	entries = slices.Clone(entries)
	if there {
		entries = slices.Delete(entries, at, at+1)
	}
	if source != nil {
		entries = slices.Insert(entries, at, *source)
	}
	object := tree.EncodeDir(entries)
	h := tree.Sum(object)
	g.made[h] = entries
	return h, g.w.Add(h, object)
}

// below returns the directory that old becomes by grafting a path of source, of which either may be no directory.
func (g *grafter) below(old, source *tree.Entry, path string) (*tree.Entry, error) {
	if !isDir(old) && !isDir(source) {
		return old, nil
	}
	made := source
	if isDir(old) {
		made = old
	}
	e := *made
	var err error
	e.Hash, err = g.graft(dirHash(old), dirHash(source), path)
	return &e, err
}

func byName(e tree.Entry, name string) int { return strings.Compare(e.Name, name) }
