// This file lists trees of the workspace in the order of their paths, without following links or what is git's.

package engine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"sandboxagent/internal/sandbox"
)

const (
	maxListed  = 20000
	maxDepth   = 1000
	maxAnswer  = 2 << 20 // bytes of names and lines in one answer
	entryBytes = 160     // what an entry costs in an answer besides its names
	opList     = "list"
)

var errEnough = errors.New("enough")

// List implements the method of sandbox.Sandbox. A directory that cannot be read is listed without its entries.
func (e *Engine) List(ctx context.Context, name string, depth, limit int) (sandbox.Listing, error) {
	var out sandbox.Listing
	rel, err := e.rel(opList, name)
	if err != nil {
		return out, err
	}
	root, err := e.openRoot(opList)
	if err != nil {
		return out, err
	}
	defer root.Close()
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	l := &lister{ctx: ctx, root: root, limit: limit, out: &out}
	err = l.dir(rel, min(max(depth, 1), maxDepth))
	switch {
	case errors.Is(err, errEnough):
		out.Truncated = true
	case ctx.Err() != nil:
		return sandbox.Listing{}, canceled(ctx, opList)
	case err != nil:
		return sandbox.Listing{}, fileError(opList, rel, err)
	}
	return out, nil
}

type lister struct {
	ctx   context.Context
	root  *os.Root
	limit int
	bytes int
	out   *sandbox.Listing
}

// item is an entry, or the place in the order where what is below a directory comes.
type item struct {
	key   string
	entry fs.DirEntry
	below bool
}

func (l *lister) dir(rel string, depth int) error {
	entries, err := readDir(l.root, rel)
	if err != nil {
		return err
	}
	items := make([]item, 0, len(entries))
	for _, entry := range entries {
		items = append(items, item{entry.Name(), entry, false})
		if entry.IsDir() && depth > 1 && entry.Name() != ".git" {
			items = append(items, item{entry.Name() + "/", entry, true})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.key, b.key) })
	for _, it := range items {
		p := path.Join(rel, it.entry.Name())
		if it.below {
			err = l.below(p, depth-1)
		} else {
			err = l.add(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) below(p string, depth int) error {
	err := l.dir(p, depth)
	if errors.Is(err, errEnough) || l.ctx.Err() != nil {
		return err
	}
	return nil // unreadable or gone meanwhile
}

func (l *lister) add(p string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if len(l.out.Entries) >= l.limit || l.bytes > maxAnswer {
		return errEnough
	}
	info, err := l.root.Lstat(p)
	if err != nil { // gone meanwhile
		return nil
	}
	found := entryOf(l.root, p, info)
	l.bytes += entryBytes + len(found.Path) + len(found.Target)
	l.out.Entries = append(l.out.Entries, found)
	return nil
}

// readDir reads a directory, unsorted. The dot makes sure that nothing else is opened.
func readDir(root *os.Root, rel string) ([]fs.DirEntry, error) {
	d, err := root.Open(rel + "/.")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}
