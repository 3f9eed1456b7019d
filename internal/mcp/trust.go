// This file finds out whether a server goes on after a call that was given up: one that does one thing after the other, and
// does not let itself be cancelled, would keep the next call waiting for as long as that may take.

package mcp

import (
	"context"
	"sync"
)

// trust is what is known of a connection whose server was left with a call. Its zero value is ready.
type trust struct {
	mu      sync.Mutex
	last    int
	running map[int]struct{} // calls, by the order in which they began
	doubt   chan struct{}    // closed when it is known whether the server goes on; nil: nothing speaks against it
	deaf    bool
}

// begin notes a call.
func (t *trust) begin() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = make(map[int]struct{})
	}
	t.last++
	t.running[t.last] = struct{}{}
	return t.last
}

// finish notes that a call was answered, or lost with its connection.
func (t *trust) finish(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, n)
}

// abandon notes that nobody waits for a call any more, and has the connection ended if the server then does not answer. It may
// be busy with an older call that somebody waits for: then that is left in peace.
func (t *trust) abandon(n int, answers func() bool, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, n)
	for other := range t.running {
		if other < n {
			return
		}
	}
	if t.doubt != nil {
		return
	}
	t.doubt = make(chan struct{})
	go t.examine(answers, end)
}

func (t *trust) examine(answers func() bool, end func()) {
	well := answers()
	if !well {
		end()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.doubt)
	if t.deaf = !well; well {
		t.doubt = nil
	}
}

// verdict waits until there is no doubt, and tells whether the connection was given up.
func (t *trust) verdict(ctx context.Context) (deaf bool, err error) {
	t.mu.Lock()
	doubt := t.doubt
	t.mu.Unlock()
	if doubt == nil {
		return false, nil
	}
	select {
	case <-doubt:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deaf, nil
}
