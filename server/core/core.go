// This file is the entrance: what a server or terminal makes once and shares among its connections.

// Package core does what an editor command asks for, independent of how the command came: it knows neither LSP nor
// terminals. A process makes one Core, and a Conn for each editor or terminal; the Conn's Mux runs commands and its sink
// receives the events of the sessions the Conn is attached to.
//
// A Core holds no truth. It reaches Temporal when a command first needs it, starts this host's worker when nothing else
// is configured, and reads events by their seq after a doorbell, so that a lost doorbell costs time and never an event.
package core

import (
	"context"
	"log/slog"
	"sync"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
)

// Options say what a Core works with.
type Options struct {
	Paths    config.Paths
	Config   config.Config
	Warnings []config.Warning // of loading Config, for the doctor
	Broken   error            // why Config is not what the user configured, for the doctor
	Secrets  *config.Secrets  // only asked whether there is a key; may be nil
	Log      *slog.Logger     // nil: nothing is logged

	// Autostart starts the worker with the embedded Temporal server when no other server is configured and none runs.
	Autostart bool
	// WorkerBinary is the path of sandbox-worker ("": $SANDBOX_WORKER_BIN, or see program.Own).
	WorkerBinary string
}

// Core is shared by all connections of a process. Make it with New.
type Core struct {
	opts Options
	log  *slog.Logger
	link *link
	live live

	ctx    context.Context
	cancel context.CancelFunc

	blobs    blobs
	segments segmentCache
	asked    askedSessions

	mu       sync.Mutex
	hostID   string
	watchers map[string]*watched
	conns    map[*Conn]struct{}
}

// New returns a Core. It does no I/O.
func New(o Options) *Core {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Core{
		opts: o, log: o.Log, watchers: make(map[string]*watched), conns: make(map[*Conn]struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.blobs.dir = o.Paths.BlobDir
	c.live.socket = o.Paths.DialSocket
	c.link = newLink(c)
	return c
}

// HostID returns the id of this host, making it at the first call; "" when that fails, which the doctor explains.
func (c *Core) HostID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hostID != "" {
		return c.hostID
	}
	id, err := config.HostID(c.opts.Paths)
	if err != nil {
		c.log.Error("no host id", "error", err)
		return ""
	}
	c.hostID = id
	return id
}

// Close ends all connections and drops the one to Temporal. Sessions and the worker go on.
func (c *Core) Close() {
	c.mu.Lock()
	conns := make([]*Conn, 0, len(c.conns))
	for conn := range c.conns {
		conns = append(conns, conn)
	}
	c.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	c.cancel()
	c.live.close()
	c.link.close()
}

// Connect adds one editor or terminal. The name stands where it answers approvals. The sink receives events from one
// goroutine, one at a time; while it blocks, deltas are left out and durable events wait.
func (c *Core) Connect(name string, sink func(editors.EventMessage)) *Conn {
	conn := newConn(c, name, sink)
	c.mu.Lock()
	c.conns[conn] = struct{}{}
	c.mu.Unlock()
	return conn
}
