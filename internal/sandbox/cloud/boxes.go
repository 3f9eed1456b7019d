// This file knows which sandboxes of a cloud this process has open: each once, shared by all that opened it.

package cloud

import (
	"context"
	"path"
	"sync"

	"sandboxagent/internal/sandbox"
)

const openTries = 5 // against a Destroy at the same time

// Opened is a sandbox that is open here.
type Opened interface {
	comparable
	// Ref names it, with its workspace as far as that is known.
	Ref() sandbox.Ref
	// Gone reports whether it was destroyed.
	Gone() bool
	// Connected reports whether its helper can be asked without waking it.
	Connected() bool
	// Wake makes sure that somebody keeps it awake for as long as it is needed.
	Wake()
	// Forsake ends the connection to it. It lives on.
	Forsake()
}

// Boxes are the sandboxes that a backend has open, by id. With a clock in Holds the zero value is ready to use.
type Boxes[B Opened] struct {
	Holds Holds

	turns turns

	mu  sync.Mutex
	all map[string]B
}

// Enter waits until nobody else opens, stops or destroys the sandbox, which nobody can until done.
func (s *Boxes[B]) Enter(ctx context.Context, op, id string) (done func(), err error) {
	if err := sandbox.CheckID(op, id); err != nil {
		return nil, err
	}
	return s.turns.enter(ctx, op, id)
}

// Open opens a sandbox, one caller after the other: the one that is open here, or what get brings.
func (s *Boxes[B]) Open(ctx context.Context, op, id string, get func() (B, error), open func(B) error) (B, error) {
	var none B
	done, err := s.Enter(ctx, op, id)
	if err != nil {
		return none, err
	}
	defer done()
	for try := 1; ; try++ {
		x := s.Known(id)
		if x == none {
			if x, err = get(); err != nil {
				return none, err
			}
			s.adopt(id, x)
		}
		err := open(x)
		if err == nil {
			return x, nil
		}
		if sandbox.ClassOf(err) != sandbox.ClassNotFound || try == openTries {
			return none, err
		}
	}
}

// Known returns the sandbox that is open here, unless it is gone: then, as where there is none, the zero value.
func (s *Boxes[B]) Known(id string) B {
	var none B
	if x := s.Last(id); x != none && !x.Gone() {
		return x
	}
	return none
}

// Last is Known also of one that is gone.
func (s *Boxes[B]) Last(id string) B {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

func (s *Boxes[B]) adopt(id string, x B) {
	var none B
	s.mu.Lock()
	if s.all == nil {
		s.all = map[string]B{}
	}
	old := s.all[id]
	s.all[id] = x
	s.mu.Unlock()
	if old != none {
		old.Forsake()
	}
}

// Drop forgets a sandbox that was destroyed, unless another one has come in its place.
func (s *Boxes[B]) Drop(id string, x B) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[id] == x {
		delete(s.all, id)
	}
}

// Keep keeps a sandbox awake though nobody calls it, as during a turn in which the model thinks, until release is called. It
// never makes or wakes one.
func (s *Boxes[B]) Keep(id string) (release func()) {
	var none B
	release = s.Holds.Add(id)
	if x := s.Known(id); x != none && x.Connected() {
		x.Wake()
	}
	return release
}

// Root returns the workspace of a sandbox that is open here, or the configured one where that can be nowhere else, or "".
func (s *Boxes[B]) Root(id, configured string) string {
	var none B
	if x := s.Known(id); x != none {
		configured = x.Ref().Workspace
	}
	if !path.IsAbs(configured) {
		return ""
	}
	return path.Clean(configured)
}

// Close ends the connections to all sandboxes, which live on.
func (s *Boxes[B]) Close() {
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	var parting sync.WaitGroup
	for _, x := range all {
		parting.Go(x.Forsake)
	}
	parting.Wait()
}
