// This file reads trees out of the store, and checks that they are whole.

package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// dir reads a directory.
func (s *Store) dir(h tree.Hash) ([]tree.Entry, error) {
	if h == tree.Empty {
		return nil, nil
	}
	b, err := s.packs.Get(h)
	if err != nil {
		return nil, err
	}
	return tree.DecodeDir(b)
}

// extents reads of what a large file is made up.
func (s *Store) extents(e *tree.Entry) ([]tree.Extent, error) {
	b, err := s.packs.Get(e.Hash)
	if err != nil {
		return nil, err
	}
	return tree.DecodeExtents(b, e.Size)
}

// whole reads a file that is one object.
func (s *Store) whole(e *tree.Entry) ([]byte, error) {
	b, err := s.packs.Get(e.Hash)
	if err == nil && int64(len(b)) != e.Size {
		err = fmt.Errorf("%w: %d bytes instead of %d", pack.ErrCorrupt, len(b), e.Size)
	}
	return b, classed(opRead, err)
}

// content gives the content of a file as worktree.Content.
func (s *Store) content(e *tree.Entry, put func(offset int64, data []byte) error) error {
	if !e.Chunked {
		b, err := s.whole(e)
		if err != nil || len(b) == 0 {
			return err
		}
		return put(0, b)
	}
	extents, err := s.extents(e)
	if err != nil {
		return classed(opRead, err)
	}
	for _, x := range extents {
		b, err := s.piece(x)
		if err != nil {
			return err
		}
		if err := put(x.Offset, b); err != nil {
			return err
		}
	}
	return nil
}

// piece reads an extent.
func (s *Store) piece(x tree.Extent) ([]byte, error) {
	b, err := s.packs.Get(x.Hash)
	if err == nil && len(b) != x.Size {
		err = fmt.Errorf("%w: a piece of %d bytes instead of %d", pack.ErrCorrupt, len(b), x.Size)
	}
	return b, classed(opRead, err)
}

// lookup returns the entry at a path of a tree, nil when there is none.
func (s *Store) lookup(root tree.Hash, path string) (*tree.Entry, error) {
	for {
		name, rest, deeper := strings.Cut(path, "/")
		entries, err := s.dir(root)
		if err != nil {
			return nil, err
		}
		at, ok := slices.BinarySearchFunc(entries, name, byName)
		switch {
		case !ok:
			return nil, nil
		case !deeper:
			return &entries[at], nil
		case entries[at].Kind != tree.Dir:
			return nil, nil
		}
		root, path = entries[at].Hash, rest
	}
}

// walk calls visit with every entry of a tree, a directory before what is in it.
func (s *Store) walk(ctx context.Context, h tree.Hash, prefix string, visit func(path string, e *tree.Entry) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	entries, err := s.dir(h)
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		if err := visit(prefix+e.Name, e); err != nil {
			return err
		}
		if e.Kind == tree.Dir {
			if err := s.walk(ctx, e.Hash, prefix+e.Name+"/", visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// completeness is a check that every object of a tree is in the store. A sandbox may lie: what it says is there need not
// be, and few objects can stand for very many paths.
type completeness struct {
	ctx   context.Context
	s     *Store
	limit int
	size  map[tree.Hash]int // entries below a directory that was checked
}

// checkComplete checks what differs from base, a tree that is known to be whole or empty.
func (s *Store) checkComplete(ctx context.Context, root, base tree.Hash, limit int) error {
	c := &completeness{ctx: ctx, s: s, limit: limit, size: map[tree.Hash]int{}}
	if base == (tree.Hash{}) {
		base = tree.Empty
	}
	_, err := c.dir(root, base, 0)
	return err
}

func (c *completeness) dir(h, base tree.Hash, depth int) (int, error) {
	switch n, ok := c.size[h]; {
	case ok:
		return n, nil
	case h == base || h == tree.Empty:
		return 0, nil
	case depth > tree.MaxDepth:
		return 0, fmt.Errorf("%w: too many directories in each other", tree.ErrFormat)
	case c.ctx.Err() != nil:
		return 0, context.Cause(c.ctx)
	}
	entries, err := c.s.dir(h)
	if err != nil {
		return 0, err
	}
	var old []tree.Entry
	if base != tree.Empty {
		if old, err = c.s.dir(base); err != nil {
			return 0, err
		}
	}
	total := len(entries)
	for i := range entries {
		n, err := c.entry(&entries[i], &old, depth)
		if err != nil {
			return 0, err
		}
		if total += n; total > c.limit {
			return 0, sandbox.Errorf(sandbox.ClassLimit, opTake, "the picture has more than %d paths", c.limit)
		}
	}
	if base == tree.Empty {
		c.size[h] = total
	}
	return total, nil
}

// entry checks one entry against that of its name in old, which is sorted and used up.
func (c *completeness) entry(e *tree.Entry, old *[]tree.Entry, depth int) (int, error) {
	for len(*old) > 0 && (*old)[0].Name < e.Name {
		*old = (*old)[1:]
	}
	base := tree.Empty
	if len(*old) > 0 && (*old)[0].Name == e.Name {
		o := (*old)[0]
		if o.Kind == e.Kind && o.Hash == e.Hash && o.Chunked == e.Chunked && o.Size == e.Size {
			return 0, nil
		}
		if o.Kind == tree.Dir {
			base = o.Hash
		}
	}
	switch {
	case e.Kind == tree.Dir:
		return c.dir(e.Hash, base, depth+1)
	case e.Kind != tree.File:
		return 0, nil
	case !c.s.packs.Has(e.Hash):
		return 0, fmt.Errorf("%w: %s of %q", pack.ErrMissing, e.Hash, e.Name)
	case !e.Chunked:
		return 0, nil
	}
	extents, err := c.s.extents(e)
	for _, x := range extents {
		if !c.s.packs.Has(x.Hash) {
			return 0, fmt.Errorf("%w: %s of %q", pack.ErrMissing, x.Hash, e.Name)
		}
	}
	return 0, err
}

// Verify reads every object of a checkpoint. It fails with ClassCorrupt when one is missing or damaged.
func (s *Store) Verify(ctx context.Context, id string) error {
	_, err := s.verify(ctx, id, nil)
	return err
}

// verify reads every object of a checkpoint but those known to be sound, and returns what it has read.
func (s *Store) verify(ctx context.Context, id string, sound map[tree.Hash]bool) ([]tree.Hash, error) {
	info, err := s.Stat(id)
	if err != nil {
		return nil, err
	}
	objects, err := s.objects(ctx, info.Root, sound)
	if err != nil {
		return nil, unreadable(id, err)
	}
	s.packs.Sort(objects)
	for _, h := range objects {
		if ctx.Err() != nil {
			return nil, classed(opVerify, context.Cause(ctx))
		}
		if _, err := s.packs.Get(h); err != nil {
			return nil, unreadable(id, err)
		}
	}
	return objects, nil
}

const opVerify = "verify checkpoint"

// unreadable says which checkpoint cannot be read.
func unreadable(id string, err error) error {
	if err = classed(opVerify, err); sandbox.ClassOf(err) == sandbox.ClassCorrupt {
		return damaged(id, err)
	}
	return err
}

// Blame says which of some checkpoints err, of reading them, is about.
func (s *Store) Blame(ctx context.Context, err error, ids ...string) error {
	if sandbox.ClassOf(err) != sandbox.ClassCorrupt {
		return err
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if verr := s.Verify(ctx, id); sandbox.ClassOf(verr) == sandbox.ClassCorrupt {
			return verr
		}
	}
	return err
}

// objects lists the objects of a tree, whose directories it reads, but those known to be sound and what is below them.
func (s *Store) objects(ctx context.Context, root tree.Hash, sound map[tree.Hash]bool) ([]tree.Hash, error) {
	m := marker{ctx: ctx, s: s, live: map[tree.Hash]bool{}, sound: sound}
	if err := m.tree(root); err != nil {
		return nil, err
	}
	objects := make([]tree.Hash, 0, len(m.live))
	for h := range m.live {
		objects = append(objects, h)
	}
	return objects, nil
}

// marker collects the objects that trees are made of.
type marker struct {
	ctx   context.Context
	s     *Store
	live  map[tree.Hash]bool
	sound map[tree.Hash]bool // needs no marking, nor what is below it
	bytes int64              // on disk, about
}

func (m *marker) add(h tree.Hash) (isNew bool) {
	if m.live[h] || m.sound[h] {
		return false
	}
	m.live[h] = true
	m.bytes += m.s.packs.Stored(h)
	return true
}

func (m *marker) tree(h tree.Hash) error {
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	if h == tree.Empty || !m.add(h) {
		return nil
	}
	entries, err := m.s.dir(h)
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Kind == tree.Dir:
			if err := m.tree(e.Hash); err != nil {
				return err
			}
		case e.Kind == tree.File && m.add(e.Hash) && e.Chunked:
			extents, err := m.s.extents(e)
			if err != nil {
				return err
			}
			for _, x := range extents {
				m.add(x.Hash)
			}
		}
	}
	return nil
}
