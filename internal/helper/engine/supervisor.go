// This file is the supervisor: the small process above every command that knows its whole tree and can end it.

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sandboxagent/internal/helper/wire"
)

const (
	killGrace  = 500 * time.Millisecond // between SIGTERM and SIGKILL
	sweepPause = 2 * time.Millisecond
	controlFD  = 3
)

// Exit codes of commands that never ran, as shells have them.
const (
	codeNotRunnable = 126
	codeNotFound    = 127
	codeSignal      = 128 // plus the signal's number
)

// supervisor runs one command at a time, as often as it is told to. Descendants whose parents die become its children,
// so it sees every process of the tree, whatever session or group that moved to.
type supervisor struct {
	ctl  *control
	pgid atomic.Int64 // process group of the current command

	mu     sync.Mutex
	run    int            // the current run, 0 when free
	gone   chan struct{}  // closed when nothing is left of it
	sweeps sync.WaitGroup // kills under way
}

// Supervise is the whole life of a supervisor process, whose control socket is descriptor 3. When the engine goes away,
// it kills what runs and returns.
func Supervise() int {
	debug.SetGCPercent(400)
	syscall.CloseOnExec(controlFD)
	// also undoes that a parent, such as nohup or a shell, ignored them, which commands would inherit
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	becomeSubreaper()
	closeToOthers()
	ctl, err := newControl(os.NewFile(controlFD, "control"))
	if err != nil {
		return 1
	}
	s := &supervisor{ctl: ctl}
	orders := make(chan start)
	go s.listen(orders)
	for o := range orders {
		s.execute(o)
	}
	return 0
}

type start struct {
	order
	fds []int
}

func (s *supervisor) listen(orders chan<- start) {
	defer close(orders)
	for {
		var o order
		fds, err := s.ctl.recv(&o)
		switch {
		case err != nil:
			s.abandon()
			return
		case o.Kill:
			s.kill(o.Run)
		case len(fds) == stdFiles && len(o.Argv) > 0:
			s.begin(o.Run)
			orders <- start{o, fds}
		default:
			s.report(report{Event: evFailed, Code: codeNotRunnable, Failure: "the supervisor got an incomplete order"})
		}
	}
}

func (s *supervisor) report(r report) { _ = s.ctl.send(r) }

// execute runs one command from spawn to the end of its last descendant.
func (s *supervisor) execute(o start) {
	pid, code, err := spawn(o)
	for _, fd := range o.fds {
		_ = syscall.Close(fd)
	}
	if err != nil {
		s.end()
		s.report(report{Event: evFailed, Code: code, Failure: err.Error()})
		return
	}
	s.pgid.Store(int64(pid))
	s.report(report{Event: evStarted})
	s.reap(pid)
	s.end()
	s.report(report{Event: evGone})
}

// begin claims the supervisor for a run before it is spawned, so that a kill that follows at once is not lost.
func (s *supervisor) begin(run int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.gone = run, make(chan struct{})
	s.pgid.Store(0)
}

func (s *supervisor) end() {
	s.mu.Lock()
	s.run = 0
	close(s.gone)
	s.mu.Unlock()
	s.sweeps.Wait()
}

// reap collects children until there are none, reporting the end of the command itself.
func (s *supervisor) reap(pid int) {
	for {
		var ws syscall.WaitStatus
		p, err := wait4(&ws, 0)
		if err != nil { // ECHILD
			break
		}
		if p != pid || (!ws.Exited() && !ws.Signaled()) {
			continue
		}
		r := report{Event: evExited, Code: ws.ExitStatus()}
		if ws.Signaled() {
			r.Signal = int(ws.Signal())
			r.Code = codeSignal + r.Signal
		}
		if collectDead() || !hasSubreaper {
			r.Left = len(tree(os.Getpid(), pid, false))
		}
		s.report(r)
	}
	for !hasSubreaper && len(tree(os.Getpid(), pid, false)) > 0 {
		time.Sleep(sweepPause * 50)
	}
}

func wait4(ws *syscall.WaitStatus, options int) (int, error) {
	for {
		p, err := syscall.Wait4(-1, ws, options, nil)
		if !errors.Is(err, syscall.EINTR) {
			return p, err
		}
	}
}

// collectDead reaps the children that have ended and reports whether others are left.
func collectDead() bool {
	for {
		var ws syscall.WaitStatus
		p, err := wait4(&ws, syscall.WNOHANG)
		if err != nil {
			return false
		}
		if p == 0 {
			return true
		}
	}
}

// kill ends the tree of a run in the background: politely, then for good.
func (s *supervisor) kill(run int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != run || run == 0 {
		return
	}
	gone := s.gone
	s.sweeps.Go(func() {
		s.signalAll(syscall.SIGTERM)
		select {
		case <-gone:
		case <-time.After(killGrace):
			s.sweep(gone)
		}
	})
}

// abandon kills what runs, at once: the engine that wanted it is gone.
func (s *supervisor) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == 0 {
		return
	}
	gone := s.gone
	s.sweeps.Go(func() { s.sweep(gone) })
}

// sweep kills descendants until the last one has been reaped, however fast they fork.
func (s *supervisor) sweep(gone <-chan struct{}) {
	for {
		s.signalAll(syscall.SIGKILL)
		select {
		case <-gone:
			return
		case <-time.After(sweepPause):
		}
	}
}

func (s *supervisor) signalAll(sig syscall.Signal) {
	for _, p := range tree(os.Getpid(), int(s.pgid.Load()), true) {
		_ = syscall.Kill(p, sig)
		if sig == syscall.SIGTERM { // a stopped process takes it only when it goes on
			_ = syscall.Kill(p, syscall.SIGCONT)
		}
	}
}

// spawn starts the command in a session of its own. On failure it returns the exit code to report.
func spawn(o start) (pid, code int, err error) {
	argv, env, dir := wire.Strings(o.Argv), wire.Strings(o.Env), string(o.Dir)
	program, code, err := lookPath(argv[0], env, dir)
	if err != nil {
		return 0, code, err
	}
	attr := &syscall.ProcAttr{
		Dir: dir,
		Env: env,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: o.TTY, Ctty: 0},
	}
	for _, fd := range o.fds {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	limited := limitProcesses()
	pid, err = syscall.ForkExec(program, argv, attr)
	limited(pid)
	if err == nil {
		return pid, 0, nil
	}
	if errors.Is(err, syscall.ENOENT) {
		return 0, codeNotFound, fmt.Errorf("%s: the interpreter it names does not exist", argv[0])
	}
	return 0, codeNotRunnable, fmt.Errorf("%s: %w", argv[0], err)
}
