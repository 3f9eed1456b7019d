// This file keeps those apart who work on one folder, whatever process they are in and wherever their state is.
//
// Three locks, all of them flock and gone with their process. That of the state directory is held from Begin to the
// outcome: one change at a time by those who share a journal. That of the folder's own directory makes those meet who
// share nothing else: a picture holds it with others while it looks, a change alone while it begins and while it is made.
// That of a stage says that somebody works on it. The folder is locked before a stage. None leaves anything behind.

package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

const (
	patience  = 20 * time.Second // for others at work on the folder
	glance    = time.Second      // for a lock on the folder that is not a change's
	lockPause = 5 * time.Millisecond
)

// errBusy says that somebody else has a lock.
var errBusy = errors.New("somebody else has it locked")

// flock locks an open file or directory, waiting for others as long as atMost. Errors but errBusy and the end of ctx
// mean that the file system has no such locks.
func flock(ctx context.Context, fd, how int, atMost time.Duration) error {
	for end := time.Now().Add(atMost); ; {
		err := again(func() error { return unix.Flock(fd, how|unix.LOCK_NB) })
		switch {
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		case !time.Now().Before(end):
			return errBusy
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return canceled(ctx, opChange)
		}
	}
}

// unlockFd gives a lock back. Closing alone would leave it to a process that is just being started and has not yet closed
// what it inherited.
func unlockFd(fd int) { _ = unix.Flock(fd, unix.LOCK_UN) }

// share locks the folder for looking at it and reports whether it is. While a change is made it waits; a lock that no
// change can be the reason of is somebody's who means something else by it.
func share(ctx context.Context, root int) (held bool, err error) {
	err = flock(ctx, root, unix.LOCK_SH, glance)
	if errors.Is(err, errBusy) && len(stagesIn(root)) > 0 {
		err = flock(ctx, root, unix.LOCK_SH, patience)
	}
	if ctx.Err() != nil {
		return false, canceled(ctx, opScan)
	}
	return err == nil, nil
}

// alone locks the folder for changing it. Where there are no such locks, that of the state directory must do.
func alone(ctx context.Context, root int) error {
	err := flock(ctx, root, unix.LOCK_EX, patience)
	switch {
	case ctx.Err() != nil:
		return canceled(ctx, opChange)
	case errors.Is(err, errBusy):
		return sandbox.Errorf(sandbox.ClassConflict, opChange, "a checkpoint of this folder is being taken, or a program has the folder locked: try again when that is done")
	}
	return nil
}

// lockChanges makes this process the only one that changes the tree by this journal.
func (t *Tree) lockChanges() (*os.File, error) {
	if err := t.makeState(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(t.opts.State, "change.lock"), os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fileError("", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, anotherRestore("")
	}
	return f, nil
}

// anotherRestore says that somebody works on the folder, in a stage of that name where it is known.
func anotherRestore(stage string) error {
	return &sandbox.Error{Class: sandbox.ClassConflict, Op: opChange, Path: stage, Message: "another restore of this folder is running: try again when it is done"}
}

// unlock lets others change the tree.
func unlock(lock *os.File) {
	unlockFd(int(lock.Fd()))
	_ = lock.Close()
}
