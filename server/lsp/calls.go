// This file keeps the requests that are running, so that they can be cancelled and waited for.

package lsp

import (
	"context"
	"sync"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
	"go.lsp.dev/jsonrpc2"
)

// maxCalls bounds the requests of one client that run at a time.
const maxCalls = 256

// group is a set of goroutines that takes no more once somebody waits for it. The zero value is ready.
type group struct {
	mu     sync.Mutex
	closed bool
	wg     conc.WaitGroup
}

// Go runs f in a goroutine and reports whether it does.
func (g *group) Go(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Go(f)
	return true
}

// Wait waits for all goroutines.
func (g *group) Wait() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wg.Wait()
}

// calls is the set of running requests. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	running map[jsonrpc2.ID]context.CancelFunc
	group   group
}

// run runs f in a goroutine with a context that cancel ends; f must not leave a panic unhandled. It reports false when
// too many requests are running.
func (c *calls) run(ctx context.Context, id jsonrpc2.ID, f func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) >= maxCalls {
		return false
	}
	if c.running == nil {
		c.running = make(map[jsonrpc2.ID]context.CancelFunc)
	}
	ctx, cancel := context.WithCancel(ctx)
	c.running[id] = cancel
	started := c.group.Go(func() {
		defer c.forget(id)
		f(ctx)
	})
	if !started {
		cancel()
		delete(c.running, id)
	}
	return started
}

func (c *calls) forget(id jsonrpc2.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[id]; cancel != nil {
		cancel()
	}
	delete(c.running, id)
}

func (c *calls) cancel(id jsonrpc2.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[id]; cancel != nil {
		cancel()
	}
}

func (c *calls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.running {
		cancel()
	}
}

func (c *calls) wait() { c.group.Wait() }

// guard runs f and returns a panic as an error.
func guard(f func() (any, error)) (result any, err error) {
	if caught := panics.Try(func() { result, err = f() }); caught != nil {
		return nil, caught.AsError()
	}
	return result, err
}

// background runs f beside the messages of the client; a panic in it ends only f.
func (c *client) background(f func()) {
	c.followers.Go(func() {
		if caught := panics.Try(f); caught != nil {
			c.log.Error("a background task panicked", "error", caught.AsError())
		}
	})
}
