// This file is a sandbox as one caller has it: callers share the connection, but each closes for itself.

package cloud

import (
	"context"
	"sync/atomic"
	"time"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
)

// Box is an open sandbox, shared by all that opened it in this process.
type Box interface {
	// In begins a call of the sandbox's helper, which keeps the sandbox awake until done. It fails when the sandbox is gone.
	In(op string) (c *client.Client, done func(), err error)
	// Ref names the sandbox.
	Ref() sandbox.Ref
	// Refuse returns why a command cannot be run in this sandbox, if it cannot.
	Refuse(op string, cmd sandbox.Command) error
}

// Handle is a sandbox.Sandbox on a Box.
type Handle struct {
	box    Box
	env    []string // of every command
	closed atomic.Bool
}

var (
	_ sandbox.Sandbox  = (*Handle)(nil)
	_ worktree.Changer = (*Handle)(nil)
)

// NewHandle makes a handle whose commands all get env, NAME=value pairs.
func NewHandle(box Box, env []string) *Handle { return &Handle{box: box, env: env} }

func (h *Handle) in(op string) (c *client.Client, done func(), err error) {
	if h.closed.Load() {
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, op, "the sandbox was closed")
	}
	return h.box.In(op)
}

// Ref implements sandbox.Sandbox.
func (h *Handle) Ref() sandbox.Ref { return h.box.Ref() }

// Start implements sandbox.Sandbox.
func (h *Handle) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	s, done, err := h.in("start command")
	if err != nil {
		return err
	}
	defer done()
	if err := h.box.Refuse("start command", cmd); err != nil {
		return err
	}
	cmd.Env = append(append([]string{}, h.env...), cmd.Env...)
	return s.Start(ctx, id, cmd)
}

// Wait implements sandbox.Sandbox.
func (h *Handle) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (sandbox.Status, error) {
	s, done, err := h.in("wait")
	if err != nil {
		return sandbox.Status{}, err
	}
	defer done()
	return s.Wait(ctx, id, after, atMost)
}

// Output implements sandbox.Sandbox.
func (h *Handle) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (sandbox.Chunk, error) {
	s, done, err := h.in("read output")
	if err != nil {
		return sandbox.Chunk{}, err
	}
	defer done()
	return s.Output(ctx, id, stream, offset, n)
}

// Input implements sandbox.Sandbox.
func (h *Handle) Input(ctx context.Context, id string, data []byte, eof bool) error {
	s, done, err := h.in("write input")
	if err != nil {
		return err
	}
	defer done()
	return s.Input(ctx, id, data, eof)
}

// Resize implements sandbox.Sandbox.
func (h *Handle) Resize(ctx context.Context, id string, rows, cols uint16) error {
	s, done, err := h.in("resize terminal")
	if err != nil {
		return err
	}
	defer done()
	return s.Resize(ctx, id, rows, cols)
}

// Kill implements sandbox.Sandbox.
func (h *Handle) Kill(ctx context.Context, id string) error {
	s, done, err := h.in("kill command")
	if err != nil {
		return err
	}
	defer done()
	return s.Kill(ctx, id)
}

// Commands implements sandbox.Sandbox.
func (h *Handle) Commands(ctx context.Context) ([]sandbox.Status, error) {
	s, done, err := h.in("list commands")
	if err != nil {
		return nil, err
	}
	defer done()
	return s.Commands(ctx)
}

// ReadFile implements sandbox.Sandbox.
func (h *Handle) ReadFile(ctx context.Context, path string, offset int64, n int) (sandbox.FileContent, error) {
	s, done, err := h.in("read file")
	if err != nil {
		return sandbox.FileContent{}, err
	}
	defer done()
	return s.ReadFile(ctx, path, offset, n)
}

// Stat implements sandbox.Sandbox.
func (h *Handle) Stat(ctx context.Context, path string) (sandbox.Entry, error) {
	s, done, err := h.in("describe file")
	if err != nil {
		return sandbox.Entry{}, err
	}
	defer done()
	return s.Stat(ctx, path)
}

// List implements sandbox.Sandbox.
func (h *Handle) List(ctx context.Context, path string, depth, limit int) (sandbox.Listing, error) {
	s, done, err := h.in("list files")
	if err != nil {
		return sandbox.Listing{}, err
	}
	defer done()
	return s.List(ctx, path, depth, limit)
}

// Search implements sandbox.Sandbox.
func (h *Handle) Search(ctx context.Context, q sandbox.Query) (sandbox.SearchResult, error) {
	s, done, err := h.in("search")
	if err != nil {
		return sandbox.SearchResult{}, err
	}
	defer done()
	return s.Search(ctx, q)
}

// Apply implements sandbox.Sandbox.
func (h *Handle) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	s, done, err := h.in("apply edits")
	if err != nil {
		return err
	}
	defer done()
	return s.Apply(ctx, id, edits)
}

// Health implements sandbox.Sandbox.
func (h *Handle) Health(ctx context.Context) error {
	s, done, err := h.in("check sandbox")
	if err != nil {
		return err
	}
	defer done()
	return s.Health(ctx)
}

// Close implements sandbox.Sandbox. The connection stays for the next who opens the sandbox.
func (h *Handle) Close() error {
	h.closed.Store(true)
	return nil
}
