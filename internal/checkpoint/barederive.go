// This file keeps what git would obey out of directories that it takes for repositories though they are not called so.

package checkpoint

import (
	"path"
	"slices"

	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
)

// bare selects what stays of a directory that git takes for a repository's, with what the trusted tree has there: what git
// obeys is as in that tree, everything else as it is. It reports false for other directories.
func (d *deriver) bare(b *branch, at string, theirs []tree.Entry) (bool, error) {
	if !slices.ContainsFunc(theirs, func(e tree.Entry) bool { return repo.Telling(e.Name) }) {
		return false, nil
	}
	ours, err := d.trusted(at)
	if err != nil {
		return false, err
	}
	var names []string
	for _, side := range [][]tree.Entry{theirs, ours} {
		for i := range side {
			names = append(names, side[i].Name)
		}
	}
	if !repo.Bare(names) {
		return false, nil
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		there, here, below := entryOf(theirs, name), entryOf(ours, name), path.Join(at, name)
		switch {
		case repo.Obeyed(name):
			err = d.instead(b, below, there, here)
		case there != nil:
			err = d.entry(b, below, there)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// trusted reads a directory of the trusted tree, nil when it is none there.
func (d *deriver) trusted(at string) ([]tree.Entry, error) {
	if at == "" {
		return d.entries(d.from)
	}
	e, err := d.s.lookup(d.from, at)
	if err != nil || !isDir(e) {
		return nil, err
	}
	return d.entries(e.Hash)
}
