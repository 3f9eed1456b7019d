// This file is one connection's place in one session: what it has been told, and what comes next.

package core

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// attachment reads a watcher at its own pace: durable events one after the other from its cursor, and, when it has all of
// them, the pieces of open items. Nothing is queued for it, so that a slow client costs no memory and no other client.
type attachment struct {
	watcher *watcher
	wake    func() // tells the connection that there may be something to deliver

	mu      sync.Mutex
	begun   bool // the answer to attach was written
	ended   bool
	busy    bool  // something is on its way to the sink
	cursor  int64 // seq of the last durable event delivered
	places  map[placeKey]place
	pending map[string]editors.Approval // approvals told of and not resolved
	told    connection                  // what it was last told of that; at first, that all is well
	reread  []editors.EventMessage      // events read from the workflow because the log no longer had them
	moved   chan struct{}               // closed at the next change; nil when nobody waits
}

type placeKey struct{ item, stream string }

func newAttachment(w *watcher, wake func()) *attachment {
	return &attachment{watcher: w, wake: wake, places: make(map[placeKey]place), pending: make(map[string]editors.Approval)}
}

// join begins to read after seq; the approvals are those the client knows from the answer.
func (a *attachment) join(seq int64, approvals []editors.Approval) {
	a.mu.Lock()
	a.cursor = seq
	for _, approval := range approvals {
		a.pending[approval.ID] = approval
	}
	a.mu.Unlock()
	a.watcher.mu.Lock()
	a.watcher.readers[a] = struct{}{}
	behind := a.watcher.events.last() < seq
	a.watcher.mu.Unlock()
	if behind {
		a.watcher.kick()
	}
}

func (a *attachment) begin() {
	a.mu.Lock()
	a.begun = true
	a.mu.Unlock()
	a.wake()
}

func (a *attachment) end() {
	a.mu.Lock()
	a.ended = true
	a.moveLocked()
	a.mu.Unlock()
	a.watcher.mu.Lock()
	delete(a.watcher.readers, a)
	a.watcher.mu.Unlock()
}

// next returns what to deliver now, after which delivered is to be called; ok is false when there is nothing. The error
// is errLagging when the events after the cursor have to be read again.
func (a *attachment) next() (m editors.EventMessage, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun || a.ended {
		return m, false, nil
	}
	m, ok, err = a.peek()
	a.busy = ok
	return m, ok, err
}

// peek is next for one that holds a.mu.
func (a *attachment) peek() (m editors.EventMessage, ok bool, err error) {
	for len(a.reread) > 0 {
		if m = a.reread[0]; m.Seq > a.cursor {
			return m, true, nil
		}
		a.reread = a.reread[1:]
	}
	w := a.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	m, there, known := w.events.after(a.cursor)
	switch {
	case there:
		return m, true, nil
	case w.connection.differs(a.told):
		a.told = w.connection
		return editors.EventMessage{SessionID: w.id, Seq: a.cursor, At: time.Now().UTC(), Event: w.connection.event(w.session)}, true, nil
	case !known:
		return m, false, errLagging
	case w.events.last() < a.cursor:
		return m, false, nil // the watcher does not know yet which of its open items the client has seen completed
	}
	m, ok = a.nextDelta()
	return m, ok, nil
}

// nextDelta takes the next piece of an open item. The caller holds both locks.
func (a *attachment) nextDelta() (editors.EventMessage, bool) {
	items := make([]*openItem, 0, len(a.watcher.open))
	for _, item := range a.watcher.open {
		if item.seq <= a.cursor {
			items = append(items, item)
		}
	}
	slices.SortFunc(items, func(x, y *openItem) int { return cmp.Compare(x.seq, y.seq) })
	for _, item := range items {
		for _, name := range item.names {
			key := placeKey{item.id, name}
			e, to, ok := item.next(name, a.places[key])
			if !ok {
				continue
			}
			a.places[key] = to
			return editors.EventMessage{SessionID: a.watcher.id, Seq: item.seq, At: time.Now().UTC(), Event: e}, true
		}
	}
	return editors.EventMessage{}, false
}

// delivered marks m as delivered.
func (a *attachment) delivered(m editors.EventMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = false
	defer a.moveLocked()
	switch e := m.Event; e.Type {
	case editors.ItemDelta, editors.ConnectionChanged:
		return
	case editors.ItemEnded:
		for key := range a.places {
			if key.item == e.Item.ID {
				delete(a.places, key)
			}
		}
	case editors.ApprovalRequested:
		a.pending[e.Approval.ID] = *e.Approval
	case editors.ApprovalResolved:
		delete(a.pending, e.Approval.ID)
	}
	a.cursor = m.Seq
}

// moveLocked tells those who wait that something has changed. The caller holds a.mu.
func (a *attachment) moveLocked() {
	if a.moved != nil {
		close(a.moved)
		a.moved = nil
	}
}

// readAgain fetches what follows the cursor from the workflow, and tells whether there is something.
func (a *attachment) readAgain(ctx context.Context) (bool, error) {
	a.mu.Lock()
	after := a.cursor
	a.mu.Unlock()
	v, err := a.watcher.look(ctx, &after)
	if err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reread = v.Events
	if v.Snapshot {
		a.reread = a.summary(v)
	}
	return len(a.reread) > 0, nil
}

// summary stands in for events that exist no more: it brings a client that was away for very long up to date under the
// last seqs of those it missed. The caller holds a.mu.
func (a *attachment) summary(v agent.View) []editors.EventMessage {
	var events []editors.Event
	for _, item := range v.Items {
		kind := editors.ItemEnded
		if item.Status == editors.ItemInProgress {
			kind = editors.ItemStarted
		}
		events = append(events, editors.Event{Type: kind, Item: &item})
	}
	still := make(map[string]bool)
	for _, approval := range v.Approvals {
		still[approval.ID] = true
		if _, told := a.pending[approval.ID]; !told {
			events = append(events, editors.Event{Type: editors.ApprovalRequested, Approval: &approval})
		}
	}
	for id, approval := range a.pending {
		if !still[id] {
			approval.Decision, approval.Feedback = editors.DecisionWithdrawn, "It was answered while this client was away."
			events = append(events, editors.Event{Type: editors.ApprovalResolved, Approval: &approval})
		}
	}
	events = append(events,
		editors.Event{Type: editors.QueueChanged, Queued: v.Queued},
		editors.Event{Type: editors.BackgroundChanged, Background: v.Background},
		editors.Event{Type: editors.StateChanged, State: &v.Session.State},
		editors.Event{Type: editors.SessionUpdated, Session: &v.Session},
	)
	if room := v.Seq - a.cursor; int64(len(events)) > room {
		events = events[int64(len(events))-max(room, 0):]
	}
	messages := make([]editors.EventMessage, len(events))
	for i, e := range events {
		messages[i] = editors.EventMessage{
			SessionID: v.Session.ID, Seq: v.Seq - int64(len(events)-1-i), At: v.Session.UpdatedAt, Event: e,
		}
	}
	return messages
}

// await waits until all events up to seq were delivered, the attachment has ended, or ctx ends.
func (a *attachment) await(ctx context.Context, seq int64) {
	a.until(ctx, func() bool { return a.cursor >= seq || a.ended || !a.begun })
}

// awaitIdle waits until nothing is on its way to the sink any more, or ctx ends.
func (a *attachment) awaitIdle(ctx context.Context) {
	a.until(ctx, func() bool { return !a.busy })
}

func (a *attachment) until(ctx context.Context, met func() bool) {
	for {
		a.mu.Lock()
		if met() {
			a.mu.Unlock()
			return
		}
		if a.moved == nil {
			a.moved = make(chan struct{})
		}
		moved := a.moved
		a.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}
