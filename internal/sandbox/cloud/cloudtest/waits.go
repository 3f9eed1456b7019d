package cloudtest

import (
	"context"
	"sync"
	"time"
)

// Waits records what was waited for, without waiting. The zero value is ready to use.
type Waits struct {
	mu  sync.Mutex
	all []time.Duration
}

// Sleep is a cloud.Sleeper.
func (w *Waits) Sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
	return ctx.Err()
}

// All returns what was waited for, in order.
func (w *Waits) All() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration(nil), w.all...)
}

// Total returns the sum of All.
func (w *Waits) Total() (sum time.Duration) {
	for _, d := range w.All() {
		sum += d
	}
	return sum
}
