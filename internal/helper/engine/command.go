// This file is one command while it is known: its status, its output, and who waits for either.

package engine

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

// command is one entry of the ledger in memory.
type command struct {
	engine *Engine
	id     string
	dir    string // of the ledger entry
	out    *spool
	err    *spool
	input  *feeder       // nil when the command has no input
	ready  chan struct{} // closed when it runs, was found on disk, or was refused
	gone   chan struct{} // closed when no process of it is left

	terminal *os.File // the engine's end of it, nil if there is none; set before ready

	refused error // set before ready: nothing was recorded, the id is free

	mu      sync.Mutex
	status  sandbox.Status
	worker  *worker       // while it has processes
	changed chan struct{} // closed at the next change; nil while nobody waits
	timer   *time.Timer
	wanted  string // why its end was ordered: wantKill or wantTimeout
	inputs  int    // how often it was given input
}

const (
	wantKill    = "kill"
	wantTimeout = "timeout"
)

func newCommand(e *Engine, id string, limit int64) *command {
	dir := e.commandDir(id)
	return &command{
		engine: e, id: id, dir: dir,
		out:   newSpool(filepath.Join(dir, string(sandbox.Stdout)), limit),
		err:   newSpool(filepath.Join(dir, string(sandbox.Stderr)), limit),
		ready: make(chan struct{}),
		gone:  make(chan struct{}),
	}
}

// await waits until the command runs or is known to have run. It returns the error with which it was refused.
func (c *command) await(ctx context.Context, op string) error {
	select {
	case <-c.ready:
		return c.refused
	case <-ctx.Done():
		return canceled(ctx, op)
	}
}

// snapshot returns the status as it is now.
func (c *command) snapshot() sandbox.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.snapshotLocked()
}

func (c *command) snapshotLocked() sandbox.Status {
	st := c.status
	var failed error
	if st.Total.Stdout, failed = c.out.state(); failed != nil {
		st.Limit = "output was not stored: " + failed.Error()
	}
	if st.Total.Stderr, failed = c.err.state(); failed != nil {
		st.Limit = "output was not stored: " + failed.Error()
	}
	return st
}

// printed notes that the command has printed something: it no longer waits for input, as far as is known.
func (c *command) printed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.WaitsSince = time.Time{}
	c.notifyLocked()
}

// notifyLocked wakes whoever waits for a change.
func (c *command) notifyLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// wait returns the status when it is no longer running, has more output than after, waits for input, or the time is
// over.
func (c *command) wait(ctx context.Context, after sandbox.Offsets, atMost time.Duration) (sandbox.Status, error) {
	timer := time.NewTimer(max(atMost, 0))
	defer timer.Stop()
	for {
		c.mu.Lock()
		st := c.snapshotLocked()
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		if st.State != sandbox.StateRunning || st.Total.Stdout > after.Stdout || st.Total.Stderr > after.Stderr || !st.WaitsSince.IsZero() {
			return st, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return c.snapshot(), nil
		case <-ctx.Done():
			return sandbox.Status{}, canceled(ctx, "wait")
		}
	}
}

// alive reports whether a process of the command may be left.
func (c *command) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

func (c *command) stream(s sandbox.Stream) *spool {
	if s == sandbox.Stderr {
		return c.err
	}
	return c.out
}

// output reads a range of a stream.
func (c *command) output(s sandbox.Stream, offset int64, n int) (sandbox.Chunk, error) {
	running := c.snapshot().State == sandbox.StateRunning // asked first: what ended before has all its output stored
	data, at, total, err := c.stream(s).read(offset, n)
	if err != nil {
		return sandbox.Chunk{}, &sandbox.Error{Class: sandbox.ClassInternal, Op: "read output", Message: "the stored output cannot be read", Err: reason(err)}
	}
	return sandbox.Chunk{Data: data, Offset: at, Total: total, EOF: !running && at+int64(len(data)) >= total}, nil
}

// order asks the supervisor to end the tree, for the reason given.
func (c *command) order(why string) *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status.State == sandbox.StateRunning && c.wanted == "" {
		c.wanted = why
	}
	return c.worker
}

// kill ends the whole tree and returns when nothing is left of it.
func (c *command) kill(ctx context.Context, timedOut bool) error {
	why := wantKill
	if timedOut {
		why = wantTimeout
	}
	w := c.order(why)
	if w == nil {
		return nil
	}
	_ = w.ctl.send(order{Run: w.run, Kill: true})
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return canceled(ctx, "kill command")
	case <-time.After(killTime):
	}
	// the supervisor was stopped or cannot keep up: with it gone, its descendants are this process's to kill
	_ = w.cmd.Process.Kill()
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return canceled(ctx, "kill command")
	case <-time.After(shutdownTime):
		return sandbox.Errorf(sandbox.ClassUnavailable, "kill command", "a process of the command does not die")
	}
}
