// This file keeps the way to this host's worker: its feed, and the small calls that it answers.

package core

import (
	"context"
	"sync"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/feed"
)

// The calls that a worker answers on its feed.
const (
	CallBackends   = "backends"   // editors.Empty → editors.BackendsResult
	CallModels     = "models"     // editors.Empty → editors.ModelsResult
	CallServers    = "mcp"        // editors.MCPParams → editors.MCPResult
	CallSetSecret  = "setSecret"  // editors.SetSecretParams → editors.Empty
	CallReadOutput = "readOutput" // editors.ReadOutputParams → editors.ReadOutputResult, of a command that runs
)

// live connects to the feed when it is first needed.
type live struct {
	socket func() string

	mu      sync.Mutex
	watcher *feed.Watcher
	closed  bool

	keyMu sync.Mutex        // held while keys are handed over, so that a later one comes later
	keys  map[string]string // what editors have given, for a worker that comes later
}

// feed returns the watcher, nil after close.
func (l *live) feed() *feed.Watcher {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watcher == nil && !l.closed {
		l.watcher = feed.Watch(l.socket, l.changed)
	}
	return l.watcher
}

func (l *live) connected() bool {
	w := l.feed()
	return w != nil && w.Connected()
}

// awaitConnected waits for a connection, at most d.
func (l *live) awaitConnected(ctx context.Context, d time.Duration) bool {
	w := l.feed()
	return w != nil && bounded(ctx, d, w.WaitConnected) == nil
}

// call asks the worker; when there is no connection it fails at once.
func (l *live) call(ctx context.Context, method string, params, result any) error {
	w := l.feed()
	if w == nil {
		return editors.Errorf(editors.CodeCancelled, "the connection is closed")
	}
	return w.Call(ctx, method, params, result)
}

// await waits for a connection and asks the worker.
func (l *live) await(ctx context.Context, method string, params, result any) error {
	w := l.feed()
	if w == nil {
		return editors.Errorf(editors.CodeCancelled, "the connection is closed")
	}
	w.Retry()
	if err := w.WaitConnected(ctx); err != nil {
		return editors.Errorf(editors.CodeWorkerUnavailable, "the worker of this host cannot be reached: %w", err).WithRemedy(remedyStart)
	}
	return w.Call(ctx, method, params, result)
}

// setKey gives the worker a key, and to every worker that follows it; an empty value forgets the key.
func (l *live) setKey(ctx context.Context, p editors.SetSecretParams) error {
	l.keyMu.Lock()
	defer l.keyMu.Unlock()
	delete(l.keys, p.Name)
	if err := bounded(ctx, secretTime, func(ctx context.Context) error { return l.await(ctx, CallSetSecret, p, nil) }); err != nil {
		return err
	}
	if p.Value == "" {
		return nil
	}
	if l.keys == nil {
		l.keys = make(map[string]string)
	}
	l.keys[p.Name] = p.Value
	return nil
}

// changed is told of every connection to a worker. A new worker knows none of the keys that the one before had.
func (l *live) changed(connected bool) {
	if connected {
		go l.handOver() // ends in seconds: each call is bounded
	}
}

func (l *live) handOver() {
	l.keyMu.Lock()
	defer l.keyMu.Unlock()
	for name, value := range l.keys {
		// What fails is done again with the next connection.
		_ = bounded(context.Background(), secretTime, func(ctx context.Context) error {
			return l.call(ctx, CallSetSecret, editors.SetSecretParams{Name: name, Value: value}, nil)
		})
	}
}

func (l *live) close() {
	l.mu.Lock()
	w := l.watcher
	l.watcher, l.closed = nil, true
	l.mu.Unlock()
	if w != nil {
		w.Close()
	}
}
