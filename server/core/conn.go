// This file is one editor or terminal: its folders, its attachments, and the goroutine that feeds its sink.

package core

import (
	"context"
	"errors"
	"sync"
	"time"

	"sandboxagent/editors"
)

const (
	settleTime  = 2 * time.Second // how long an answer waits for the events that come before it
	rereadAgain = time.Second     // after events could not be read again
)

// Conn is one editor or terminal. Its methods may be called concurrently.
type Conn struct {
	core *Core
	name string
	sink func(editors.EventMessage)
	mux  editors.Mux

	ctx    context.Context
	cancel context.CancelFunc
	wakes  chan struct{} // holds one token when there may be something to deliver

	mu       sync.Mutex
	closed   bool
	folders  []string
	attached map[string]*attachment
	unsaved  chan unsaved // to holdUnsaved, once there is something to tell
}

func newConn(c *Core, name string, sink func(editors.EventMessage)) *Conn {
	conn := &Conn{
		core: c, name: name, sink: sink,
		wakes: make(chan struct{}, 1), attached: make(map[string]*attachment),
	}
	conn.ctx, conn.cancel = context.WithCancel(c.ctx)
	conn.register()
	go conn.pump()
	return conn
}

// Mux has all commands, bound to this connection.
func (c *Conn) Mux() *editors.Mux { return &c.mux }

// SetFolders tells the open folders as file URIs; the first is the default of commands that name none.
func (c *Conn) SetFolders(uris []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.folders = append([]string(nil), uris...)
}

// Close detaches from all sessions. A sink that blocks is not waited for.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	attached := c.attached
	c.attached = make(map[string]*attachment)
	c.mu.Unlock()
	for id, a := range attached {
		a.end()
		c.core.release(id)
	}
	c.cancel()
	c.core.mu.Lock()
	delete(c.core.conns, c)
	c.core.mu.Unlock()
}

func (c *Conn) wake() {
	select {
	case c.wakes <- struct{}{}:
	default:
	}
}

// pump delivers what the attachments have, in turn, until the connection closes.
func (c *Conn) pump() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.wakes:
		}
		for c.deliverRound() {
		}
	}
}

// deliverRound delivers at most one event of each attachment and tells whether there was any.
func (c *Conn) deliverRound() bool {
	delivered := false
	for _, a := range c.attachments() {
		if c.ctx.Err() != nil {
			return false
		}
		m, ok, err := a.next()
		if errors.Is(err, errLagging) {
			delivered = c.readAgain(a) || delivered
			continue
		}
		if !ok {
			continue
		}
		delivered = true
		c.sink(m)
		a.delivered(m)
	}
	return delivered
}

// readAgain tells whether it brought something; else it is tried again later.
func (c *Conn) readAgain(a *attachment) bool {
	there, err := a.readAgain(c.ctx)
	if there {
		return true
	}
	c.core.log.Warn("missed events not readable", "session", a.watcher.id, "error", err)
	time.AfterFunc(rereadAgain, c.wake)
	return false
}

func (c *Conn) attachments() []*attachment {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*attachment, 0, len(c.attached))
	for _, a := range c.attached {
		list = append(list, a)
	}
	return list
}

func (c *Conn) attachment(sessionID string) *attachment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attached[sessionID]
}

// settle lets the answer to a command come after the events up to seq, which it caused.
func (c *Conn) settle(ctx context.Context, sessionID string, seq int64) {
	c.core.ring(sessionID, seq)
	a := c.attachment(sessionID)
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	a.await(ctx, seq)
}

// folder returns the URI of the asked folder, else of the first open one.
func (c *Conn) folder(asked string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked == "" && len(c.folders) > 0 {
		asked = c.folders[0]
	}
	if asked == "" {
		return "", editors.Errorf(editors.CodeInvalidParams, "no folder is open and workspaceFolder names none").
			WithRemedy("Open a folder, or pass workspaceFolder.")
	}
	return canonicalFolder(asked)
}
