// Package client is the worker side of the helper: a sandbox.Sandbox over any byte stream that leads to one. It connects
// when needed and again after the connection or the helper died; what it gets is bounded and checked, as a sandbox may lie.
//
// This file holds the client and how it calls.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	tries        = 3
	connectTries = 12                    // of a request that was not sent, since a helper that leaves is met until it has left
	retryWait    = 50 * time.Millisecond // after a failed try, growing with each
)

// Options say how to reach the helper of one sandbox.
type Options struct {
	Ref sandbox.Ref
	// Dial opens a byte stream to the helper, starting it if need be.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Build identifies the helper program that Dial would start. An idle helper of another build makes room for it; one
	// that runs commands is used as it is. Empty: any build will do.
	Build string
	// Env are NAME=value pairs for every command, before the command's own.
	Env []string
}

// Client is a sandbox. All methods may be called concurrently.
type Client struct {
	opts Options

	mu      sync.Mutex // guards the fields below
	session *session
	closed  bool
	dialing chan struct{} // holds one token while nobody connects
}

var _ sandbox.Sandbox = (*Client)(nil)

// New makes a client; it connects at the first call.
func New(o Options) *Client {
	c := &Client{opts: o, dialing: make(chan struct{}, 1)}
	c.dialing <- struct{}{}
	return c
}

// Ref implements sandbox.Sandbox.
func (c *Client) Ref() sandbox.Ref { return c.opts.Ref }

// Close implements sandbox.Sandbox.
func (c *Client) Close() error {
	c.mu.Lock()
	s := c.session
	c.session, c.closed = nil, true
	c.mu.Unlock()
	if s != nil {
		s.end(errGone)
	}
	return nil
}

// connect returns the live connection, making one if there is none.
func (c *Client) connect(ctx context.Context) (*session, error) {
	if s, err := c.current(); s != nil || err != nil {
		return s, err
	}
	select {
	case <-c.dialing:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { c.dialing <- struct{}{} }()
	if s, err := c.current(); s != nil || err != nil {
		return s, err
	}
	s, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		s.end(errGone)
		return nil, errClosed()
	}
	c.session = s
	return s, nil
}

func (c *Client) current() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	if c.session != nil && c.session.alive() {
		return c.session, nil
	}
	return nil, nil
}

func errClosed() error {
	return sandbox.Errorf(sandbox.ClassInvalid, "use sandbox", "it was closed")
}

func (c *Client) dial(ctx context.Context) (*session, error) {
	rwc, err := c.opts.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return greet(ctx, rwc, wire.Hello{Protocol: wire.Protocol, Build: c.opts.Build, Replace: c.opts.Build != ""})
}

// call carries out one operation. Those that may be repeated are, when the connection breaks.
func (c *Client) call(ctx context.Context, op string, args any, body []byte, result any) ([]byte, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", op, err)
	}
	header, err := json.Marshal(wire.Request{Op: op, Args: raw})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", op, err)
	}
	for try := 1; ; try++ {
		m, sent, err := c.try(ctx, header, body)
		if err == nil {
			return decode(op, m, result)
		}
		if err := c.giveUp(ctx, op, try, sent, err); err != nil {
			return nil, err
		}
	}
}

func (c *Client) try(ctx context.Context, header, body []byte) (m wire.Message, sent bool, err error) {
	s, err := c.connect(ctx)
	if err != nil {
		return m, false, err
	}
	m, err = s.call(ctx, header, body)
	return m, true, err
}

// giveUp returns the error to report after a failed try, or nil, some time later, when another try makes sense.
func (c *Client) giveUp(ctx context.Context, op string, try int, sent bool, err error) error {
	var known *sandbox.Error
	switch {
	case ctx.Err() != nil:
		return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: err}
	case errors.Is(err, wire.ErrTooLarge):
		return &sandbox.Error{Class: sandbox.ClassLimit, Op: op, Message: "the request is too large"}
	case errors.As(err, &known):
		return err
	case sent && (op == wire.OpInput || op == wire.OpShutdown):
		return &sandbox.Error{Class: sandbox.ClassUnknown, Op: op, Message: "the connection to the sandbox broke; the input may have arrived", Err: err}
	case try >= connectTries, try >= tries && (sent || errors.Is(err, wire.ErrFrame)):
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: op, Message: "the sandbox cannot be reached", Err: err}
	}
	select {
	case <-time.After(time.Duration(try) * retryWait):
		return nil
	case <-ctx.Done():
		return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: err}
	}
}

func decode(op string, m wire.Message, result any) ([]byte, error) {
	var r wire.Reply
	if err := json.Unmarshal(m.Header, &r); err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: op, Message: "the helper's answer is malformed", Err: err}
	}
	if r.Error != nil {
		return nil, r.Error.Sandbox()
	}
	if result == nil {
		return m.Body, nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassCorrupt, Op: op, Message: "the helper's answer is malformed", Err: err}
	}
	return m.Body, nil
}
