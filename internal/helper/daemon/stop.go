// This file ends a helper from outside and finds out when it is gone.

package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sandboxagent/internal/sandbox"
)

const leaveTime = 15 * time.Second

// Connect reaches the helper that serves the state directory, and never starts one.
func Connect(state string) (net.Conn, error) { return connect(state) }

// AwaitEnd waits until no helper serves the state directory. One that does not leave in time, though asked to, is
// killed; its commands then die by themselves.
func AwaitEnd(ctx context.Context, state string) error {
	path := filepath.Join(state, serveLock)
	end := time.Now().Add(leaveTime)
	for {
		f, err := tryLock(path)
		if sandbox.ClassOf(err) == sandbox.ClassNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if f != nil {
			return f.Close()
		}
		if time.Now().After(end) {
			killHolder(state)
			end = time.Now().Add(leaveTime)
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return &sandbox.Error{Class: sandbox.ClassCanceled, Op: "destroy sandbox", Message: "canceled", Err: context.Cause(ctx)}
		}
	}
}

// killHolder kills the helper that holds the lock: who listens at its socket, or else the process that wrote its id into
// the lock. The socket comes first, because a helper among processes of its own knows itself by another id.
func killHolder(state string) {
	if conn, err := connect(state); err == nil {
		defer conn.Close()
		if pid := peer(conn); pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
	b, err := os.ReadFile(filepath.Join(state, serveLock))
	if err != nil {
		return
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// RemoveSocket removes a socket outside the state directory that a killed helper left.
func RemoveSocket(state string) {
	if path, err := socketOf(state); err == nil {
		_ = os.Remove(path)
	}
}
