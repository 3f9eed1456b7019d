// This file holds locks that end with the process that holds them.

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

const lockPause = 10 * time.Millisecond

// The lock files of a state directory.
const (
	startLock = "start.lock" // held while starting or destroying
	serveLock = "serve.lock" // held by the helper that serves; its process id is inside
)

// Lock takes the lock with which sandboxes are started and destroyed, waiting for it until ctx ends. The state
// directory must exist: what was destroyed is not brought back. The caller unlocks by closing the file.
func Lock(ctx context.Context, state string) (*os.File, error) {
	for {
		f, err := tryLock(filepath.Join(state, startLock))
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, &sandbox.Error{Class: sandbox.ClassCanceled, Op: "open sandbox", Message: "canceled", Err: context.Cause(ctx)}
		}
	}
}

// tryLock returns nil when somebody else has the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sandbox.Errorf(sandbox.ClassNotFound, "open sandbox", "the sandbox does not exist any more")
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, f.Close()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	if !current(f, path) { // removed while we waited for it
		return nil, f.Close()
	}
	return f, nil
}

func current(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}
