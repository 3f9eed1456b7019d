// This file is the entrance: what a server or terminal makes once and shares among its connections.

// Package core does what an editor command asks for, independent of how the command came: it knows neither LSP nor
// terminals. A process makes one Core, and a Conn for each editor or terminal; the Conn's Mux runs commands and its sink
// receives the events of the sessions the Conn is attached to.
package core

import (
	"context"
	"log/slog"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
)

// Options say what a Core works with.
type Options struct {
	Paths    config.Paths
	Config   config.Config
	Warnings []config.Warning // of loading Config, for the doctor
	Secrets  *config.Secrets  // only asked whether there is a key; may be nil
	Log      *slog.Logger     // nil: nothing is logged

	// Autostart starts the worker with the embedded Temporal server when no other server is configured and none runs.
	Autostart bool
	// WorkerBinary is the path of sandbox-worker ("": $SANDBOX_WORKER_BIN, beside this executable, or $PATH).
	WorkerBinary string
}

// Core is shared by all connections of a process. Make it with New.
type Core struct{}

// New returns a Core. It does no I/O.
func New(Options) *Core { return &Core{} }

// HostID returns the id of this host, making it at the first call; "" when that fails, which the doctor explains.
func (c *Core) HostID() string { return "" }

// Backends lists the backends, asking the worker for at most 200 ms.
func (c *Core) Backends(ctx context.Context) []editors.BackendInfo { return nil }

// Models lists the models, asking the worker for at most 200 ms.
func (c *Core) Models(ctx context.Context) []editors.ModelInfo { return nil }

// Connect adds one editor or terminal. The name stands where it answers approvals. The sink receives events from one
// goroutine, one at a time; while it blocks, deltas are left out and durable events wait.
func (c *Core) Connect(name string, sink func(editors.EventMessage)) *Conn { return &Conn{} }

// Close ends all connections and drops the one to Temporal. Sessions and the worker go on.
func (c *Core) Close() {}

// WorkerStatus is what is known of this host's worker.
type WorkerStatus struct {
	Running   bool      `json:"running"`
	PID       int       `json:"pid,omitempty"`
	Version   string    `json:"version,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Socket    string    `json:"socket,omitempty"`
	Log       string    `json:"log"` // where it logs
}

// StartWorker starts this host's worker unless it runs, and returns when it is ready.
func (c *Core) StartWorker(ctx context.Context) (WorkerStatus, error) { return WorkerStatus{}, nil }

// StopWorker asks this host's worker to end and waits for it. Sessions wait for the next worker.
func (c *Core) StopWorker(ctx context.Context) error { return nil }

// WorkerStatus tells whether this host's worker runs.
func (c *Core) WorkerStatus(ctx context.Context) (WorkerStatus, error) { return WorkerStatus{}, nil }

// Conn is one editor or terminal.
type Conn struct{ mux editors.Mux }

// Mux has all commands, bound to this connection.
func (c *Conn) Mux() *editors.Mux { return &c.mux }

// SetFolders tells the open folders as file URIs; the first is the default of commands that name none.
func (c *Conn) SetFolders(uris []string) {}

// Close detaches from all sessions.
func (c *Conn) Close() {}

// Replying returns a context for one Dispatch and a function to call once its answer has been written. Events that must
// follow the answer, as those of an attach, wait for that call; without Replying they wait for the command to return.
func Replying(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

// WithProgress returns a context whose command tells report, one sentence at a time, what it waits for when it takes
// long, such as the first start of the worker.
func WithProgress(ctx context.Context, report func(message string)) context.Context { return ctx }
