// This file lets tests make calls go wrong.

package fake

import (
	"context"

	"sandboxagent/internal/sandbox"
)

// Fault is something that goes wrong with one call.
type Fault struct {
	Op   string // the method of sandbox.Sandbox whose next call it befalls
	Kind FaultKind
	Step int // Crash, DiskFull: how many files an Apply, or how much of another call (0 nothing, 1 all) was done before
}

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of fault.
const (
	Lost      FaultKind = "lost call"      // the call does nothing and fails with ClassUnavailable
	LostReply FaultKind = "lost reply"     // the call does its work and fails with ClassUnknown
	Duplicate FaultKind = "duplicate call" // the call does its work twice
	Slow      FaultKind = "slow"           // the call does its work when its ctx has ended, and fails with ClassCanceled
	DiskFull  FaultKind = "disk full"      // the call fails with ClassLimit; what it did is undone
	Crash     FaultKind = "crash"          // the sandbox dies in the call, which fails with ClassUnavailable: commands are lost
)

// Inject makes something go wrong. Faults of the same method befall one call each, in the order they were given.
func (s *Sandbox) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// Fail lets the next calls of the method op (e.g. "Start") fail with these errors, one each, before they do anything; a nil
// lets one pass.
func (s *Sandbox) Fail(op string, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before[op] = append(s.before[op], errs...)
}

// LoseReply lets the next calls of the method op do their work and then fail with these errors, one each.
func (s *Sandbox) LoseReply(op string, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after[op] = append(s.after[op], errs...)
}

// take returns and removes the first error of a queue.
func take(queues map[string][]error, op string) error {
	queue := queues[op]
	if len(queue) == 0 {
		return nil
	}
	queues[op] = queue[1:]
	return queue[0]
}

// suffer does the work of a call, or what the first fault for it makes of it; the mutex is held.
func (s *Sandbox) suffer(ctx context.Context, op string, work func() error) error {
	fault := s.next(op)
	switch fault.Kind {
	case Lost:
		return sandbox.Errorf(sandbox.ClassUnavailable, op, "the sandbox cannot be reached")
	case LostReply:
		_ = work()
		return sandbox.Errorf(sandbox.ClassUnknown, op, "the connection broke")
	case Duplicate:
		_ = work()
		return work()
	case Slow:
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		_ = work()
		return canceled(ctx, op)
	case DiskFull:
		s.partly(op, fault.Step, work)
		return sandbox.Errorf(sandbox.ClassLimit, op, "no space left on the disk")
	case Crash:
		s.partly(op, fault.Step, work)
		s.crash()
		return sandbox.Errorf(sandbox.ClassUnavailable, op, "the sandbox died")
	}
	return work()
}

// partly does the first steps of the work of a call; the mutex is held.
func (s *Sandbox) partly(op string, steps int, work func() error) {
	if op != "Apply" && steps == 0 {
		return
	}
	s.steps = &steps
	_ = work()
	s.steps = nil
}

// next returns and removes the first fault of a method; the mutex is held.
func (s *Sandbox) next(op string) Fault {
	for i, f := range s.faults {
		if f.Op == op {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			return f
		}
	}
	return Fault{}
}

// crash loses what runs; the mutex is held.
func (p *place) crash() {
	for id := range p.commands {
		p.end(id, lost)
	}
}

// Lose makes a running command lost, as when its supervisor dies.
func (s *Sandbox) Lose(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id, lost)
}

func lost(st *sandbox.Status) {
	st.State, st.ExitCode, st.Failure = sandbox.StateLost, -1, "what supervised it died, so its outcome is unknown"
}
