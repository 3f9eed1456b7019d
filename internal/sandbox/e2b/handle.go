// This file is a sandbox as one caller has it: callers share the connection, but each closes for itself.

package e2b

import (
	"context"
	"sync/atomic"
	"time"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
)

// handle implements sandbox.Sandbox.
type handle struct {
	box    *box
	env    []string // of every command
	closed atomic.Bool
}

var (
	_ sandbox.Sandbox  = (*handle)(nil)
	_ worktree.Changer = (*handle)(nil)
)

// in returns the sandbox to work in, unless the handle is closed or the sandbox destroyed. done ends the call, which keeps
// the sandbox awake.
func (h *handle) in(op string) (c *client.Client, done func(), err error) {
	if h.closed.Load() {
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, op, "the sandbox was closed")
	}
	if h.box.gone.Load() {
		return nil, nil, errDestroyed(op)
	}
	return h.box.helper(), h.box.keeper.enter(), nil
}

// Ref names the sandbox. Its epoch is when it was made, in milliseconds since 1970.
func (h *handle) Ref() sandbox.Ref {
	ref := sandbox.Ref{Kind: sandbox.KindE2B, ID: h.box.id, Epoch: h.box.epoch, Workspace: h.box.b.opts.Root}
	if root := h.box.root.Load(); root != nil {
		ref.Workspace = *root
	}
	return ref
}

func (h *handle) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	s, done, err := h.in("start command")
	if err != nil {
		return err
	}
	defer done()
	if cmd.Network && h.box.offline {
		return sandbox.Errorf(sandbox.ClassUnsupported, "start command",
			"this E2B sandbox reaches no internet, and only new ones can be given it: change the settings of E2B and start a new session")
	}
	cmd.Env = append(append([]string{}, h.env...), cmd.Env...)
	return s.Start(ctx, id, cmd)
}

func (h *handle) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (sandbox.Status, error) {
	s, done, err := h.in("wait")
	if err != nil {
		return sandbox.Status{}, err
	}
	defer done()
	return s.Wait(ctx, id, after, atMost)
}

func (h *handle) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (sandbox.Chunk, error) {
	s, done, err := h.in("read output")
	if err != nil {
		return sandbox.Chunk{}, err
	}
	defer done()
	return s.Output(ctx, id, stream, offset, n)
}

func (h *handle) Input(ctx context.Context, id string, data []byte, eof bool) error {
	s, done, err := h.in("write input")
	if err != nil {
		return err
	}
	defer done()
	return s.Input(ctx, id, data, eof)
}

func (h *handle) Resize(ctx context.Context, id string, rows, cols uint16) error {
	s, done, err := h.in("resize terminal")
	if err != nil {
		return err
	}
	defer done()
	return s.Resize(ctx, id, rows, cols)
}

func (h *handle) Kill(ctx context.Context, id string) error {
	s, done, err := h.in("kill command")
	if err != nil {
		return err
	}
	defer done()
	return s.Kill(ctx, id)
}

func (h *handle) Commands(ctx context.Context) ([]sandbox.Status, error) {
	s, done, err := h.in("list commands")
	if err != nil {
		return nil, err
	}
	defer done()
	return s.Commands(ctx)
}

func (h *handle) ReadFile(ctx context.Context, path string, offset int64, n int) (sandbox.FileContent, error) {
	s, done, err := h.in("read file")
	if err != nil {
		return sandbox.FileContent{}, err
	}
	defer done()
	return s.ReadFile(ctx, path, offset, n)
}

func (h *handle) Stat(ctx context.Context, path string) (sandbox.Entry, error) {
	s, done, err := h.in("describe file")
	if err != nil {
		return sandbox.Entry{}, err
	}
	defer done()
	return s.Stat(ctx, path)
}

func (h *handle) List(ctx context.Context, path string, depth, limit int) (sandbox.Listing, error) {
	s, done, err := h.in("list files")
	if err != nil {
		return sandbox.Listing{}, err
	}
	defer done()
	return s.List(ctx, path, depth, limit)
}

func (h *handle) Search(ctx context.Context, q sandbox.Query) (sandbox.SearchResult, error) {
	s, done, err := h.in("search")
	if err != nil {
		return sandbox.SearchResult{}, err
	}
	defer done()
	return s.Search(ctx, q)
}

func (h *handle) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	s, done, err := h.in("apply edits")
	if err != nil {
		return err
	}
	defer done()
	return s.Apply(ctx, id, edits)
}

func (h *handle) Health(ctx context.Context) error {
	s, done, err := h.in("check sandbox")
	if err != nil {
		return err
	}
	defer done()
	return s.Health(ctx)
}

// Close implements sandbox.Sandbox. The connection stays for the next who opens the sandbox.
func (h *handle) Close() error {
	h.closed.Store(true)
	return nil
}
