// This file lets one caller after the other make, open or destroy a sandbox.

package cloud

import (
	"context"
	"sync"
)

// turns gives each of those who want to work on the same thing a turn. The zero value is ready to use.
type turns struct {
	mu  sync.Mutex
	all map[string]*turn
}

type turn struct {
	token   chan struct{}
	waiting int
}

// enter waits for the turn on id. done ends it.
func (t *turns) enter(ctx context.Context, op, id string) (done func(), err error) {
	t.mu.Lock()
	mine := t.all[id]
	if mine == nil {
		if t.all == nil {
			t.all = map[string]*turn{}
		}
		mine = &turn{token: make(chan struct{}, 1)}
		t.all[id] = mine
	}
	mine.waiting++
	t.mu.Unlock()
	select {
	case mine.token <- struct{}{}:
		return func() { <-mine.token; t.leave(id, mine) }, nil
	case <-ctx.Done():
		t.leave(id, mine)
		return nil, Canceled(op, context.Cause(ctx))
	}
}

func (t *turns) leave(id string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.waiting--; mine.waiting == 0 {
		delete(t.all, id)
	}
}
