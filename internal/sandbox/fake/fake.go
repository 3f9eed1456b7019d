// Package fake is a sandbox in memory, for tests: a tree of files, commands that are Go functions or scripts for a small
// shell, and faults on demand. New makes one sandbox, NewBackend a backend of them that passes the conformance suite.
//
// This file makes the sandbox.
package fake

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"sandboxagent/internal/sandbox"
)

// Kind names the fake backend.
const Kind sandbox.Kind = "fake"

// workspace is what the root of every sandbox is called.
const workspace = "/fake/workspace"

// Sandbox implements sandbox.Sandbox. Several may be open on the same place.
type Sandbox struct {
	*place
	env    []string
	closed atomic.Bool
}

// place is what sandboxes are open on.
type place struct {
	ref   sandbox.Ref
	found sandbox.Found
	shell bool // commands without a Program are scripts

	mu       sync.Mutex
	root     *node
	programs map[string]Program
	commands map[string]*command
	applied  map[string]error
	before   map[string][]error
	after    map[string][]error
	faults   []Fault
	steps    *int // after how many edits the Apply under way goes wrong; nil if it does not
	calls    map[string]int
	gone     bool
	changed  chan struct{} // closed and replaced whenever a command changes
}

func newPlace(id string) *place {
	return &place{
		ref:      sandbox.Ref{Kind: Kind, ID: id, Workspace: workspace},
		root:     newDir(),
		programs: map[string]Program{}, commands: map[string]*command{}, applied: map[string]error{},
		before: map[string][]error{}, after: map[string][]error{}, calls: map[string]int{}, changed: make(chan struct{}),
	}
}

// New makes a sandbox with the given files, of mode 0644. It has no shell: only commands that are a Program can run.
func New(files map[string]string) *Sandbox {
	s := &Sandbox{place: newPlace("fake")}
	for path, data := range files {
		s.Put(path, data, 0o644)
	}
	return s
}

// Put makes or replaces a file, with the directories above it. A path that cannot be is ignored.
func (s *Sandbox) Put(path, data string, mode fs.FileMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plant(path, &node{data: []byte(data), mode: mode, mtime: time.Now()})
}

// Link makes or replaces a symbolic link.
func (s *Sandbox) Link(path, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plant(path, newLink(target))
}

// Files returns the content of all regular files.
func (s *Sandbox) Files() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	s.root.walk(".", func(path string, n *node) {
		if n.mode.IsRegular() {
			all[path] = string(n.data)
		}
	})
	return all
}

// Mode returns the mode of a file, 0 if there is none.
func (s *Sandbox) Mode(path string) fs.FileMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, err := s.find("stat", path, false); err == nil && at.node != nil {
		return at.node.mode
	}
	return 0
}

// Calls returns how often the method op was called.
func (s *Sandbox) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// do carries out a call of the method op, whose work is done with the mutex held, or lets it go wrong as was asked for.
func (s *Sandbox) do(ctx context.Context, op string, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	if err := s.usable(op); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return canceled(ctx, op)
	}
	if err := take(s.before, op); err != nil {
		return err
	}
	err := s.suffer(ctx, op, work)
	if lost := take(s.after, op); lost != nil {
		return lost
	}
	return err
}

func (s *Sandbox) usable(op string) error {
	switch {
	case s.closed.Load():
		return sandbox.Errorf(sandbox.ClassInvalid, op, "it was closed")
	case s.gone:
		return sandbox.Errorf(sandbox.ClassNotFound, op, "the sandbox was destroyed")
	}
	return nil
}

func canceled(ctx context.Context, op string) error {
	return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: context.Cause(ctx)}
}

// Ref implements sandbox.Sandbox.
func (s *Sandbox) Ref() sandbox.Ref { return s.ref }

// Health implements sandbox.Sandbox.
func (s *Sandbox) Health(ctx context.Context) error {
	return s.do(ctx, "Health", func() error { return nil })
}

// Close implements sandbox.Sandbox.
func (s *Sandbox) Close() error {
	s.closed.Store(true)
	return nil
}
