// This file exists because two servers on one SQLite file steal each other's shard: one state directory, one process.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

// lockedError says that another live instance owns the state directory.
type lockedError struct{ pid string }

func (e *lockedError) Error() string {
	return fmt.Sprintf("another instance (pid %s) already runs on this state directory", e.pid)
}

// stateLock is held until the process ends. Its file names the holder while it runs and is empty after a clean stop.
type stateLock struct {
	file    *os.File
	unclean bool // the previous holder ended without a clean stop
}

// acquireLock takes the lock without waiting; it fails with *lockedError when another process holds it.
func acquireLock(path string) (*stateLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock file: %w", err)
	}
	lockErr := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	previous, err := io.ReadAll(io.LimitReader(f, 32))
	previous = bytes.TrimSpace(previous)
	switch {
	case errors.Is(lockErr, syscall.EWOULDBLOCK):
		f.Close()
		if len(previous) == 0 {
			previous = []byte("unknown")
		}
		return nil, &lockedError{pid: string(previous)}
	case lockErr != nil:
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, lockErr)
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("reading the lock file: %w", err)
	}
	l := &stateLock{file: f, unclean: len(previous) > 0}
	if err := l.write(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing the lock file: %w", err)
	}
	return l, nil
}

// markClean records that everything was written and stopped. A failure only costs the next start a check.
func (l *stateLock) markClean() { _ = l.write("") }

func (l *stateLock) write(s string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(s), 0)
	return err
}
