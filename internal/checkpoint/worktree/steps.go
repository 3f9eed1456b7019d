// This file makes single steps. Each looks first, moves in one system call, and looks at what it moved: a change by
// somebody else, however late, is put back.

package worktree

import (
	"errors"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
)

const (
	changedMeanwhile = "it was changed meanwhile"
	besideIt         = "it is the other version of the file beside it, which somebody has written or keeps open"

	oldPrefix  = "old-" // in a stage, before the number of a step: what it took away
	keptSuffix = "~"    // behind that number, maybe repeated: what it replaces, where that takes more than one system call
)

func (n *change) keep(s *Step, conflict bool, reason string) {
	n.kept = append(n.kept, Kept{Path: s.Path, Reason: reason, Conflict: conflict})
}

// step makes one step, unless it is made or its path is not as expected.
func (n *change) step(f *finder, i int) error {
	s := &n.Steps[i]
	dir, name, err := f.find(s.Path)
	if gone(err) {
		if s.After != nil {
			n.keep(s, true, "its directory is gone")
		}
		return nil
	}
	if err != nil || n.made(dir, name, s) {
		return err
	}
	if !matches(dir, name, s.Before) {
		n.keep(s, true, changedMeanwhile)
		return nil
	}
	staged := strconv.Itoa(i)
	if s.Link != "" && !n.stageHardLink(s, staged) {
		n.keep(s, true, "the file it is a link of was changed meanwhile")
		return nil
	}
	if n.resumed && s.brings() && !matches(n.dir, staged, s.After) {
		n.keep(s, true, changedMeanwhile)
		return nil
	}
	done := len(n.undo)
	err = writable(dir, func() error { return n.act(i, dir, name, staged) })
	if forbidden(err) && len(n.undo) == done {
		n.keep(s, false, "it may not be changed")
		return nil
	}
	return err
}

// forbidden tells of errors by which a path is protected from whoever makes the change.
func forbidden(err error) bool {
	for _, e := range []error{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EBUSY, syscall.EXDEV} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// made tells whether a step was made before.
func (n *change) made(dir int, name string, s *Step) bool {
	if !matches(dir, name, s.After) {
		return false
	}
	st, err := statAt(dir, name)
	switch {
	case s.After == nil:
		return true
	case err != nil:
		return false
	case s.Link != "":
		other, err := n.statPath(s.Link)
		return err == nil && other.ino == st.ino && other.device == st.device
	case s.Before != nil && s.After.Kind == tree.File && s.detached():
		return st.links == 1
	}
	return s.After.Kind != tree.Dir || s.Before == nil || s.Before.Kind != tree.Dir
}

// statPath looks at a path of the tree.
func (n *change) statPath(path string) (st stat, err error) {
	err = n.at(path, func(dir int, name string) error {
		st, err = statAt(dir, name)
		return err
	})
	return st, err
}

// at calls do with the directory of a path.
func (n *change) at(path string, do func(dir int, name string) error) error {
	f := n.finder()
	defer f.close()
	dir, name, err := f.find(path)
	if err != nil {
		return err
	}
	return do(dir, name)
}

// act changes what is at dir/name, which is as expected. What is to come is in the stage.
func (n *change) act(i, dir int, name, staged string) error {
	s := &n.Steps[i]
	before, after := s.Before, s.After
	switch {
	case after == nil && before.Kind == tree.Dir:
		_, err := n.removeDir(s, dir, name)
		return err
	case after == nil:
		_, err := n.takeAway(i, dir, name)
		return err
	case before != nil && before.Kind == tree.Dir && after.Kind == tree.Dir:
		return nil // its permissions come last
	case before != nil && before.Kind == tree.Dir:
		if ok, err := n.removeDir(s, dir, name); err != nil || !ok {
			return err
		}
		return n.bring(i, dir, name, staged)
	case after.Kind == tree.Dir:
		if before != nil {
			if ok, err := n.takeAway(i, dir, name); err != nil || !ok {
				return err
			}
		}
		return n.makeDir(s, dir, name)
	case before == nil:
		return n.bring(i, dir, name, staged)
	case !s.brings():
		return n.chmodFile(s, dir, name)
	}
	return n.replace(i, dir, name, staged)
}

// undoAt remembers how a step is undone.
func (n *change) undoAt(s *Step, do func(dir int, name string) error) {
	n.undo = append(n.undo, func() error {
		return n.at(s.Path, func(dir int, name string) error {
			return writable(dir, func() error { return do(dir, name) })
		})
	})
}

func (n *change) removeDir(s *Step, dir int, name string) (bool, error) {
	err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.EBUSY) {
		n.keep(s, false, "it holds what no checkpoint holds")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n.undoAt(s, func(dir int, name string) error {
		if err := unix.Mkdirat(dir, name, 0o700); err != nil {
			return err
		}
		return chmodAt(dir, name, uint32(s.Before.Mode))
	})
	return true, nil
}

func (n *change) makeDir(s *Step, dir int, name string) error {
	err := unix.Mkdirat(dir, name, 0o700)
	if errors.Is(err, syscall.EEXIST) {
		n.keep(s, true, changedMeanwhile)
		return nil
	}
	if err != nil {
		return err
	}
	n.undoAt(s, func(dir int, name string) error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
	settleIn(dir, dir, name)
	return nil
}

// takeAway moves a file or link into the stage.
func (n *change) takeAway(i, dir int, name string) (bool, error) {
	s, old := &n.Steps[i], oldPrefix+strconv.Itoa(i)
	if err := moveNew(dir, name, n.dir, old); err != nil {
		return false, err
	}
	st, _ := statAt(n.dir, old) // what cannot be looked at does not match
	if !matches(n.dir, old, s.Before) {
		n.keep(s, true, changedMeanwhile)
		return false, n.putBack(s, dir, name, old)
	}
	n.movedAway(i, old, &st)
	n.undoAt(s, func(dir int, name string) error {
		if _, err := statAt(n.dir, old); gone(err) {
			return nil // given back
		}
		return n.putBack(s, dir, name, old)
	})
	return true, nil
}

// putBack moves something back from the stage. When its name has been taken by then, it gets one beside it, which is told.
func (n *change) putBack(s *Step, dir int, name, old string) error {
	err := moveNew(n.dir, old, dir, name)
	if errors.Is(err, syscall.EEXIST) {
		name += "." + n.stage[len(stagePrefix):]
		if err = moveNew(n.dir, old, dir, name); err == nil {
			n.kept = append(n.kept, Kept{Path: n.pathOf(s, dir, name), Reason: besideIt, Conflict: true})
		}
	}
	n.precious = n.precious || err != nil
	return err
}

// pathOf returns the path of a name beside a step's, or at the top, where things go whose directory is gone.
func (n *change) pathOf(s *Step, dir int, name string) string {
	if dir == n.root {
		return name
	}
	return path.Join(path.Dir(s.Path), name)
}

// bring moves what is staged to where nothing is.
func (n *change) bring(i, dir int, name, staged string) error {
	s := &n.Steps[i]
	if s.Link == "" {
		settleIn(dir, n.dir, staged)
	}
	err := moveNew(n.dir, staged, dir, name)
	if errors.Is(err, syscall.EEXIST) {
		n.keep(s, true, changedMeanwhile)
		return nil
	}
	if err != nil {
		return err
	}
	n.undoAt(s, func(dir int, name string) error {
		if !matches(dir, name, s.After) {
			return nil // somebody's by now
		}
		if err := moveNew(dir, name, n.dir, staged); err != nil {
			return err
		}
		n.takenOut(i, staged)
		return nil
	})
	return nil
}

// replace exchanges a file or link for what is staged.
func (n *change) replace(i, dir int, name, staged string) error {
	s := &n.Steps[i]
	if err := exchange(n.dir, staged, dir, name); err != nil {
		return err
	}
	st, _ := statAt(n.dir, staged) // what cannot be looked at does not match
	if !matches(n.dir, staged, s.Before) {
		n.keep(s, true, changedMeanwhile)
		err := exchange(n.dir, staged, dir, name)
		n.precious = n.precious || err != nil
		return err
	}
	n.movedAway(i, staged, &st)
	n.undoAt(s, func(dir int, name string) error {
		if !matches(dir, name, s.After) {
			return nil // somebody's by now
		}
		if err := exchange(n.dir, staged, dir, name); err != nil {
			n.precious = true
			return err
		}
		n.takenOut(i, staged)
		return nil
	})
	return nil
}

// chmodFile changes nothing but permissions, and not those of a file that also lives outside.
func (n *change) chmodFile(s *Step, dir int, name string) error {
	st, err := statAt(dir, name)
	if err != nil {
		return err
	}
	if st.links > 1 && s.Before.Group == 0 {
		n.keep(s, false, "it is also a file outside the workspace")
		return nil
	}
	if err := chmodAt(dir, name, uint32(s.After.Mode)); err != nil {
		return err
	}
	n.undoAt(s, func(dir int, name string) error { return chmodAt(dir, name, uint32(s.Before.Mode)) })
	return nil
}

// setMode gives a directory its permissions when everything in it is done.
func (n *change) setMode(f *finder, s *Step) error {
	dir, name, err := f.find(s.Path)
	if err != nil {
		return nil //nolint:nilerr // told before
	}
	st, err := statAt(dir, name)
	if err != nil || !st.dir() || st.perm == s.After.Mode {
		return nil //nolint:nilerr // told before
	}
	if s.Before != nil && s.Before.Kind == tree.Dir && st.perm != s.Before.Mode {
		n.keep(s, true, changedMeanwhile)
		return nil
	}
	err = chmodAt(dir, name, uint32(s.After.Mode))
	if forbidden(err) {
		n.keep(s, false, "it may not be changed")
		return nil
	}
	if err != nil {
		return err
	}
	n.undoAt(s, func(dir int, name string) error { return chmodAt(dir, name, uint32(st.perm)) })
	return nil
}

// stageHardLink makes the link that a step brings, of a file that is as it shall be.
func (n *change) stageHardLink(s *Step, staged string) bool {
	err := n.at(s.Link, func(dir int, name string) error {
		if !matches(dir, name, s.After) {
			return syscall.ESTALE
		}
		err := unix.Linkat(dir, name, n.dir, staged, 0)
		if errors.Is(err, syscall.EEXIST) { // before a crash
			return nil
		}
		return err
	})
	return err == nil
}

// matches tells whether what is at dir/name is what want says; nil: nothing is there. Directories match whatever their
// permissions, which are nobody's content.
func matches(dir int, name string, want *tree.Entry) bool {
	st, err := statAt(dir, name)
	if err != nil {
		return want == nil && gone(err)
	}
	if want == nil {
		return false
	}
	switch want.Kind {
	case tree.Dir:
		return st.dir()
	case tree.Link:
		target, err := readLink(dir, name)
		return err == nil && st.link() && target == want.Target
	case tree.File:
		return st.regular() && st.size == want.Size && st.perm == want.Mode && holds(dir, name, want)
	}
	return false
}

// holds tells whether a regular file has the content of want.
func holds(dir int, name string, want *tree.Entry) bool {
	fd, err := openFile(dir, name)
	if err != nil {
		return false
	}
	defer closeFd(fd)
	st, err := statFile(fd)
	if err != nil || !st.regular() || st.size != want.Size {
		return false
	}
	e, err := hashFile(fd, st.size)
	return err == nil && e.Hash == want.Hash && e.Chunked == want.Chunked
}
