// This file makes checkpoints from others by leaving out what must not travel.

package checkpoint

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

const opDerive = "derive a checkpoint"

// DeriveOptions say what is left out.
type DeriveOptions struct {
	// Drop returns why a path is left out, with all that is below it, or "". It is called once for every path, a directory
	// before what is in it; not for what is below one that is left out. nil leaves out nothing.
	Drop func(path string, e *tree.Entry) (reason string)
	// GitFrom, when not nil, makes the tree safe for git: whatever git runs or follows, in every repository of the tree, is
	// as in this checkpoint; what that has not, or with "" all of it, is left out.
	GitFrom *string
	// Pin is what the checkpoint is kept for; without, the next GC may collect it.
	Pin *Ref
}

// Left is one path that was left out.
type Left struct {
	Path   string
	Reason string
}

const gitsOwn = "git runs or follows it: it stays on its machine"

// Derive makes a checkpoint from another by leaving paths out, which are noted in it as excluded. The same options give
// the same checkpoint; if nothing is left out, that is the one it is made from. It costs a look at every directory.
func (s *Store) Derive(ctx context.Context, id string, o DeriveOptions) (Info, []Left, error) {
	release, err := s.share(ctx)
	if err != nil {
		return Info{}, nil, classed(opDerive, err)
	}
	defer release()
	d := &deriver{ctx: ctx, s: s, opts: o}
	info, err := d.run(id)
	if err != nil {
		return Info{}, nil, s.Blame(ctx, classed(opDerive, err), id)
	}
	slices.SortFunc(d.left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return info, d.left, nil
}

// deriver builds the tree in memory first: leaving out one of several hard links renames the group of the others.
type deriver struct {
	ctx    context.Context
	s      *Store
	opts   DeriveOptions
	from   tree.Hash // of GitFrom
	left   []Left
	groups map[uint64]*hardLinks
	writer *pack.Writer
	made   worktree.Picture
}

// branch is one directory of the tree to be.
type branch struct {
	entries []tree.Entry
	below   []*branch // of the entries that are directories, in order
}

type hardLinks struct {
	first string
	count int
}

func (d *deriver) run(id string) (Info, error) {
	source, err := d.s.Stat(id)
	if err != nil {
		return Info{}, err
	}
	d.from, d.groups = tree.Empty, map[uint64]*hardLinks{}
	if d.opts.GitFrom != nil {
		if d.from, err = d.s.root(*d.opts.GitFrom); err != nil {
			return Info{}, err
		}
	}
	root, err := d.dir("", source.Root)
	if err != nil {
		return Info{}, err
	}
	if d.writer, err = d.s.packs.NewWriter(); err != nil {
		return Info{}, err
	}
	defer d.writer.Abort()
	if d.made.Root, err = d.write("", root); err != nil {
		return Info{}, err
	}
	if d.made.Root == source.Root && len(d.left) == 0 {
		return source, d.pin(id)
	}
	return d.commit(source)
}

// commit makes the checkpoint: objects, then the manifest, then the ref.
func (d *deriver) commit(source Info) (Info, error) {
	d.made.Notes = slices.Clone(source.Notes)
	for _, l := range d.left {
		d.made.Notes = append(d.made.Notes, tree.Note{Path: l.Path, Reason: tree.Excluded})
	}
	if len(d.made.Notes) > tree.MaxNotes {
		return Info{}, sandbox.Errorf(sandbox.ClassLimit, opDerive, "more than %d paths would be left out; leave out directories instead", tree.MaxNotes)
	}
	notes := ""
	if len(d.made.Notes) > 0 {
		object := tree.EncodeNotes(d.made.Notes)
		h := tree.Sum(object)
		notes = h.String()
		if err := d.writer.Add(h, object); err != nil {
			return Info{}, err
		}
	}
	if err := d.writer.Commit(); err != nil {
		return Info{}, err
	}
	m := newManifest(d.made, source.ID, notes)
	id, err := d.s.writeManifest(m)
	if err != nil {
		return Info{}, err
	}
	if err := d.pin(id); err != nil {
		return Info{}, err
	}
	info, err := d.s.info(id, m)
	_, info.Grown = d.writer.Added()
	return info, err
}

func (d *deriver) pin(id string) error {
	if d.opts.Pin == nil {
		return nil
	}
	d.opts.Pin.Checkpoint = id
	return d.s.Pin(*d.opts.Pin)
}

// dir selects what of a directory stays.
func (d *deriver) dir(at string, h tree.Hash) (*branch, error) {
	entries, err := d.entries(h)
	if err != nil {
		return nil, err
	}
	b := &branch{entries: make([]tree.Entry, 0, len(entries))}
	if d.opts.GitFrom != nil {
		if bare, err := d.bare(b, at, entries); err != nil || bare {
			return b, err
		}
	}
	for i := range entries {
		if err := d.entry(b, path.Join(at, entries[i].Name), &entries[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (d *deriver) entry(b *branch, at string, e *tree.Entry) error {
	if d.opts.GitFrom != nil && repo.Is(e.Name) {
		return d.git(b, at, e)
	}
	return d.add(b, at, e, d.dir)
}

func (d *deriver) entries(h tree.Hash) ([]tree.Entry, error) {
	if d.ctx.Err() != nil {
		return nil, context.Cause(d.ctx)
	}
	return d.s.dir(h)
}

// whole is dir for what comes from GitFrom.
func (d *deriver) whole(at string, h tree.Hash) (*branch, error) {
	entries, err := d.entries(h)
	if err != nil {
		return nil, err
	}
	b := &branch{}
	for i := range entries {
		if err := d.add(b, path.Join(at, entries[i].Name), &entries[i], d.whole); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// add takes an entry over unless it is dropped; sub selects what stays of a directory.
func (d *deriver) add(b *branch, at string, e *tree.Entry, sub func(string, tree.Hash) (*branch, error)) error {
	if d.opts.Drop != nil {
		if reason := d.opts.Drop(at, e); reason != "" {
			d.left = append(d.left, Left{at, reason})
			return nil
		}
	}
	if e.Kind == tree.Dir {
		below, err := sub(at, e.Hash)
		if err != nil {
			return err
		}
		b.below = append(b.below, below)
	}
	if e.Group != 0 {
		g := d.groups[e.Group]
		if g == nil {
			g = &hardLinks{first: at}
			d.groups[e.Group] = g
		}
		g.first, g.count = min(g.first, at), g.count+1
	}
	b.entries = append(b.entries, *e)
	return nil
}

// git takes over what is called as a repository's directory is.
func (d *deriver) git(b *branch, at string, e *tree.Entry) error {
	from, err := d.s.lookup(d.from, at)
	if err != nil {
		return err
	}
	if !isDir(e) || from != nil && !isDir(from) {
		return d.instead(b, at, e, from)
	}
	return d.add(b, at, e, func(at string, h tree.Hash) (*branch, error) {
		return d.gitDir(at, "", h, dirHash(from))
	})
}

// gitDir selects what of a directory of a repository comes from theirs and what from ours, which is trusted. below is its
// path in the repository.
func (d *deriver) gitDir(at, below string, theirs, ours tree.Hash) (*branch, error) {
	names := map[string][2]*tree.Entry{}
	for i, h := range []tree.Hash{theirs, ours} {
		entries, err := d.entries(h)
		if err != nil {
			return nil, err
		}
		for j := range entries {
			pair := names[entries[j].Name]
			pair[i] = &entries[j]
			names[entries[j].Name] = pair
		}
	}
	b := &branch{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := d.gitEntry(b, path.Join(at, name), path.Join(below, name), names[name][0], names[name][1]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (d *deriver) gitEntry(b *branch, at, below string, theirs, ours *tree.Entry) error {
	sub := func(h tree.Hash) func(string, tree.Hash) (*branch, error) {
		return func(at string, _ tree.Hash) (*branch, error) { return d.gitDir(at, below, h, dirHash(ours)) }
	}
	switch {
	case theirs != nil && travels(below, theirs):
		return d.add(b, at, theirs, sub(theirs.Hash))
	case theirs != nil || !travels(below, ours):
		return d.instead(b, at, theirs, ours)
	}
	rest, err := d.holdsOwn(below, ours) // they removed it; not all of it may be theirs to remove
	if err != nil || !rest {
		return err
	}
	return d.add(b, at, ours, sub(tree.Empty))
}

// holdsOwn tells whether something in a directory of a repository may not come from anybody.
func (d *deriver) holdsOwn(below string, e *tree.Entry) (bool, error) {
	if e.Kind != tree.Dir {
		return false, nil
	}
	entries, err := d.entries(e.Hash)
	for i := range entries {
		in := path.Join(below, entries[i].Name)
		if !travels(in, &entries[i]) {
			return true, nil
		}
		if own, err := d.holdsOwn(in, &entries[i]); err != nil || own {
			return own, err
		}
	}
	return false, err
}

// travels tells whether an entry of a repository may come from anybody.
func travels(below string, e *tree.Entry) bool {
	return e != nil && e.Kind != tree.Link && repo.PartOf(below, e.Kind == tree.Dir) != repo.Foreign
}

// instead takes over what we have in place of what they have.
func (d *deriver) instead(b *branch, at string, theirs, ours *tree.Entry) error {
	if ours != nil {
		return d.add(b, at, ours, d.whole)
	}
	if theirs != nil {
		d.left = append(d.left, Left{at, gitsOwn})
	}
	return nil
}

// write makes the objects of directories and counts what is in them.
func (d *deriver) write(at string, b *branch) (tree.Hash, error) {
	next := 0
	for i := range b.entries {
		e := &b.entries[i]
		switch e.Kind {
		case tree.Dir:
			h, err := d.write(path.Join(at, e.Name), b.below[next])
			if err != nil {
				return h, err
			}
			e.Hash = h
			next++
			d.made.Dirs++
		case tree.Link:
			d.made.Links++
		default:
			d.made.Files++
			d.made.Bytes += e.Size
		}
		if e.Group == 0 {
			continue
		}
		if g := d.groups[e.Group]; g.count > 1 {
			e.Group = tree.GroupOf(g.first)
		} else {
			e.Group = 0
		}
	}
	object := tree.EncodeDir(b.entries)
	h := tree.Sum(object)
	return h, d.writer.Add(h, object)
}
