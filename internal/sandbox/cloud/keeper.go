// This file keeps sandboxes awake for as long as they are needed: clouds put each to rest when its time is over, unless they
// are told in time that somebody needs it.

package cloud

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
)

const (
	extendTime = time.Minute
	askTime    = 10 * time.Second
)

// Holds are the sandboxes that are kept awake though nobody calls them.
type Holds struct {
	Clock Clock

	mu  sync.Mutex
	all map[string]*hold
}

type hold struct {
	count int
	since time.Time // of the last
}

// Add holds the sandbox id until release is called, once or more often.
func (h *Holds) Add(id string) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := h.all[id]
	if mine == nil {
		if h.all == nil {
			h.all = map[string]*hold{}
		}
		mine = &hold{}
		h.all[id] = mine
	}
	mine.count++
	mine.since = h.Clock.Now()
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if mine.count--; mine.count == 0 {
			delete(h.all, id)
		}
	})
}

func (h *Holds) held(id string) (since time.Time, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if mine := h.all[id]; mine != nil {
		return mine.since, true
	}
	return time.Time{}, false
}

// Awake is a sandbox that can be kept awake.
type Awake interface {
	// Connected reports whether the helper can be asked without waking the sandbox.
	Connected() bool
	// Helper returns the client of the helper, nil before there is one.
	Helper() *client.Client
	// Extend gives a running sandbox its whole time again.
	Extend(ctx context.Context) error
	// Rest drops what would keep the sandbox awake, if anything does, at once. The next call takes it up again.
	Rest()
}

// Keeper keeps one sandbox awake while it is needed: during calls, while commands run and while it is held.
type Keeper struct {
	Box        Awake
	ID         string
	Holds      *Holds
	Tick       time.Duration // between two looks. Two of them may fail before the sandbox is put to rest
	Unattended time.Duration // for which commands and holds keep it awake without any call
	Log        *slog.Logger

	mu      sync.Mutex // guards the fields below
	calls   int        // under way
	used    time.Time  // when a call ended last
	last    time.Time  // when the sandbox got its whole time last
	tending chan struct{}
	stopped bool
}

func (k *Keeper) now() time.Time { return k.Holds.Clock.Now() }

// Enter begins a call.
func (k *Keeper) Enter() (leave func()) {
	k.mu.Lock()
	k.calls++
	k.mu.Unlock()
	k.Wake()
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.calls--
		k.used = k.now()
	}
}

// Calls returns how many calls are under way.
func (k *Keeper) Calls() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

// Extended notes that the sandbox has its whole time again.
func (k *Keeper) Extended() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = k.now()
}

// Wake makes sure that somebody looks after the sandbox.
func (k *Keeper) Wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tending == nil && !k.stopped {
		k.tending = make(chan struct{})
		go k.tend(k.tending)
	}
}

// Stop ends the keeping for good.
func (k *Keeper) Stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.tending != nil {
		close(k.tending)
		k.tending = nil
	}
}

// tend extends the time until nobody needs the sandbox.
func (k *Keeper) tend(quit chan struct{}) {
	for {
		k.extend()
		select {
		case <-k.Holds.Clock.After(k.Tick):
		case <-quit:
			return
		}
		if !k.needed() && k.retire(quit) {
			return
		}
	}
}

// retire lets the sandbox come to rest, unless somebody has just come.
func (k *Keeper) retire(quit chan struct{}) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls > 0 {
		return false
	}
	if k.tending == quit {
		k.tending = nil
		k.Box.Rest()
	}
	return true
}

// extend gives the sandbox its whole time, unless that was done a moment ago or it does not run.
func (k *Keeper) extend() {
	k.mu.Lock()
	due := k.now().Sub(k.last) >= k.Tick
	k.mu.Unlock()
	if !due || !k.Box.Connected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), extendTime)
	defer cancel()
	if err := k.Box.Extend(ctx); err != nil {
		k.Log.Warn("keep a sandbox awake", "sandbox", k.ID, "error", err)
		return
	}
	k.Extended()
}

// needed reports whether the sandbox should stay awake.
func (k *Keeper) needed() bool {
	now := k.now()
	since, held := k.Holds.held(k.ID)
	k.mu.Lock()
	calls, used := k.calls, k.used
	k.mu.Unlock()
	if calls > 0 || now.Sub(used) < k.Tick {
		return true
	}
	if since.Before(used) {
		since = used
	}
	if now.Sub(since) >= k.Unattended || !k.Box.Connected() {
		return false
	}
	return held || k.busy()
}

// busy reports whether a command runs.
func (k *Keeper) busy() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	c := k.Box.Helper()
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
