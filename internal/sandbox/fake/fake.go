// This file makes the sandbox in memory and lets tests inject faults.

// Package fake is a sandbox in memory, for tests: a map of files, commands that are Go functions, and faults on demand.
package fake

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

// Sandbox implements sandbox.Sandbox. Directories exist as long as there is a file below them.
type Sandbox struct {
	ref sandbox.Ref

	mu       sync.Mutex
	files    map[string]node
	programs map[string]Program
	commands map[string]*command
	applied  map[string]error
	before   map[string][]error
	after    map[string][]error
	calls    map[string]int
	changed  chan struct{} // closed and replaced whenever a command changes
}

// node is a file or a link.
type node struct {
	data   []byte
	mode   fs.FileMode
	mtime  time.Time
	target string
}

// New makes a sandbox with the given files, of mode 0644.
func New(files map[string]string) *Sandbox {
	s := &Sandbox{
		ref:   sandbox.Ref{Kind: "fake", ID: "fake", Workspace: "/fake/workspace"},
		files: map[string]node{}, programs: map[string]Program{}, commands: map[string]*command{}, applied: map[string]error{},
		before: map[string][]error{}, after: map[string][]error{}, calls: map[string]int{}, changed: make(chan struct{}),
	}
	for path, data := range files {
		s.Put(path, data, 0o644)
	}
	return s
}

// Put makes or replaces a file.
func (s *Sandbox) Put(path, data string, mode fs.FileMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = node{data: []byte(data), mode: mode, mtime: time.Now()}
}

// Link makes or replaces a symbolic link.
func (s *Sandbox) Link(path, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = node{mode: fs.ModeSymlink | 0o777, mtime: time.Now(), target: target}
}

// Files returns the content of all regular files.
func (s *Sandbox) Files() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	for path, n := range s.files {
		if n.mode.IsRegular() {
			all[path] = string(n.data)
		}
	}
	return all
}

// Mode returns the mode of a file, 0 if there is none.
func (s *Sandbox) Mode(path string) fs.FileMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[path].mode
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

// Calls returns how often the method op was called.
func (s *Sandbox) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// enter counts a call and returns the error it is to fail with, if any; the mutex is held afterwards if it is nil.
func (s *Sandbox) enter(ctx context.Context, op string) error {
	s.mu.Lock()
	s.calls[op]++
	err := take(s.before, op)
	if err == nil && ctx.Err() != nil {
		err = &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Err: ctx.Err()}
	}
	if err != nil {
		s.mu.Unlock()
	}
	return err
}

// leave releases the mutex and puts the error of a lost reply into err, if one was asked for.
func (s *Sandbox) leave(op string, err *error) {
	if lost := take(s.after, op); lost != nil {
		*err = lost
	}
	s.mu.Unlock()
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

// Ref implements sandbox.Sandbox.
func (s *Sandbox) Ref() sandbox.Ref { return s.ref }

// Health implements sandbox.Sandbox.
func (s *Sandbox) Health(ctx context.Context) (err error) {
	if err := s.enter(ctx, "Health"); err != nil {
		return err
	}
	defer s.leave("Health", &err)
	return nil
}

// Close implements sandbox.Sandbox.
func (s *Sandbox) Close() error { return nil }
