// This file makes the tree that a way back is compared with, when files came among others.

package checkpoint

import (
	"context"
	"path"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/tree"
)

// Rebase makes a checkpoint of base with everything that differs from sent to found as it is in found. When sent came among
// files that were there, and found is what was there afterwards, a merge from the result to what a workspace becomes then
// brings what changes later and nothing of what was there before. Notes of both base and found are its notes.
func (s *Store) Rebase(ctx context.Context, base, sent, found string, pin *Ref) (Info, error) {
	release, err := s.share(ctx)
	if err != nil {
		return Info{}, classed(opDerive, err)
	}
	defer release()
	var sides [3]Info
	for i, id := range []string{base, sent, found} {
		if sides[i], err = s.Stat(id); err != nil {
			return Info{}, err
		}
	}
	d := &deriver{ctx: ctx, s: s, opts: DeriveOptions{Pin: pin}, groups: map[uint64]*hardLinks{}}
	info, err := d.rebase(sides[0], sides[1], sides[2])
	return info, classed(opDerive, err)
}

func (d *deriver) rebase(base, sent, found Info) (Info, error) {
	root, err := d.over("", base.Root, sent.Root, found.Root)
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
	for _, n := range found.Notes {
		if covering(base.Notes, n.Path) == nil {
			base.Notes = append(slices.Clone(base.Notes), n)
			slices.SortFunc(base.Notes, func(a, b tree.Note) int { return strings.Compare(a.Path, b.Path) })
		}
	}
	return d.commit(base)
}

// over selects for every name of a directory what base has, or found where that differs from sent.
func (d *deriver) over(at string, base, sent, found tree.Hash) (*branch, error) {
	b := &branch{}
	if sent == found {
		return d.whole(at, base)
	}
	var sides [3][]tree.Entry
	var names []string
	for i, h := range []tree.Hash{base, sent, found} {
		entries, err := d.entries(h)
		if err != nil {
			return nil, err
		}
		sides[i] = entries
		for j := range entries {
			names = append(names, entries[j].Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := d.overEntry(b, path.Join(at, name), entryOf(sides[0], name), entryOf(sides[1], name), entryOf(sides[2], name)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (d *deriver) overEntry(b *branch, at string, base, sent, found *tree.Entry) error {
	take, sub := found, d.whole
	switch {
	case isDir(sent) && isDir(found):
		if sent.Same(found) && isDir(base) {
			take = base
		}
		sub = func(at string, _ tree.Hash) (*branch, error) { return d.over(at, dirHash(base), sent.Hash, found.Hash) }
	case sent.Same(found):
		take = base
	}
	if take == nil {
		return nil
	}
	return d.add(b, at, take, sub)
}

func entryOf(entries []tree.Entry, name string) *tree.Entry {
	at, ok := slices.BinarySearchFunc(entries, name, func(e tree.Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return nil
	}
	return &entries[at]
}
