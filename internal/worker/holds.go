// This file lets one activity at a time make, fill or remove a sandbox: one that was given up by Temporal may still be at it
// when it is tried again.

package worker

import (
	"context"
	"sync"
)

// holds are the sandboxes that somebody is at, by id. Its zero value is empty.
type holds struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when whoever is at it is done
}

// take waits until nobody else is at the sandbox, and keeps others away until done is called.
func (h *holds) take(ctx context.Context, id string) (done func(), err error) {
	for {
		done, wait := h.try(id)
		if done != nil {
			return done, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try is take that does not wait: done is nil when somebody is at it, until wait is closed.
func (h *holds) try(id string) (done func(), wait <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if other, ok := h.busy[id]; ok {
		return nil, other
	}
	if h.busy == nil {
		h.busy = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	h.busy[id] = mine
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.busy, id)
		close(mine)
	}, nil
}
