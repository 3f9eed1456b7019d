// This file is the way into the package: it serves one editor over one pair of pipes.

// Package lsp speaks to editors: JSON-RPC 2.0 with LSP framing on stdin and stdout. It keeps the life cycle, the open
// documents and the order of messages; what the commands do is behind Options.Connect.
//
// A Server holds no truth: when its input ends, it ends, and sessions go on without it.
package lsp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/buffers"
)

// Exit statuses of a server.
const (
	StatusOK      = 0
	StatusFailed  = 1 // exit without shutdown, or the client is gone
	StatusFraming = 2 // the input is not LSP
)

// How long ending may take.
const (
	graceForRequests  = 2 * time.Second // for requests that run when the input ends
	graceForCancelled = time.Second     // for requests that were cancelled then
	graceForOutput    = 2 * time.Second // for the client to read what is queued
)

// ErrExitWithoutShutdown says that the client sent exit before shutdown.
var ErrExitWithoutShutdown = errors.New("the client sent exit without shutdown")

// Conn is one client's connection to the core of the product.
type Conn interface {
	Mux() *editors.Mux
	SetFolders(folders []string)
	// SetUnsaved tells which files, absolute paths, the editor shows with unsaved changes, and by which name changes of them are
	// taken; "": none are. It does not wait.
	SetUnsaved(files []string, editor string)
	Close()
}

// Description is what initialize tells about the installation.
type Description struct {
	HostID         string                `json:"hostId"`
	Backends       []editors.BackendInfo `json:"backends"`
	Models         []editors.ModelInfo   `json:"models"`
	DefaultBackend editors.BackendKind   `json:"defaultBackend"`
	DefaultModel   string                `json:"defaultModel"`
}

// Options says what a server works with.
type Options struct {
	Connect    func(name string, sink func(editors.EventMessage)) Conn
	Describe   func(context.Context) Description // must answer at once, whether or not anything else does
	RuntimeDir string                            // private; answers for clients without a view of their own are written below it

	// Replying returns a context for one command and a function to call once its answer has been sent. Optional.
	Replying func(context.Context) (context.Context, func())
	// Progress returns a context whose command tells report what it waits for. Optional.
	Progress func(ctx context.Context, report func(message string)) context.Context
	// Unsaved returns a context whose command leaves files alone, absolute paths, that the editor shows with unsaved changes.
	// Optional.
	Unsaved func(ctx context.Context, files []string) context.Context
	// Buffers has apply called, until ctx ends, with the agent's changes of the documents that this holder's editor shows
	// unsaved. Optional.
	Buffers func(ctx context.Context, holder string, apply func(context.Context, buffers.Edit) buffers.Answer)
	Broken  error        // when set, what every command but doctor answers
	Log     *slog.Logger // optional
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Replying == nil {
		o.Replying = func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	}
	if o.Progress == nil {
		o.Progress = func(ctx context.Context, _ func(string)) context.Context { return ctx }
	}
	if o.Unsaved == nil {
		o.Unsaved = func(ctx context.Context, _ []string) context.Context { return ctx }
	}
	return o
}

// Serve serves the client on in and out until the input ends, the client says exit, or ctx ends. Its error is nil,
// ErrExitWithoutShutdown, a *FramingError, or says that the client is gone; see Status.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	box := newOutbox()
	go box.run(out)
	c := newClient(ctx, o.withDefaults(), in, box)
	c.rpc.Go(ctx, c.handle)
	err := c.wait(ctx)
	c.end()
	return errors.Join(err, box.close(graceForOutput))
}

// Status returns the exit status that belongs to an error of Serve.
func Status(err error) int {
	var framing *FramingError
	switch {
	case err == nil:
		return StatusOK
	case errors.As(err, &framing):
		return StatusFraming
	default:
		return StatusFailed
	}
}

// wait blocks until there is nothing more to read or nobody left to write to.
func (c *client) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.out.done:
		return nil // the box knows why
	case <-c.rpc.Done():
	}
	err := c.rpc.Err()
	switch {
	case c.life.exited():
		return c.life.exitError()
	case errors.Is(err, io.ErrUnexpectedEOF):
		c.log.Warn("the input ended within a message")
		return nil
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// end lets running requests finish for a moment, stops what is left, and lets go of the core.
func (c *client) end() {
	answered := closedAfter(c.calls.wait)
	await(graceForRequests, answered, c.hurry())
	c.calls.cancelAll()
	await(graceForCancelled, answered, c.out.done)
	c.stop()
	await(graceForCancelled, closedAfter(c.followers.Wait), nil)
	c.conn.Close()
	c.answers.remove()
}

// closedAfter returns a channel that is closed when f returns.
func closedAfter(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// await waits until a channel is closed, at most for the given time.
func await(most time.Duration, first, second <-chan struct{}) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-first:
	case <-second:
	case <-timer.C:
	}
}

// hurry returns a channel that is closed when nobody waits for answers.
func (c *client) hurry() <-chan struct{} {
	if !c.life.exited() {
		return c.out.done
	}
	now := make(chan struct{})
	close(now)
	return now
}
