// This file starts the worker in the background, exactly one however many editors ask at once.

package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"sandboxagent/editors"
	"sandboxagent/internal/program"
)

const (
	startPatience = 60 * time.Second // the first start makes a database
	startLockPoll = 50 * time.Millisecond
	sayAfter      = 2 * time.Second // between two words of progress
	logTail       = 2 << 10         // bytes of the worker's log in an error
	maxWorkerLog  = 16 << 20        // bytes; a longer log is set aside before a start

	workerBinary    = "sandbox-worker"
	workerBinaryEnv = "SANDBOX_WORKER_BIN"
)

func (c *Core) workerLog() string { return filepath.Join(c.opts.Paths.LogDir, "worker.log") }

// startWorker returns when this host's worker is ready, starting it unless one lives. Starters wait for each other on a
// lock of their own; the one that comes second finds the worker of the first. The arguments are those of sandbox-worker.
func (c *Core) startWorker(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := c.opts.Paths.Ensure(); err != nil {
		return asError("starting the worker", err)
	}
	progress(ctx, "Starting the worker.")
	lock := flock.New(c.opts.Paths.WorkerLock+".start", flock.SetPermissions(0o600))
	if held, err := lock.TryLockContext(ctx, startLockPoll); !held {
		return c.notReady(ctx, "another editor is still starting the worker", err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := os.Remove(c.stoppedFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("start not recorded", "error", err)
	}
	return c.awaitReady(ctx, args)
}

// child is a worker that this process has started. It is never killed by it.
type child struct {
	ended chan struct{}
	err   error // once ended
	log   string
	from  int64 // where its part of the log begins
}

// spawn starts the worker in a session of its own, so that it outlives this process and the editor's terminal.
func (c *Core) spawn(args []string) (*child, error) {
	binary, err := c.findWorker()
	if err != nil {
		return nil, err
	}
	if err := os.Remove(c.opts.Paths.WorkerState); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, asError("starting the worker", fmt.Errorf("removing what a former worker recorded: %w", err))
	}
	log, from, err := openWorkerLog(c.workerLog())
	if err != nil {
		return nil, asError("starting the worker", err)
	}
	defer log.Close()
	cmd := exec.Command(binary, args...)
	cmd.Dir = c.opts.Paths.StateDir // not the user's folder, which it would keep busy
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, editors.Errorf(editors.CodeWorkerUnavailable, "the worker %s could not be started: %w", binary, err).WithRemedy(remedyDoctor)
	}
	c.log.Info("worker started", "worker", cmd.Process.Pid, "binary", binary)
	child := &child{ended: make(chan struct{}), log: c.workerLog(), from: from}
	go func() { // ends with the worker, which may outlive this process
		child.err = cmd.Wait()
		close(child.ended)
	}()
	return child, nil
}

func openWorkerLog(path string) (log *os.File, from int64, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxWorkerLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("setting the worker's log aside: %w", err)
		}
	}
	if log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, 0, fmt.Errorf("opening the worker's log: %w", err)
	}
	if from, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("opening the worker's log: %w", err), log.Close())
	}
	return log, from, nil
}

// awaitReady waits for the worker that lives, or for one that it starts.
func (c *Core) awaitReady(ctx context.Context, args []string) error {
	var started *child
	began, said := time.Now(), time.Now()
	for !c.workerReady(ctx) {
		switch alive := c.workerAlive(); {
		case alive:
		case started == nil:
			var err error
			if started, err = c.spawn(args); err != nil {
				return err
			}
		case started.hasEnded():
			return started.failure()
		}
		if time.Since(said) >= sayAfter {
			said = time.Now()
			progress(ctx, fmt.Sprintf("Waiting for the worker to start (%d s).", int(time.Since(began).Seconds())))
		}
		if !pause(ctx, readyPoll) {
			return c.notReady(ctx, "the worker is not ready yet", ctx.Err())
		}
	}
	return nil
}

func (c *Core) notReady(ctx context.Context, message string, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return editors.Errorf(editors.CodeCancelled, "%s: %w", message, context.Canceled)
	}
	e := editors.Errorf(editors.CodeWorkerUnavailable, "%s", message).WithRemedy("Try again in a moment, or read its log: " + c.workerLog())
	e.Err = err
	return e
}

func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// failure explains a worker that ended while it was starting, by the end of its log.
func (c *child) failure() error {
	status := "without a word"
	if c.err != nil {
		status = "with " + c.err.Error()
	}
	tail := strings.TrimSpace(readTail(c.log, c.from))
	lines := strings.Split(tail, "\n")
	message := fmt.Sprintf("the worker ended %s while it was starting", status)
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		message += ": " + last
	}
	e := editors.Errorf(editors.CodeWorkerUnavailable, "%s", message).WithRemedy("Read its log: " + c.log + ", then run: sandbox-agent doctor")
	e.Detail = tail
	return e
}

// readTail returns the last part of a file from an offset on, as far as it can be read.
func readTail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-logTail)
	b, err := io.ReadAll(io.NewSectionReader(f, from, logTail))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(b), "")
}

// findWorker returns the path of the worker's program.
func (c *Core) findWorker() (string, error) {
	chosen := c.opts.WorkerBinary
	if chosen == "" {
		chosen = os.Getenv(workerBinaryEnv)
	}
	if chosen != "" {
		if err := program.Executable(chosen); err != nil {
			return "", noWorker(fmt.Sprintf("the worker program %s cannot be run", chosen), err)
		}
		return chosen, nil
	}
	for _, path := range program.Own(workerBinary) {
		if program.Executable(path) == nil {
			return path, nil
		}
	}
	return "", noWorker("the program "+workerBinary+" was not found beside this one, or where only root installs programs", nil)
}

func noWorker(message string, err error) error {
	e := lasting(editors.Errorf(editors.CodeWorkerUnavailable, "%s", message).
		WithRemedy("Install sandbox-worker beside sandbox-agent, or set " + workerBinaryEnv + " to its path."))
	e.Err = err
	return e
}
