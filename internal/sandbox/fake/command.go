// This file runs commands, which are Go functions, and keeps the ledger of them.

package fake

import (
	"context"
	"io"
	"path"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	opStart        = "start command"
	defaultTimeout = 10 * time.Minute
	maxTimeout     = 2 * time.Hour
	maxCap         = 1 << 30
	maxScript      = 1 << 20
)

// Program is what a command does; it returns the exit code. It must return soon after p.Context ends: the command was killed.
type Program func(p *Process) int

// Process is a running Program's view of its command.
type Process struct {
	Command sandbox.Command
	Stdin   io.Reader // at its end unless the command was started with Stdin or TTY

	ctx   context.Context
	place *place
	id    string
}

// Context ends when the command is killed or lost.
func (p *Process) Context() context.Context { return p.ctx }

// Size is the size of the command's terminal as it is now.
func (p *Process) Size() (rows, cols uint16) {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	c := p.place.commands[p.id]
	return c.rows, c.cols
}

// Asks says whether the command waits for input.
func (p *Process) Asks(asks bool) {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	st := &p.place.commands[p.id].status
	st.WaitsSince = time.Time{}
	if asks {
		st.WaitsSince = time.Now()
	}
	p.place.signal()
}

// Print writes to standard output.
func (p *Process) Print(text string) { p.place.write(p.id, sandbox.Stdout, text) }

// PrintError writes to standard error, on a terminal to the same as Print.
func (p *Process) PrintError(text string) { p.place.write(p.id, sandbox.Stderr, text) }

// command is a ledger entry.
type command struct {
	status sandbox.Status
	output map[sandbox.Stream]*stream
	stdin  *queue // nil if it takes none
	tty    bool
	rows   uint16 // of the terminal
	cols   uint16
	cancel context.CancelFunc
	timer  *time.Timer
}

// Program says what the command of this script does.
func (s *Sandbox) Program(script string, run Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.programs[script] = run
}

// Drop forgets the first n bytes of a command's output, as an output limit does.
func (s *Sandbox) Drop(id string, stream sandbox.Stream, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands[id].output[stream].dropped = n
}

// Start implements sandbox.Sandbox.
func (s *Sandbox) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	cmd.Env = append(append([]string{}, s.env...), cmd.Env...)
	if err := checkCommand(id, cmd); err != nil {
		return err
	}
	if s.shell && cmd.TTY {
		return sandbox.Errorf(sandbox.ClassUnsupported, opStart, "there are no terminals here")
	}
	return s.do(ctx, "Start", func() error {
		if _, ok := s.commands[id]; ok {
			return nil
		}
		dir, err := s.find(opStart, cmd.Dir, true)
		if err != nil && sandbox.ClassOf(err) != sandbox.ClassNotFound {
			return err
		}
		s.begin(id, cmd, dir)
		return nil
	})
}

func checkCommand(id string, cmd sandbox.Command) error {
	if err := sandbox.CheckID(opStart, id); err != nil {
		return err
	}
	refuse := func(message string) error { return sandbox.Errorf(sandbox.ClassInvalid, opStart, "%s", message) }
	for _, text := range append(append([]string{cmd.Script}, cmd.Argv...), cmd.Env...) {
		if strings.ContainsRune(text, 0) {
			return refuse("a command must not contain NUL bytes")
		}
	}
	for _, pair := range cmd.Env {
		if name, _, ok := strings.Cut(pair, "="); !ok || name == "" {
			return refuse("environment entries must have the form NAME=value")
		}
	}
	switch {
	case len(cmd.Script) > maxScript:
		return sandbox.Errorf(sandbox.ClassLimit, opStart, "the script has more than %d bytes", maxScript)
	case cmd.Script != "" && len(cmd.Argv) > 0, len(cmd.Argv) > 0 && cmd.Argv[0] == "":
		return refuse("give either a script or a program with its arguments")
	case cmd.Timeout < 0 || cmd.Timeout > maxTimeout:
		return refuse("the timeout is out of range")
	case cmd.OutputCap < 0 || cmd.OutputCap > maxCap:
		return refuse("the output limit is out of range")
	}
	return nil
}

// begin makes the ledger entry and runs the command; the mutex is held.
func (s *Sandbox) begin(id string, cmd sandbox.Command, dir found) {
	running, cancel := context.WithCancel(context.Background())
	limit := cmd.OutputCap
	if limit == 0 {
		limit = defaultCap
	}
	c := &command{
		status: sandbox.Status{ID: id, State: sandbox.StateRunning, TTY: cmd.TTY, Started: time.Now()},
		output: map[sandbox.Stream]*stream{sandbox.Stdout: {limit: limit}, sandbox.Stderr: {limit: limit}},
		cancel: cancel, tty: cmd.TTY, rows: cmd.Rows, cols: cmd.Cols,
	}
	s.commands[id] = c
	run, code, failure := s.program(cmd, dir)
	if failure != "" {
		s.end(id, func(st *sandbox.Status) { st.ExitCode, st.Failure = code, failure })
		return
	}
	p := &Process{Command: cmd, Stdin: strings.NewReader(""), ctx: running, place: s.place, id: id}
	if cmd.Stdin || cmd.TTY {
		c.stdin = newQueue()
		p.Stdin = c.stdin
	}
	timeout := cmd.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	c.timer = time.AfterFunc(timeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kill(id, func(st *sandbox.Status) { st.TimedOut = true })
	})
	go func() {
		code := run(p)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(id, func(st *sandbox.Status) { st.ExitCode = code })
	}()
}

// program finds what a command does, or says why it cannot be spawned; the mutex is held.
func (s *Sandbox) program(cmd sandbox.Command, dir found) (run Program, code int, failure string) {
	run, ok := s.programs[cmd.Script]
	switch {
	case ok && len(cmd.Argv) == 0:
		return run, 0, ""
	case !s.shell:
		return nil, 127, "no such program: " + cmd.Script
	case dir.node == nil:
		return nil, 126, "there is no directory " + cmd.Dir
	case dir.node.children == nil:
		return nil, 126, cmd.Dir + " is not a directory"
	}
	rel, _ := clean(opStart, cmd.Dir) // it was found
	return shell(cmd, path.Join(workspace, rel))
}

// end ends a command that runs; the mutex is held.
func (p *place) end(id string, how func(*sandbox.Status)) {
	c := p.commands[id]
	if c == nil || c.status.State != sandbox.StateRunning {
		return
	}
	c.status.State, c.status.Ended, c.status.WaitsSince = sandbox.StateExited, time.Now(), time.Time{}
	how(&c.status)
	c.cancel()
	if c.stdin != nil {
		c.stdin.close()
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	p.signal()
}

// kill ends a command by force; the mutex is held.
func (p *place) kill(id string, mark func(*sandbox.Status)) {
	p.end(id, func(st *sandbox.Status) {
		st.ExitCode, st.Signal = 137, "SIGKILL"
		mark(st)
	})
}

// signal wakes all who wait; the mutex is held.
func (p *place) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// write takes what a command prints.
func (p *place) write(id string, stream sandbox.Stream, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.commands[id]
	if c.status.State != sandbox.StateRunning {
		return
	}
	if c.tty {
		stream = sandbox.Stdout
	}
	out := c.output[stream]
	out.data = append(out.data, text...)
	c.status.Total = sandbox.Offsets{
		Stdout: int64(len(c.output[sandbox.Stdout].data)), Stderr: int64(len(c.output[sandbox.Stderr].data)),
	}
	p.signal()
}
