// This file finds what changes that were cut short have left in the folder. Whoever looks at the folder removes it,
// whoever's it was, unless somebody works on it or its change was being made: that only its own journal can complete,
// and what is said in the folder itself, which anybody can write, is never carried out.

package worktree

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

// commitMark is a file in a stage from before the first step until the last is made or undone.
const commitMark = "committing"

// leftover says what a stage is.
type leftover int

const (
	notOurs    leftover = iota // no stage at all, or one of which nothing can be known
	dead                       // nobody works on it, and the tree is none the worse for it
	preparing                  // somebody works on it
	committing                 // somebody changes the tree
	unfinished                 // nobody works on it, and the tree is half changed
)

// stagesIn returns the names of stages in the folder.
func stagesIn(root int) (stages []string) {
	fd, err := openDirectory(root, ".", 0) // reading moves the place in a directory
	if err != nil {
		return nil
	}
	defer closeFd(fd)
	names, err := readNames(fd, make([]byte, 64<<10))
	if err != nil {
		return nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, stagePrefix) {
			stages = append(stages, name)
		}
	}
	return stages
}

// examine looks at a stage. The folder is locked: none is just being made.
func examine(root int, name string) leftover {
	fd, err := openDirectory(root, name, unix.O_NOFOLLOW)
	if err != nil {
		return notOurs
	}
	defer closeFd(fd)
	_, err = statAt(fd, commitMark)
	marked := err == nil
	err = flock(context.Background(), fd, unix.LOCK_EX, 0)
	switch {
	case errors.Is(err, errBusy) && marked:
		return committing
	case errors.Is(err, errBusy):
		return preparing
	case err != nil:
		return notOurs
	}
	unlockFd(fd)
	if marked {
		return unfinished
	}
	return dead
}

// clearStages removes dead stages from the folder, which is locked. It tells of a stage that somebody works on, and of one
// that is unfinished.
func clearStages(root int) (busy, half string) {
	for _, name := range stagesIn(root) {
		switch examine(root, name) {
		case dead:
			_ = removeAll(root, name) // what stays is tried again by the next one
		case preparing, committing:
			busy = name
		case unfinished:
			half = name
		case notOurs:
		}
	}
	return busy, half
}

func unfinishedRestore(stage string) error {
	return &sandbox.Error{
		Class: sandbox.ClassConflict, Op: opChange, Path: stage,
		Message: "a restore of this folder was cut short, and is completed where it was begun: open that session, or list the checkpoints of the folder; if neither is left, look into this directory and remove it",
	}
}

// Recover undoes or completes a change that was cut short, and removes what others have left in the folder. It does
// nothing while another process makes a change. It fails with ClassConflict when a change that was begun elsewhere is
// unfinished.
func (t *Tree) Recover(ctx context.Context) error {
	if err := t.recoverOwn(ctx); err != nil {
		return err
	}
	root, err := t.openRoot(opChange)
	if err != nil {
		return nil //nolint:nilerr // nothing can have been left
	}
	defer closeFd(root)
	if flock(ctx, root, unix.LOCK_SH, 0) != nil {
		return nil
	}
	defer unlockFd(root)
	if _, half := clearStages(root); half != "" {
		return unfinishedRestore(half)
	}
	return nil
}
