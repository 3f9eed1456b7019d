// This file follows a running command: it spools what the command writes and records how it ends.

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

const drainTime = time.Second // for output that outlives every process of the command

var chunks = sync.Pool{New: func() any { b := make([]byte, readChunk); return &b }}

// follow reads the reports on a run until nothing is left of it. It closes spawned once the command runs or has failed to.
func (c *command) follow(w *worker, std *streams, spawned chan struct{}) {
	var once sync.Once
	ready := func() { once.Do(func() { close(spawned) }) }
	defer ready()
	pumps := c.pump(std)
	for r := range w.reports {
		switch r.Event {
		case evStarted:
			ready()
		case evFailed:
			pumps.close(0)
			c.engine.pool.give(w)
			c.fail(r.Code, r.Failure)
			return
		case evExited:
			pumps.drain()
			c.exited(r)
		case evGone:
			pumps.close(drainTime)
			c.engine.pool.give(w)
			c.finish()
			return
		}
	}
	pumps.close(drainTime)
	c.lost()
}

// arm sets the clock of the command's timeout.
func (c *command) arm(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(timeout, func() {
		if err := c.kill(context.Background(), true); err != nil {
			c.engine.log.Warn("kill after timeout", "command", c.id, "error", err)
		}
	})
}

// exited records the end of the command itself; others of its tree may live on.
func (c *command) exited(r report) {
	c.mu.Lock()
	st := &c.status
	st.ExitCode, st.Left = r.Code, r.Left
	if r.Signal != 0 {
		st.Signal = unix.SignalName(syscall.Signal(r.Signal))
	}
	c.mu.Unlock()
	c.settle(sandbox.StateExited)
}

// fail records a command that could not be spawned.
func (c *command) fail(code int, failure string) {
	c.mu.Lock()
	c.status.ExitCode, c.status.Failure = code, failure
	c.mu.Unlock()
	c.settle(sandbox.StateExited)
	c.finish()
}

// lost records a command whose supervisor died. If the command itself had ended, only its background processes are gone.
func (c *command) lost() {
	c.mu.Lock()
	running := c.status.State == sandbox.StateRunning
	if running {
		c.status.ExitCode, c.status.Failure = -1, lostFailure
	}
	c.mu.Unlock()
	if running {
		c.settle(sandbox.StateLost)
	}
	c.finish()
}

// settle writes the exit record and then tells those who wait.
func (c *command) settle(state sandbox.State) {
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
	st := c.snapshotLocked()
	st.State, st.Ended, st.WaitsSince = state, time.Now(), time.Time{}
	st.Killed, st.TimedOut = c.wanted == wantKill, c.wanted == wantTimeout
	c.mu.Unlock()
	if err := replaceFile(filepath.Join(c.dir, exitFile), st); err != nil {
		st.Limit = "the exit could not be recorded durably: " + err.Error()
		c.engine.log.Error("record exit", "command", c.id, "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = st
	c.notifyLocked()
}

// finish says that no process of the command is left.
func (c *command) finish() {
	c.out.finish()
	c.err.finish()
	c.mu.Lock()
	c.status.Left, c.worker = 0, nil
	ended := c.status.Ended
	c.notifyLocked()
	c.mu.Unlock()
	if c.input != nil {
		c.input.close()
	}
	close(c.gone)
	c.engine.account(c.dir, ended)
	c.engine.remember(c)
}

// pumps copy the streams of one command to its spools.
type pumps struct {
	files []*os.File
	wg    sync.WaitGroup
	done  chan struct{}   // closed when every stream has ended
	empty []chan struct{} // per stream: closed when drain found nothing more to read
}

func (c *command) pump(std *streams) *pumps {
	p := &pumps{done: make(chan struct{})}
	p.add(c, std.out, c.out)
	if std.err != nil {
		p.add(c, std.err, c.err)
	}
	go func() { p.wg.Wait(); close(p.done) }()
	return p
}

func (p *pumps) add(c *command, f *os.File, s *spool) {
	empty := make(chan struct{})
	p.files = append(p.files, f)
	p.empty = append(p.empty, empty)
	p.wg.Go(func() {
		defer func() { _ = f.Close() }()
		var once sync.Once
		drained := func() { once.Do(func() { close(empty) }) }
		defer drained()
		buf := chunks.Get().(*[]byte)
		defer chunks.Put(buf)
		for copyChunk(c, f, s, *buf, drained) {
		}
	})
}

// copyChunk copies what is there and reports whether more may come.
func copyChunk(c *command, f *os.File, s *spool, buf []byte, drained func()) bool {
	n, err := f.Read(buf)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = f.SetReadDeadline(time.Time{})
		if n, err = readNow(f, buf); errors.Is(err, syscall.EAGAIN) {
			drained()
			return true
		}
		_ = f.SetReadDeadline(time.Unix(1, 0)) // there was something: look again after storing it
	}
	if n > 0 {
		s.write(buf[:n])
		c.printed()
	}
	return err == nil
}

// readNow reads without waiting.
func readNow(f *os.File, buf []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	if ctlErr := raw.Control(func(fd uintptr) { n, err = syscall.Read(int(fd), buf) }); ctlErr != nil {
		return 0, ctlErr
	}
	if n == 0 && err == nil {
		err = fmt.Errorf("end of stream: %w", os.ErrClosed)
	}
	return max(n, 0), err
}

// drain returns once all that was written before is spooled, also when a background process keeps a stream open.
func (p *pumps) drain() {
	for i, f := range p.files {
		if err := f.SetReadDeadline(time.Unix(1, 0)); err != nil && !errors.Is(err, os.ErrClosed) {
			p.waitDone(drainTime / 10) // not pollable
			continue
		}
		select {
		case <-p.empty[i]:
		case <-time.After(drainTime / 10): // a background process writes without pause
		}
	}
}

func (p *pumps) waitDone(d time.Duration) {
	select {
	case <-p.done:
	case <-time.After(d):
	}
}

// close ends the streams when nobody is left to write to them, giving what is on its way the time d.
func (p *pumps) close(d time.Duration) {
	p.waitDone(d)
	for _, f := range p.files {
		_ = f.SetReadDeadline(time.Unix(1, 0))
		_ = f.Close()
	}
	<-p.done
}
