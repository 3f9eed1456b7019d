// This file holds what the tests of this package share: a core on the engine in memory, and a sink that remembers.

package core

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/temporal"
)

// testPaths is a private installation.
func testPaths(t *testing.T) config.Paths {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_RUNTIME_DIR": filepath.Join(home, "run")}
	paths, err := config.ResolvePaths(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	require.NoError(t, err)
	require.NoError(t, paths.Ensure())
	return paths
}

// testCore talks to f as if it were a Temporal server of others.
func testCore(t *testing.T, f *fakeEngine) *Core {
	t.Helper()
	conf := config.Default()
	conf.Owner, conf.Temporal.Address = "me", "temporal.test:7233"
	c := New(Options{Paths: testPaths(t), Config: conf})
	c.link.dial = func(context.Context, temporal.Profile) (engine, error) {
		if err := f.Health(context.Background()); err != nil {
			return nil, &temporal.UnavailableError{Address: "temporal.test:7233", Source: "configured address", Err: err}
		}
		return f, nil
	}
	t.Cleanup(c.Close)
	return c
}

// recorder is a sink that remembers.
type recorder struct {
	mu     sync.Mutex
	events []editors.EventMessage
	grown  chan struct{}
}

func newRecorder() *recorder { return &recorder{grown: make(chan struct{})} }

func (r *recorder) sink(m editors.EventMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, m)
	close(r.grown)
	r.grown = make(chan struct{})
}

func (r *recorder) all() []editors.EventMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]editors.EventMessage{}, r.events...)
}

// until waits until the events meet the condition.
func (r *recorder) until(t *testing.T, what string, met func([]editors.EventMessage) bool) []editors.EventMessage {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		events, grown := append([]editors.EventMessage{}, r.events...), r.grown
		r.mu.Unlock()
		if met(events) {
			return events
		}
		select {
		case <-grown:
		case <-deadline:
			require.Failf(t, "waited in vain", "%s; got %d events", what, len(events))
		}
	}
}

func hasSeq(seq int64) func([]editors.EventMessage) bool {
	return func(events []editors.EventMessage) bool {
		for _, m := range events {
			if m.Event.Type.Durable() && m.Seq >= seq {
				return true
			}
		}
		return false
	}
}

// run dispatches a command and decodes its result.
func run[R any](t *testing.T, c *Conn, name string, params any) (R, error) {
	t.Helper()
	raw, err := json.Marshal(params)
	require.NoError(t, err)
	result, err := c.Mux().Dispatch(t.Context(), name, raw)
	if err != nil {
		var none R
		return none, err
	}
	return result.(R), nil
}
