// This file starts, stops and finds this host's worker.

package core

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/workerproc"
)

const (
	readyPoll    = 50 * time.Millisecond
	stopPatience = 30 * time.Second
	newWorker    = 15 * time.Second
)

// WorkerStatus is what is known of this host's worker.
type WorkerStatus struct {
	Running   bool      `json:"running"`
	Starting  bool      `json:"starting,omitempty"` // it runs and does not serve yet
	Already   bool      `json:"already,omitempty"`  // it ran before it was asked to start
	PID       int       `json:"pid,omitempty"`
	Version   string    `json:"version,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Socket    string    `json:"socket,omitempty"`
	Log       string    `json:"log"` // where it logs
}

// StartWorker starts this host's worker unless it runs, and returns when it is ready.
func (c *Core) StartWorker(ctx context.Context) (WorkerStatus, error) {
	p, err := c.resolve(ctx)
	if err != nil {
		return WorkerStatus{}, err
	}
	var args []string // one that was asked for stays until it is told to stop
	if p.Embedded {
		args = append(args, "--embedded")
	}
	life := c.workerLife()
	if life == "" && !p.Embedded { // it could do nothing but wait for the server
		if _, err := c.link.engine(ctx); err != nil {
			return WorkerStatus{}, err
		}
	}
	if err := c.startWorker(ctx, args...); err != nil {
		return WorkerStatus{}, err
	}
	status, err := c.WorkerStatus(ctx)
	status.Already = life != "" && life == c.workerLife()
	return status, err
}

// StopWorker asks this host's worker to end and waits for it. Sessions wait for the next worker.
func (c *Core) StopWorker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	alive, err := workerproc.Alive(c.opts.Paths.WorkerLock)
	if err != nil {
		return asError("stopping the worker", err)
	}
	if !alive {
		return nil
	}
	info, err := config.ReadWorkerInfo(c.opts.Paths)
	if err != nil || info.PID <= 1 {
		return editors.Errorf(editors.CodeBusy, "the worker is still starting").WithRemedy("Try again in a moment.")
	}
	// First of all, since whoever follows a turn starts the worker again as soon as it leaves.
	if err := os.WriteFile(c.stoppedFile(), nil, 0o600); err != nil {
		c.log.Warn("stop not recorded", "error", err)
	}
	if err := syscall.Kill(info.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = os.Remove(c.stoppedFile())
		return asError("stopping the worker", fmt.Errorf("signalling process %d: %w", info.PID, err))
	}
	progress(ctx, "Waiting for the worker to finish what it is doing.")
	for c.workerAlive() {
		if !pause(ctx, readyPoll) {
			return editors.Errorf(editors.CodeBusy, "the worker (pid %d) has not ended yet", info.PID).
				WithRemedy("Try again, or read its log: " + c.workerLog())
		}
	}
	return nil
}

// WorkerStatus tells whether this host's worker runs.
func (c *Core) WorkerStatus(context.Context) (WorkerStatus, error) {
	status := WorkerStatus{Log: c.workerLog()}
	alive, err := workerproc.Alive(c.opts.Paths.WorkerLock)
	if err != nil {
		return status, asError("looking for the worker", err)
	}
	if !alive {
		return status, nil
	}
	status.Running, status.Starting = true, c.workerLife() == ""
	if info, err := config.ReadWorkerInfo(c.opts.Paths); err == nil && processExists(info.PID) {
		status.PID, status.Version, status.StartedAt, status.Socket = info.PID, info.Version, info.StartedAt, info.Socket
	}
	return status, nil
}

// stoppedFile is there while the worker is stopped because the user said so.
func (c *Core) stoppedFile() string { return c.opts.Paths.WorkerLock + ".stopped" }

func (c *Core) workerStopped() bool {
	_, err := os.Stat(c.stoppedFile())
	return err == nil
}

// workerAlive tells whether a worker runs; one that cannot be looked for does not count.
func (c *Core) workerAlive() bool {
	alive, err := workerproc.Alive(c.opts.Paths.WorkerLock)
	if err != nil {
		c.log.Warn("worker lock not readable", "error", err)
	}
	return alive
}

// workerLife names the worker that runs, "" while none does or it is still starting. It costs some 50 µs.
func (c *Core) workerLife() string {
	info, err := config.ReadWorkerInfo(c.opts.Paths)
	if err != nil || !processExists(info.PID) || !c.workerAlive() {
		return ""
	}
	return fmt.Sprintf("%d since %d", info.PID, info.StartedAt.UnixNano())
}

// workerIsNew tells whether the worker runs for so short a time that Temporal may still wait for the one before: it gives
// a workflow's task to another ten seconds after a worker took it.
func (c *Core) workerIsNew() bool {
	info, err := config.ReadWorkerInfo(c.opts.Paths)
	return err == nil && time.Since(info.StartedAt) < newWorker && c.workerAlive()
}

// workerReady tells whether a worker runs, has written what it is, and listens.
func (c *Core) workerReady(ctx context.Context) bool {
	if c.workerLife() == "" {
		return false
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", c.opts.Paths.DialSocket())
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func processExists(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, os.ErrPermission)
}
