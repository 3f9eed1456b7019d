// This file makes the place where a change is prepared, and finds out what the file system is like.

package worktree

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// prepare makes the directory of the change and, for a fresh tree, all directories in it.
func (n *change) prepare(ctx context.Context) (Begun, error) {
	var err error
	if n.root, err = n.tree.openRoot(opChange); err != nil {
		return Begun{}, err
	}
	if err := alone(ctx, n.root); err != nil {
		return Begun{}, err
	}
	defer unlockFd(n.root)
	busy, half := clearStages(n.root)
	switch {
	case busy != "":
		return Begun{}, anotherRestore(busy)
	case half != "":
		return Begun{}, unfinishedRestore(half)
	}
	if n.Fresh {
		if err := n.checkEmpty(); err != nil {
			return Begun{}, err
		}
	}
	if err := n.tree.writeSteps(&n.Change); err != nil {
		return Begun{}, err
	}
	if err := n.record(phaseStaging, nil); err != nil {
		return Begun{}, err
	}
	if err := n.fault("begin"); err != nil {
		return Begun{}, err
	}
	if n.dir, err = makeDirectory(n.root, n.stage); err != nil {
		return Begun{}, fileError(n.stage, err)
	}
	if err := n.fault("stage"); err != nil {
		return Begun{}, err
	}
	_ = flock(ctx, n.dir, unix.LOCK_EX, 0) // nobody else has it; where there are no locks, nobody removes it either
	begun, err := n.probe()
	if err != nil {
		return Begun{}, err
	}
	files := 0
	for i := range n.Steps {
		if n.Steps[i].NeedsContent() {
			files++
		}
	}
	n.many = files > manyFiles
	if n.Fresh {
		err = n.makeFreshDirs()
	}
	return begun, err
}

func (n *change) checkEmpty() error {
	names, err := readNames(n.root, make([]byte, 64<<10))
	if err != nil {
		return fileError("", err)
	}
	for _, name := range names {
		if name != n.stage {
			return &sandbox.Error{Class: sandbox.ClassConflict, Op: opChange, Path: name, Message: "the folder is not empty"}
		}
	}
	return nil
}

// probe finds out which names are the same to the file system.
func (n *change) probe() (Begun, error) {
	const name, upper, composed, decomposed = "probe", "PROBE", "\u00e9", "e\u0301"
	var b Begun
	for _, p := range []struct {
		made, other string
		folds       *bool
	}{{name, upper, &b.FoldsCase}, {composed, decomposed, &b.FoldsForm}} {
		if err := makeFile(n.dir, p.made); err != nil {
			return b, fileError(p.made, err)
		}
		_, err := statAt(n.dir, p.other)
		*p.folds = err == nil
		if err := unix.Unlinkat(n.dir, p.made, 0); err != nil {
			return b, fileError(p.made, err)
		}
	}
	return b, nil
}

func makeFile(dir int, name string) error {
	fd, err := open(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		closeFd(fd)
	}
	return err
}

func makeDirectory(dir int, name string) (int, error) {
	if err := unix.Mkdirat(dir, name, 0o700); err != nil {
		return -1, err
	}
	return openDirectory(dir, name, unix.O_NOFOLLOW)
}

func (n *change) makeFreshDirs() error {
	fd, err := makeDirectory(n.dir, freshDir)
	if err != nil {
		return fileError(freshDir, err)
	}
	n.fresh = fd
	f := n.finder()
	defer f.close()
	for i := range n.Steps {
		s := &n.Steps[i]
		if s.After.Kind != tree.Dir {
			continue
		}
		dir, name, err := f.find(s.Path)
		if err == nil {
			err = unix.Mkdirat(dir, name, 0o700)
		}
		if err != nil {
			return collision(s.Path, err)
		}
	}
	return nil
}

// collision is fileError where nothing can be in the way but another name of the same change.
func collision(path string, err error) error {
	if errors.Is(err, syscall.EEXIST) {
		return &sandbox.Error{Class: sandbox.ClassConflict, Op: opChange, Path: path, Message: "this file system does not tell the name from another one of the checkpoint"}
	}
	return fileError(path, err)
}
