// This file follows one session for all connections that are attached to it.

package core

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

const (
	pollAlways  = 5 * time.Second       // a lost bell costs at most this
	pollTurn    = 3 * time.Second       // while a turn runs: its user is to know soon that it cannot be followed
	pollBlind   = time.Second           // while a turn runs and nothing rings
	pollHinted  = 50 * time.Millisecond // when a bell told of an event that is not there yet
	hintedPolls = 20
	pollFailed  = 500 * time.Millisecond // at first; doubles up to pollAlways
	viewTimeout = 5 * time.Second
	maxHeld     = 256 << 10 // bytes of frames that came before their item
)

// watcher reads a session's events once, keeps the newest, and gathers the pieces of open items. Attachments read from it.
type watcher struct {
	id   string
	view func(ctx context.Context, afterSeq *int64) (agent.View, error)
	// missing says what stands between the session and who follows it, nil when nothing does as far as can be told.
	missing func(context.Context, editors.Session) *editors.Error
	log     func(msg string, args ...any)

	kicks   chan struct{} // holds one token when there may be something new
	checked time.Time     // when follow last found that a quiet turn has its worker

	mu         sync.Mutex
	ready      bool
	events     eventLog
	session    editors.Session
	open       map[string]*openItem
	held       []frame
	heldLen    int
	hint       int64     // the highest seq a bell told of
	hinted     int       // looks in vain for it
	blind      bool      // nothing rings
	gone       bool      // the session was destroyed or cannot be found
	heard      time.Time // when something of the session last came
	connection connection
	readers    map[*attachment]struct{}

	cancel context.CancelFunc
	jobs   conc.WaitGroup
}

func newWatcher(
	id string, view func(context.Context, *int64) (agent.View, error),
	missing func(context.Context, editors.Session) *editors.Error, log func(string, ...any),
) *watcher {
	return &watcher{
		id: id, view: view, missing: missing, log: log, kicks: make(chan struct{}, 1), blind: true,
		open: make(map[string]*openItem), readers: make(map[*attachment]struct{}), heard: time.Now(),
	}
}

// start begins to follow; listen brings bells and frames until its context ends.
func (w *watcher) start(ctx context.Context, listen func(context.Context)) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.jobs.Go(func() { listen(ctx) })
	w.jobs.Go(func() { w.follow(ctx) })
}

func (w *watcher) stop() {
	w.cancel()
	w.jobs.Wait()
}

// prime takes the first look, which says where the log begins and which items are open.
func (w *watcher) prime(ctx context.Context) error {
	w.mu.Lock()
	ready := w.ready
	w.mu.Unlock()
	if ready {
		return nil
	}
	v, err := w.view(ctx, nil)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ready {
		w.restart(v)
	}
	return nil
}

func (w *watcher) look(ctx context.Context, after *int64) (agent.View, error) {
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	return w.view(ctx, after)
}

// kick asks for a look at once.
func (w *watcher) kick() {
	select {
	case w.kicks <- struct{}{}:
	default:
	}
}

// bell tells that there may be events up to seq.
func (w *watcher) bell(seq int64) {
	w.mu.Lock()
	news := seq > w.events.last() || !w.ready
	if seq > w.hint {
		w.hint, w.hinted = seq, 0
	}
	w.mu.Unlock()
	if news {
		w.kick()
	}
}

// follow looks whenever something rings, and now and then in case nothing does.
func (w *watcher) follow(ctx context.Context) {
	timer := time.NewTimer(pollAlways)
	defer timer.Stop()
	failures := 0
	var failing time.Time // since when nothing can be read
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kicks:
		case <-timer.C:
		}
		if failures == 0 {
			failing = time.Now()
		}
		if err := w.attempt(ctx, failing); err != nil {
			failures++
			w.log("session not readable", "session", w.id, "error", err)
			w.missed(ctx, err, failing)
		} else {
			failures = 0
			w.reached(ctx)
		}
		timer.Reset(w.pollAfter(failures))
	}
}

// quietly lets a look of its own accord start the worker only for a turn that would else stand still.
func (w *watcher) quietly(ctx context.Context) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turning() {
		return context.WithValue(ctx, quietKey{}, quietUnlessStopped)
	}
	return context.WithValue(ctx, quietKey{}, quietAlways)
}

// pollAfter says when to look again though nothing rings.
func (w *watcher) pollAfter(failures int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	running := w.turning() || w.session.State.Status == editors.StatusWaitingApproval
	switch {
	case failures > 0 && !w.connection.lost: // nobody knows yet
		return pollFailed
	case failures > 0 && running:
		return min(pollFailed<<min(failures-1, 10), pollTurn)
	case failures > 0:
		return min(pollFailed<<min(failures-1, 10), pollAlways)
	case w.hint > w.events.last() && w.hinted < hintedPolls:
		w.hinted++
		return pollHinted
	case w.blind && running:
		return pollBlind
	case running:
		return pollTurn
	}
	return pollAlways
}

// catchUp reads all events there are.
func (w *watcher) catchUp(ctx context.Context) error {
	if err := bounded(ctx, viewTimeout, w.prime); err != nil {
		w.failed(err)
		return err
	}
	for {
		w.mu.Lock()
		after := w.events.last()
		gone := w.gone
		w.mu.Unlock()
		if gone {
			return nil
		}
		v, err := w.look(ctx, &after)
		if err != nil {
			w.failed(err)
			return err
		}
		if w.take(v); !v.More {
			return nil
		}
	}
}

// failed stops looking for a session that is no more.
func (w *watcher) failed(err error) {
	if !isNotFound(err) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
}

// take adds what a look brought and wakes the attachments.
func (w *watcher) take(v agent.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.events.last()
	if v.Snapshot {
		if v.Seq > before {
			w.restart(v)
		}
	} else {
		for _, m := range v.Events {
			w.apply(m)
		}
	}
	w.session = v.Session
	if v.Session.State.Status == editors.StatusDestroyed && !v.More {
		w.gone = true
	}
	if w.events.last() != before {
		w.heard = time.Now()
		w.wake()
	}
}

// restart begins anew where a snapshot ends. The caller holds w.mu.
func (w *watcher) restart(v agent.View) {
	w.ready, w.session = true, v.Session
	w.events.reset(v.Seq)
	open := make(map[string]*openItem)
	for _, item := range v.Items {
		if item.Status != editors.ItemInProgress {
			continue
		}
		if open[item.ID] = w.open[item.ID]; open[item.ID] == nil {
			open[item.ID] = &openItem{id: item.ID, seq: item.Seq, attempt: item.Attempt}
		}
	}
	w.open = open
	w.release()
	w.wake()
}

// apply adds one event. The caller holds w.mu.
func (w *watcher) apply(m editors.EventMessage) {
	if !w.events.append(m) {
		return // known, or after a gap that the next look closes
	}
	item := m.Event.Item
	switch {
	case item == nil:
	case m.Event.Type == editors.ItemStarted:
		w.open[item.ID] = &openItem{id: item.ID, seq: item.Seq, attempt: item.Attempt}
		w.release()
	case m.Event.Type == editors.ItemEnded:
		delete(w.open, item.ID)
	}
}

// frame takes a piece of an item. Pieces of completed items are dropped; those of items yet unknown wait for them.
func (w *watcher) frame(f frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
	if !w.ready || f.seq > w.events.last() {
		w.hold(f)
		return
	}
	if item := w.open[f.item]; item != nil && item.add(f) {
		w.wake()
	}
}

// hold keeps a frame until its item has begun; the oldest go first when there are too many. The caller holds w.mu.
func (w *watcher) hold(f frame) {
	w.held = append(w.held, f)
	w.heldLen += len(f.data)
	for w.heldLen > maxHeld {
		w.heldLen -= len(w.held[0].data)
		w.held = w.held[1:]
	}
	if f.seq > w.hint {
		w.hint, w.hinted = f.seq, 0
	}
	w.kick()
}

// release hands on the frames whose item has begun by now. The caller holds w.mu.
func (w *watcher) release() {
	waiting := w.held[:0]
	w.heldLen = 0
	for _, f := range w.held {
		if f.seq > w.events.last() {
			waiting = append(waiting, f)
			w.heldLen += len(f.data)
		} else if item := w.open[f.item]; item != nil {
			item.add(f)
		}
	}
	w.held = waiting
}

// wake tells all attachments that there is something new. The caller holds w.mu.
func (w *watcher) wake() {
	for a := range w.readers {
		a.wake()
	}
}

// running tells whether a turn runs, as far as known.
func (w *watcher) running() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.gone && w.session.State.Status == editors.StatusRunning
}

// setBlind tells whether anything rings when there are events.
func (w *watcher) setBlind(blind bool) {
	w.mu.Lock()
	changed := w.blind != blind
	w.blind = blind
	w.mu.Unlock()
	if changed {
		w.kick()
	}
}

// known returns the session as last seen.
func (w *watcher) known() (editors.Session, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session, w.ready
}

// errLagging tells that events after a cursor are no longer in the log.
var errLagging = errors.New("the log begins later")
