// This file looks through what a crash has left in a stage before that is removed: between a step and the look at what
// it moved, something of the user's may have been there.

package worktree

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// salvage puts back what is neither what a step replaced nor what it brought. A fresh tree replaced nothing.
func (n *change) salvage() error {
	if n.Fresh {
		return nil
	}
	fd, err := openDirectory(n.dir, ".", unix.O_NOFOLLOW)
	if err != nil {
		return fileError(n.stage, err)
	}
	defer closeFd(fd)
	names, err := readNames(fd, make([]byte, 64<<10))
	if err != nil {
		return fileError(n.stage, err)
	}
	f := n.finder()
	defer f.close()
	for _, name := range names {
		i, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(name, oldPrefix), keptSuffix))
		if err != nil || i < 0 || i >= len(n.Steps) {
			continue
		}
		s := &n.Steps[i]
		st, _ := statAt(n.dir, name)
		switch {
		case s.Before != nil && matches(n.dir, name, s.Before):
			n.movedAway(i, name, &st)
			continue
		case matches(n.dir, name, s.After):
			n.takenOut(i, name)
			continue
		}
		if err := n.giveBack(f, moved{step: i, name: name}, changedMeanwhile); err != nil {
			return fileError(s.Path, err)
		}
	}
	return nil
}

// giveBack moves something of the user's to where it was: in exchange for what the step brought, beside what is somebody
// else's, or to the top when its directory is gone.
func (n *change) giveBack(f *finder, m moved, reason string) error {
	s := &n.Steps[m.step]
	dir, name, err := f.find(s.Path)
	if gone(err) {
		dir, name, err = n.root, path.Base(s.Path), nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(n.kept, func(k Kept) bool { return k.Path == s.Path }) {
		n.keep(s, true, reason)
	}
	return writable(dir, func() error {
		if m.brought || !s.brings() || !matches(dir, name, s.After) {
			return n.putBack(s, dir, name, m.name)
		}
		if err := exchange(n.dir, m.name, dir, name); err != nil {
			return err
		}
		n.takenOut(m.step, m.name)
		return nil
	})
}
