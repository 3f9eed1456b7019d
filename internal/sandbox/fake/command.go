// This file runs commands, which are Go functions, and keeps the ledger of them.

package fake

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

// Program is what a command does; it returns the exit code. It must return soon after p.Context ends: the command was killed.
type Program func(p *Process) int

// Process is a running Program's view of its command.
type Process struct {
	Command sandbox.Command
	Stdin   io.Reader // at its end unless the command was started with Stdin

	ctx     context.Context
	sandbox *Sandbox
	id      string
}

// Context ends when the command is killed or lost.
func (p *Process) Context() context.Context { return p.ctx }

// Size is the size of the command's terminal as it is now.
func (p *Process) Size() (rows, cols uint16) {
	p.sandbox.mu.Lock()
	defer p.sandbox.mu.Unlock()
	c := p.sandbox.commands[p.id]
	return c.rows, c.cols
}

// Print writes to standard output.
func (p *Process) Print(text string) { p.sandbox.write(p.id, sandbox.Stdout, text) }

// PrintError writes to standard error.
func (p *Process) PrintError(text string) { p.sandbox.write(p.id, sandbox.Stderr, text) }

// command is a ledger entry.
type command struct {
	status  sandbox.Status
	output  map[sandbox.Stream][]byte
	dropped map[sandbox.Stream]int64 // how many bytes of the beginning are gone
	stdin   *io.PipeWriter
	tty     bool
	rows    uint16 // of the terminal
	cols    uint16
	cancel  context.CancelFunc
	timer   *time.Timer
}

// Program says what the command of this script does. Other scripts fail with code 127.
func (s *Sandbox) Program(script string, run Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.programs[script] = run
}

// Lose makes a running command lost, as when its supervisor dies.
func (s *Sandbox) Lose(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id, func(st *sandbox.Status) {
		st.State, st.Failure = sandbox.StateLost, "what supervised it died"
	})
}

// Drop forgets the first n bytes of a command's output, as an output limit does.
func (s *Sandbox) Drop(id string, stream sandbox.Stream, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands[id].dropped[stream] = n
}

// Start implements sandbox.Sandbox.
func (s *Sandbox) Start(ctx context.Context, id string, cmd sandbox.Command) (err error) {
	if err := s.enter(ctx, "Start"); err != nil {
		return err
	}
	defer s.leave("Start", &err)
	if _, ok := s.commands[id]; ok {
		return nil
	}
	running, cancel := context.WithCancel(context.Background())
	c := &command{
		status: sandbox.Status{ID: id, State: sandbox.StateRunning, Started: time.Now()},
		output: map[sandbox.Stream][]byte{}, dropped: map[sandbox.Stream]int64{}, cancel: cancel,
	}
	c.tty, c.rows, c.cols = cmd.TTY, cmd.Rows, cmd.Cols
	s.commands[id] = c
	run, ok := s.programs[cmd.Script]
	if !ok {
		s.end(id, func(st *sandbox.Status) { st.ExitCode, st.Failure = 127, "no such program: "+cmd.Script })
		return nil
	}
	p := &Process{Command: cmd, Stdin: strings.NewReader(""), ctx: running, sandbox: s, id: id}
	if cmd.Stdin {
		p.Stdin, c.stdin = io.Pipe()
	}
	timeout := cmd.Timeout
	if timeout == 0 {
		timeout = 10 * time.Minute
	}
	c.timer = time.AfterFunc(timeout, func() { s.kill(id, func(st *sandbox.Status) { st.TimedOut = true }) })
	go func() {
		code := run(p)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(id, func(st *sandbox.Status) { st.ExitCode = code })
	}()
	return nil
}

// end ends a command that runs; the mutex is held.
func (s *Sandbox) end(id string, how func(*sandbox.Status)) {
	c := s.commands[id]
	if c == nil || c.status.State != sandbox.StateRunning {
		return
	}
	c.status.State, c.status.Ended = sandbox.StateExited, time.Now()
	how(&c.status)
	c.cancel()
	if c.stdin != nil {
		_ = c.stdin.Close() // a pipe's Close never fails
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	s.signal()
}

func (s *Sandbox) kill(id string, mark func(*sandbox.Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id, func(st *sandbox.Status) {
		st.ExitCode, st.Signal = 137, "SIGKILL"
		mark(st)
	})
}

// signal wakes all who wait; the mutex is held.
func (s *Sandbox) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Sandbox) write(id string, stream sandbox.Stream, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.commands[id]
	if c.status.State != sandbox.StateRunning {
		return
	}
	c.output[stream] = append(c.output[stream], text...)
	c.status.Total = sandbox.Offsets{
		Stdout: int64(len(c.output[sandbox.Stdout])), Stderr: int64(len(c.output[sandbox.Stderr])),
	}
	s.signal()
}

// Wait implements sandbox.Sandbox.
func (s *Sandbox) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (st sandbox.Status, err error) {
	if err := s.enter(ctx, "Wait"); err != nil {
		return st, err
	}
	defer s.leave("Wait", &err)
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		c, ok := s.commands[id]
		if !ok {
			return st, unknown("wait", id)
		}
		st = c.status
		if st.State != sandbox.StateRunning || st.Total.Stdout > after.Stdout || st.Total.Stderr > after.Stderr {
			return st, nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
			s.mu.Lock()
			continue
		case <-ctx.Done():
		case <-timer.C:
		}
		s.mu.Lock()
		return st, nil
	}
}

func unknown(op, id string) error {
	return sandbox.Errorf(sandbox.ClassNotFound, op, "there is no command %s", id)
}

// Output implements sandbox.Sandbox.
func (s *Sandbox) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (chunk sandbox.Chunk, err error) {
	if err := s.enter(ctx, "Output"); err != nil {
		return chunk, err
	}
	defer s.leave("Output", &err)
	c, ok := s.commands[id]
	if !ok {
		return chunk, unknown("read output", id)
	}
	data := c.output[stream]
	start := min(max(offset, c.dropped[stream]), int64(len(data)))
	end := min(start+int64(n), int64(len(data)))
	return sandbox.Chunk{
		Data: slices.Clone(data[start:end]), Offset: start, Total: int64(len(data)),
		EOF: end == int64(len(data)) && c.status.State != sandbox.StateRunning,
	}, nil
}

// Input implements sandbox.Sandbox.
func (s *Sandbox) Input(ctx context.Context, id string, data []byte, eof bool) (err error) {
	if err := s.enter(ctx, "Input"); err != nil {
		return err
	}
	c, ok := s.commands[id]
	s.mu.Unlock() // writing waits for the program
	defer func() {
		s.mu.Lock()
		s.leave("Input", &err)
	}()
	if !ok {
		return unknown("write input", id)
	}
	if c.stdin == nil {
		return sandbox.Errorf(sandbox.ClassInvalid, "write input", "the command takes no input")
	}
	if _, err := c.stdin.Write(data); err != nil {
		return sandbox.Errorf(sandbox.ClassConflict, "write input", "the command has ended")
	}
	if eof {
		return c.stdin.Close()
	}
	return nil
}

// Resize implements sandbox.Sandbox.
func (s *Sandbox) Resize(ctx context.Context, id string, rows, cols uint16) (err error) {
	if err := s.enter(ctx, "Resize"); err != nil {
		return err
	}
	defer s.leave("Resize", &err)
	const op = "resize terminal"
	c, ok := s.commands[id]
	switch {
	case !ok:
		return unknown(op, id)
	case rows == 0 || cols == 0:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "a terminal has at least one row and one column")
	case c.status.State != sandbox.StateRunning:
		return nil
	case !c.tty:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the command has no terminal: start it with one")
	}
	c.rows, c.cols = rows, cols
	s.signal()
	return nil
}

// Kill implements sandbox.Sandbox.
func (s *Sandbox) Kill(ctx context.Context, id string) (err error) {
	if err := s.enter(ctx, "Kill"); err != nil {
		return err
	}
	_, ok := s.commands[id]
	s.mu.Unlock()
	if ok {
		s.kill(id, func(st *sandbox.Status) { st.Killed = true })
	}
	s.mu.Lock()
	defer s.leave("Kill", &err)
	if !ok {
		return unknown("kill", id)
	}
	return nil
}

// Commands implements sandbox.Sandbox.
func (s *Sandbox) Commands(ctx context.Context) (all []sandbox.Status, err error) {
	if err := s.enter(ctx, "Commands"); err != nil {
		return nil, err
	}
	defer s.leave("Commands", &err)
	for _, c := range s.commands {
		if c.status.State == sandbox.StateRunning {
			all = append(all, c.status)
		}
	}
	slices.SortFunc(all, func(a, b sandbox.Status) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}
