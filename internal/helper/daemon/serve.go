// Package daemon keeps one helper per sandbox running, apart from who started it: it outlives the worker, is found again
// through the state directory, and leaves by itself when nobody needs it.
//
// This file is the helper's side.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"sandboxagent/internal/helper/engine"
)

// DefaultIdle is how long a helper stays with no connection and no process of a command alive.
const DefaultIdle = 30 * time.Minute

const (
	lockTime = 15 * time.Second // a helper that leaves may take that long
	maxTick  = 2 * time.Second  // between looks at idleness and at the socket
)

// Options say what a helper serves.
type Options struct {
	State string        // directory of the sandbox's state; must exist
	Root  string        // the workspace
	Alias string        // see engine.Options
	Idle  time.Duration // default DefaultIdle
	Ready io.Writer     // gets a line when connections are taken
	Log   io.Writer
	Build string // identity of this program

	Start     func(*exec.Cmd) error // see engine.Options
	Processes int                   // see engine.Options
	// Apart says that commands run among the same processes as the helper, and whom it serves does not: connections of
	// commands are refused.
	Apart bool
}

// Serve is the life of a helper. It returns nil at once when another one serves the state directory already.
func Serve(ctx context.Context, o Options) error {
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	ctx, stop := o.heed(ctx)
	defer stop()
	lock, err := soleServer(ctx, o.State)
	if err != nil {
		return err
	}
	if lock == nil {
		return announce(o.Ready)
	}
	defer lock.Close()
	log := slog.New(slog.NewTextHandler(&boundedWriter{w: o.Log, left: maxLog}, nil))
	e, err := engine.New(engine.Options{State: o.State, Root: o.Root, Alias: o.Alias, Logger: log, Alone: true, Start: o.Start, Processes: o.Processes})
	if err != nil {
		return fmt.Errorf("open sandbox: %w", err)
	}
	d := &daemon{Options: o, engine: e, log: log, conns: map[net.Conn]bool{}, last: time.Now(), quit: make(chan struct{})}
	defer d.close()
	if err := d.listen(); err != nil {
		return err
	}
	if err := announce(o.Ready); err != nil {
		return err
	}
	d.watch(ctx)
	return nil
}

// heed says what signals do: SIGTERM ends the helper, unless it could come from a command. The others are caught rather than
// ignored, because commands would inherit that.
func (o Options) heed(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Apart {
		signal.Notify(make(chan os.Signal, 1)) // all that can be caught
		return context.WithCancel(ctx)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT)
	return signal.NotifyContext(ctx, syscall.SIGTERM)
}

func announce(w io.Writer) error {
	if _, err := fmt.Fprintln(w, readyLine); err != nil {
		return fmt.Errorf("announce readiness: %w", err)
	}
	return nil
}

// soleServer takes the lock of the helper that serves. It returns nil when another one does and can be reached.
func soleServer(ctx context.Context, state string) (*os.File, error) {
	for end := time.Now().Add(lockTime); time.Now().Before(end); {
		f, err := tryLock(filepath.Join(state, serveLock))
		if err != nil {
			return nil, err
		}
		if f != nil {
			// without its process id inside, a helper that hangs cannot be killed; it serves all the same
			if err := f.Truncate(0); err == nil {
				_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			}
			return f, nil
		}
		if conn, err := connect(state); err == nil {
			return nil, conn.Close()
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, errors.New("another helper has the sandbox but cannot be reached")
}

type daemon struct {
	Options
	engine *engine.Engine
	log    *slog.Logger
	quit   chan struct{}
	once   sync.Once

	mu       sync.Mutex
	listener *net.UnixListener
	path     string // of the socket
	conns    map[net.Conn]bool
	last     time.Time // when there was a connection last
	closed   bool
}

func (d *daemon) listen() error {
	l, path, err := listen(d.State)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.listener, d.path = l, path
	d.mu.Unlock()
	go d.accept(l)
	return nil
}

func (d *daemon) accept(l *net.UnixListener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors
			time.Sleep(lockPause)
			continue
		}
		if d.Apart && fromInside(conn) {
			_ = conn.Close()
			continue
		}
		if !d.enter(conn) {
			_ = conn.Close()
			return
		}
		go func() {
			err := d.engine.Serve(context.Background(), conn, d.Build)
			d.exit(conn)
			switch {
			case errors.Is(err, engine.ErrLeave):
				d.leave()
			case err != nil && !errors.Is(err, net.ErrClosed):
				d.log.Warn("connection ended", "error", err)
			}
		}()
	}
}

func (d *daemon) enter(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.conns[conn] = true
	return true
}

func (d *daemon) exit(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, conn)
	d.last = time.Now()
}

func (d *daemon) leave() { d.once.Do(func() { close(d.quit) }) }

// watch returns when the helper is to leave.
func (d *daemon) watch(ctx context.Context) {
	tick := time.NewTicker(min(maxTick, max(d.Idle/4, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.quit:
			return
		case <-tick.C:
		}
		if d.idle() && d.engine.Retire() {
			return
		}
		if removed(d.State) {
			d.log.Warn("the state directory is gone")
			return
		}
		d.mend()
	}
}

// removed reports whether a directory is gone: also one that is mounted here and was removed elsewhere.
func removed(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

func (d *daemon) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns) == 0 && time.Since(d.last) >= d.Idle
}

// mend opens the socket again when something, such as a cleaner of temporary files, has removed it.
func (d *daemon) mend() {
	d.mu.Lock()
	l, path := d.listener, d.path
	d.mu.Unlock()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return
	}
	_ = l.Close()
	if err := d.listen(); err != nil {
		d.log.Error("open socket again", "error", err)
	}
}

// close ends everything; the lock is given back after it.
func (d *daemon) close() {
	d.mu.Lock()
	d.closed = true
	if d.listener != nil {
		_ = d.listener.Close() // removes the socket
	}
	d.mu.Unlock()
	if err := d.engine.Close(); err != nil {
		d.log.Error("end commands", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn := range d.conns {
		_ = conn.Close()
	}
}

// boundedWriter drops what goes beyond its allowance.
type boundedWriter struct {
	w    io.Writer
	mu   sync.Mutex
	left int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < len(p) {
		return len(p), nil
	}
	b.left -= len(p)
	return b.w.Write(p)
}
