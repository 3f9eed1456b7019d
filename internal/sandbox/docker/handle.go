// This file is a sandbox as one caller has it: callers share the connection, but each closes for itself.

package docker

import (
	"context"
	"sync/atomic"
	"time"

	"sandboxagent/internal/sandbox"
)

// handle implements sandbox.Sandbox.
type handle struct {
	box    *box
	env    []string // of every command
	closed atomic.Bool
}

var _ sandbox.Sandbox = (*handle)(nil)

// in returns the sandbox to work in, unless the handle is closed or the sandbox destroyed. done ends the call, which should
// take no longer than expected.
func (h *handle) in(ctx context.Context, op string, expected time.Duration) (s sandbox.Sandbox, done func(), err error) {
	if h.closed.Load() {
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, op, "the sandbox was closed")
	}
	if h.box.gone.Load() {
		return nil, nil, errDestroyed(op)
	}
	return h.box.client, h.box.watch(ctx, expected), nil
}

func (h *handle) Ref() sandbox.Ref {
	return sandbox.Ref{Kind: sandbox.KindDocker, ID: h.box.id, HostID: h.box.b.opts.HostID, Epoch: h.box.epoch.Load(), Workspace: root}
}

func (h *handle) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	s, done, err := h.in(ctx, "start command", 0)
	if err != nil {
		return err
	}
	defer done()
	if cmd.Network && h.box.offline.Load() {
		return sandbox.Errorf(sandbox.ClassUnsupported, "start command",
			`this container has no network, and only new ones can be given one: set docker.network = "bridge" and start a new session`)
	}
	cmd.Env = append(append([]string{}, h.env...), cmd.Env...)
	return s.Start(ctx, id, cmd)
}

func (h *handle) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (sandbox.Status, error) {
	s, done, err := h.in(ctx, "wait", atMost)
	if err != nil {
		return sandbox.Status{}, err
	}
	defer done()
	return s.Wait(ctx, id, after, atMost)
}

func (h *handle) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (sandbox.Chunk, error) {
	s, done, err := h.in(ctx, "read output", 0)
	if err != nil {
		return sandbox.Chunk{}, err
	}
	defer done()
	return s.Output(ctx, id, stream, offset, n)
}

func (h *handle) Input(ctx context.Context, id string, data []byte, eof bool) error {
	s, done, err := h.in(ctx, "write input", 0)
	if err != nil {
		return err
	}
	defer done()
	return s.Input(ctx, id, data, eof)
}

func (h *handle) Resize(ctx context.Context, id string, rows, cols uint16) error {
	s, done, err := h.in(ctx, "resize terminal", 0)
	if err != nil {
		return err
	}
	defer done()
	return s.Resize(ctx, id, rows, cols)
}

func (h *handle) Kill(ctx context.Context, id string) error {
	s, done, err := h.in(ctx, "kill command", 0)
	if err != nil {
		return err
	}
	defer done()
	return s.Kill(ctx, id)
}

func (h *handle) Commands(ctx context.Context) ([]sandbox.Status, error) {
	s, done, err := h.in(ctx, "list commands", 0)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.Commands(ctx)
}

func (h *handle) ReadFile(ctx context.Context, path string, offset int64, n int) (sandbox.FileContent, error) {
	s, done, err := h.in(ctx, "read file", 0)
	if err != nil {
		return sandbox.FileContent{}, err
	}
	defer done()
	return s.ReadFile(ctx, path, offset, n)
}

func (h *handle) Stat(ctx context.Context, path string) (sandbox.Entry, error) {
	s, done, err := h.in(ctx, "describe file", 0)
	if err != nil {
		return sandbox.Entry{}, err
	}
	defer done()
	return s.Stat(ctx, path)
}

func (h *handle) List(ctx context.Context, path string, depth, limit int) (sandbox.Listing, error) {
	s, done, err := h.in(ctx, "list files", 0)
	if err != nil {
		return sandbox.Listing{}, err
	}
	defer done()
	return s.List(ctx, path, depth, limit)
}

func (h *handle) Search(ctx context.Context, q sandbox.Query) (sandbox.SearchResult, error) {
	s, done, err := h.in(ctx, "search", 0)
	if err != nil {
		return sandbox.SearchResult{}, err
	}
	defer done()
	return s.Search(ctx, q)
}

func (h *handle) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	s, done, err := h.in(ctx, "apply edits", 0)
	if err != nil {
		return err
	}
	defer done()
	return s.Apply(ctx, id, edits)
}

func (h *handle) Health(ctx context.Context) error {
	s, done, err := h.in(ctx, "check sandbox", 0)
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
