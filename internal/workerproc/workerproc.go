// This file is the agreement between a worker and those who start it: one lock per installation.

// Package workerproc lets the processes of one installation agree on its worker. The worker holds an exclusive lock for
// its lifetime (Hold); everyone else asks whether one lives (Alive). A lock ends with its holder, so a killed worker
// leaves nothing that has to be repaired.
package workerproc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// ErrHeld means that another worker of this installation lives.
var ErrHeld = errors.New("another worker is running")

const (
	holdPatience = 2 * time.Second // those who ask hold the lock for an instant
	holdRetry    = 20 * time.Millisecond
)

// Hold takes the worker's lock until release or the end of this process; it fails with ErrHeld when another worker has
// it. Child processes do not inherit it.
func Hold(ctx context.Context, lockFile string) (release func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(lockFile), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the worker's lock: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	lock := flock.New(lockFile, flock.SetPermissions(0o600))
	held, err := lock.TryLockContext(ctx, holdRetry)
	switch {
	case held:
		return lock.Unlock, nil
	case err == nil, errors.Is(err, context.DeadlineExceeded):
		return nil, ErrHeld
	default:
		return nil, fmt.Errorf("taking the worker's lock: %w", err)
	}
}

// Alive tells whether a worker holds the lock.
func Alive(lockFile string) (bool, error) {
	if _, err := os.Stat(lockFile); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	lock := flock.New(lockFile, flock.SetPermissions(0o600))
	free, err := lock.TryRLock()
	if err != nil {
		return false, fmt.Errorf("looking at the worker's lock: %w", err)
	}
	if !free {
		return true, nil
	}
	return false, lock.Unlock()
}
