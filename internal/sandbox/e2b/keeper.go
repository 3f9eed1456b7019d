// This file keeps sandboxes awake for as long as they are needed: E2B pauses each when its time is over, unless it is told in
// time to let it run on.

package e2b

import (
	"context"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

const askTime = 10 * time.Second

// hold is what Keep holds.
type hold struct {
	count int
	since time.Time // of the last
}

// Keep keeps a sandbox awake though nobody calls it, as during a turn in which the model thinks, until release is called. It
// ends by itself after Options.Unattended without a call. It never makes or wakes a sandbox.
func (b *Backend) Keep(ref sandbox.Ref) (release func()) {
	b.mu.Lock()
	h := b.holds[ref.ID]
	if h == nil {
		h = &hold{}
		b.holds[ref.ID] = h
	}
	h.count++
	h.since = b.opts.clock.Now()
	x := b.boxes[ref.ID]
	b.mu.Unlock()
	if x != nil && x.connected() {
		x.keeper.wake()
	}
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if h.count--; h.count == 0 {
			delete(b.holds, ref.ID)
		}
	})
}

// held returns since when a sandbox is held.
func (b *Backend) held(id string) (since time.Time, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[id]; h != nil {
		return h.since, true
	}
	return time.Time{}, false
}

// keeper extends the time of one sandbox while it is needed.
type keeper struct {
	x *box

	mu      sync.Mutex
	calls   int       // under way
	used    time.Time // when a call ended last
	last    time.Time // when the sandbox got its whole time last
	tending chan struct{}
	stopped bool
}

// enter begins a call.
func (k *keeper) enter() (leave func()) {
	k.mu.Lock()
	k.calls++
	k.mu.Unlock()
	k.wake()
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.calls--
		k.used = k.x.b.opts.clock.Now()
	}
}

// extended notes that the sandbox has its whole time again.
func (k *keeper) extended() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = k.x.b.opts.clock.Now()
}

// wake makes sure that somebody looks after the sandbox.
func (k *keeper) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tending == nil && !k.stopped {
		k.tending = make(chan struct{})
		go k.tend(k.tending)
	}
}

// stop ends the keeping for good.
func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.tending != nil {
		close(k.tending)
		k.tending = nil
	}
}

// tick is the time between two looks. Two of them may fail before the sandbox is paused.
func (k *keeper) tick() time.Duration { return k.x.b.opts.Timeout / 3 }

// tend extends the time until nobody needs the sandbox.
func (k *keeper) tend(quit chan struct{}) {
	for {
		k.extend()
		select {
		case <-k.x.b.opts.clock.After(k.tick()):
		case <-quit:
			return
		}
		if k.needed() {
			continue
		}
		k.mu.Lock()
		idle := k.calls == 0 // somebody may just have come
		if idle && k.tending == quit {
			k.tending = nil
		}
		k.mu.Unlock()
		if idle {
			return
		}
	}
}

// extend gives the sandbox its whole time, unless that was done a moment ago or it does not run.
func (k *keeper) extend() {
	k.mu.Lock()
	due := k.x.b.opts.clock.Now().Sub(k.last) >= k.tick()
	k.mu.Unlock()
	if !due || !k.x.connected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	if f := k.x.b.extend(ctx, k.x.e2b); f != nil {
		k.x.b.opts.Logger.Warn("keep an E2B sandbox awake", "sandbox", k.x.id, "error", f.Err)
		return
	}
	k.extended()
}

// needed reports whether the sandbox should stay awake.
func (k *keeper) needed() bool {
	b := k.x.b
	now := b.opts.clock.Now()
	since, held := b.held(k.x.id)
	k.mu.Lock()
	calls, used := k.calls, k.used
	k.mu.Unlock()
	if calls > 0 || now.Sub(used) < k.tick() {
		return true
	}
	if since.Before(used) {
		since = used
	}
	if now.Sub(since) >= b.opts.Unattended || !k.x.connected() {
		return false
	}
	return held || k.busy()
}

// busy reports whether a command runs.
func (k *keeper) busy() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	c := k.x.helper()
	if c == nil {
		return false
	}
	all, err := c.Commands(ctx)
	if err != nil {
		return false
	}
	for _, st := range all {
		if st.State == sandbox.StateRunning {
			return true
		}
	}
	return false
}
