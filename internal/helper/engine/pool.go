// This file keeps supervisors started ahead of need and uses them again when their command's tree has ended, so that
// starting a command costs one fork and not the start of a program.

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	poolAhead  = 1    // started ahead of need
	poolKept   = 4    // kept for use again
	strayTries = 5000 // sweeps, about ten seconds
)

// worker is the engine's end of one supervisor process.
type worker struct {
	ctl     *control
	cmd     *exec.Cmd
	reports chan report // closed when the process is gone
	run     int         // counts its runs
}

type pool struct {
	argv  []string // starts a supervisor
	start func(*exec.Cmd) error
	env   []string // of supervisors
	alone bool     // this process has no other children than supervisors

	mu     sync.Mutex
	idle   []*worker
	filler bool
	closed bool
	live   map[int]bool // pids of all supervisors; no other child of this process is one of ours
}

func newPool(argv []string, o Options) *pool {
	p := &pool{argv: argv, start: o.Start, env: []string{"GOMAXPROCS=2"}, alone: o.Alone, live: map[int]bool{}}
	if p.start == nil {
		p.start = (*exec.Cmd).Start
	}
	if o.Processes > 0 {
		p.env = append(p.env, limitName+"="+strconv.Itoa(o.Processes))
	}
	p.refill()
	return p
}

// take returns a free supervisor.
func (p *pool) take() (*worker, error) {
	p.mu.Lock()
	var w *worker
	for w == nil && len(p.idle) > 0 {
		last := len(p.idle) - 1
		w, p.idle = p.idle[last], p.idle[:last]
		if w.dead() {
			w = nil
		}
	}
	p.mu.Unlock()
	defer p.refill()
	if w != nil {
		return w, nil
	}
	return p.spawn()
}

// dead reports whether a worker without a run has lost its process.
func (w *worker) dead() bool {
	select {
	case _, ok := <-w.reports:
		return !ok
	default:
		return false
	}
}

// give takes a supervisor back whose tree has ended.
func (p *pool) give(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= poolKept {
		_ = w.ctl.conn.Close() // it leaves by itself
		return
	}
	p.idle = append(p.idle, w)
}

func (p *pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.filler || p.closed || len(p.idle) >= poolAhead {
		return
	}
	p.filler = true
	go p.fill()
}

func (p *pool) fill() {
	for {
		w, err := p.spawn()
		if err == nil {
			p.give(w)
		}
		p.mu.Lock()
		if err != nil || p.closed || len(p.idle) >= poolAhead {
			p.filler = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

func (p *pool) spawn() (*worker, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	ctl, err := newControl(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env = p.env
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	w := &worker{ctl: ctl, cmd: cmd, reports: make(chan report, 4)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = ctl.conn.Close()
		return nil, errors.New("the helper is shutting down")
	}
	if err := p.start(cmd); err != nil {
		_ = ctl.conn.Close()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	p.live[cmd.Process.Pid] = true
	go p.watch(w)
	return w, nil
}

// watch passes on what a supervisor reports until it is gone, and then kills what its death set free.
func (p *pool) watch(w *worker) {
	for {
		var r report
		if _, err := w.ctl.recv(&r); err != nil {
			break
		}
		w.reports <- r
	}
	_ = w.ctl.conn.Close()
	_ = w.cmd.Wait()
	p.mu.Lock()
	delete(p.live, w.cmd.Process.Pid)
	p.mu.Unlock()
	p.killStrays()
	close(w.reports)
}

// killStrays kills the processes that a supervisor's death made children of this one.
func (p *pool) killStrays() {
	if !hasSubreaper || !p.alone {
		return
	}
	for range strayTries {
		if !p.sweepStrays() {
			return
		}
		time.Sleep(sweepPause)
	}
}

func (p *pool) sweepStrays() (found bool) {
	p.mu.Lock() // no supervisor can start meanwhile
	defer p.mu.Unlock()
	for _, child := range childrenOf(os.Getpid()) {
		if p.live[child] {
			continue
		}
		found = true
		for _, pid := range append(tree(child, 0, true), child) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		var ws syscall.WaitStatus
		_, _ = syscall.Wait4(child, &ws, syscall.WNOHANG, nil)
	}
	return found
}

// close lets every free supervisor go; busy ones go when their tree has ended.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		_ = w.ctl.conn.Close()
	}
	p.idle = nil
}

func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make control socket: %w", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}
