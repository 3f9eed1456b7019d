// This file rings the doorbell of a session exactly when its new events are durable.

package worker

import (
	"sync"

	"sandboxagent/internal/agent"
)

// bells remembers up to which seq a session's workflow code has counted, until Temporal acknowledges the task that did so.
type bells struct {
	ring func(session string, seq int64)

	mu      sync.Mutex
	pending map[string]int64
}

func newBells(ring func(string, int64)) *bells {
	return &bells{ring: ring, pending: map[string]int64{}}
}

// hint is called by workflow code, before the events are durable.
func (b *bells) hint(session string, seq int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending[session] = max(seq, b.pending[session])
}

// completed is called when a workflow task of the given workflow is durable; with an unknown id every session is rung.
func (b *bells) completed(workflowID string) {
	session, ok := agent.SessionID(workflowID)
	if !ok && workflowID != "" {
		return
	}
	b.mu.Lock()
	ready := map[string]int64{}
	for s, seq := range b.pending {
		if workflowID == "" || s == session {
			ready[s] = seq
			delete(b.pending, s)
		}
	}
	b.mu.Unlock()
	for s, seq := range ready {
		b.ring(s, seq)
	}
}
