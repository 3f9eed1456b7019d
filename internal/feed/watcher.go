// This file keeps a server connected: it dials again and again, and subscribes anew.

package feed

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"sandboxagent/editors"
)

const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	steadyTime = 5 * time.Second // a connection that lived so long makes the next pause short again
)

// Watcher keeps a connection to the Hub of this host. While there is none, callers use what is slower. Its methods are
// safe for concurrent use.
type Watcher struct {
	socket   func() string
	onChange func(connected bool)
	ctx      context.Context
	cancel   context.CancelFunc
	retry    chan struct{}
	done     chan struct{}

	mu      sync.Mutex
	client  *Client       // nil while there is no connection
	change  chan struct{} // closed when client changes
	err     error         // of the last attempt to connect
	subs    map[*Subscription]struct{}
	stopped bool
}

// Watch keeps dialling the path that socket returns, until Close. onChange, which may be nil, is told of every change,
// one call at a time; it must not Close the Watcher.
func Watch(socket func() string, onChange func(connected bool)) *Watcher {
	if onChange == nil {
		onChange = func(bool) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watcher{
		socket: socket, onChange: onChange, ctx: ctx, cancel: cancel,
		retry: make(chan struct{}, 1), done: make(chan struct{}),
		change: make(chan struct{}), subs: map[*Subscription]struct{}{},
	}
	go w.run()
	return w
}

func (w *Watcher) run() {
	defer close(w.done)
	pause := firstPause
	for w.ctx.Err() == nil {
		began := time.Now()
		client, err := dial(w.ctx, w.socket(), false)
		if err == nil {
			w.adopt(client)
			err = w.lost(client)
		}
		w.setError(err)
		if time.Since(began) > steadyTime {
			pause = firstPause
		}
		if !w.wait(pause/2 + rand.N(pause)) {
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
	}
}

// adopt makes client the connection.
func (w *Watcher) adopt(client *Client) {
	w.mu.Lock()
	w.set(client)
	for s := range w.subs {
		client.attach(s)
	}
	w.mu.Unlock()
	w.onChange(true)
}

// lost waits for the end of the connection and returns its reason.
func (w *Watcher) lost(client *Client) error {
	select {
	case <-client.Done():
	case <-w.ctx.Done():
		_ = client.Close()
	}
	w.mu.Lock()
	w.set(nil)
	w.mu.Unlock()
	w.onChange(false)
	return client.Err()
}

// set changes the connection. The caller holds w.mu.
func (w *Watcher) set(client *Client) {
	w.client = client
	close(w.change)
	w.change = make(chan struct{})
}

func (w *Watcher) setError(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// wait waits before the next attempt; true: Retry cut it short.
func (w *Watcher) wait(pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return false
	case <-w.retry:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// Retry makes the next attempt to connect now instead of after the back-off of at most 3 s.
func (w *Watcher) Retry() {
	select {
	case w.retry <- struct{}{}:
	default:
	}
}

// Connected tells whether there is a connection now.
func (w *Watcher) Connected() bool {
	client, _ := w.current()
	return client != nil
}

func (w *Watcher) current() (*Client, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client, w.change
}

// Err says why there is no connection, nil when there is one or none was tried yet.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client != nil {
		return nil
	}
	return w.err
}

// WaitConnected waits until there is a connection, ctx ends or the Watcher is closed.
func (w *Watcher) WaitConnected(ctx context.Context) error {
	for {
		client, change := w.current()
		if client != nil {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), w.Err())
		case <-w.done:
			return unavailable(errors.New("the watcher of the feed is closed"))
		}
	}
}

// Subscribe asks for the frames and bells of a session. The Subscription survives reconnects: it goes on where it was as
// far as the Hub still has it, and lives until it or the Watcher is closed.
func (w *Watcher) Subscribe(session string) *Subscription {
	s := newSubscription(session, w.leave)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		s.end()
		return s
	}
	w.subs[s] = struct{}{}
	if w.client != nil {
		w.client.attach(s)
	}
	return s
}

func (w *Watcher) leave(s *Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subs, s)
	if w.client != nil {
		w.client.detach(s)
	}
}

// Call is Client.Call on the present connection; without one it fails at once with CodeWorkerUnavailable.
func (w *Watcher) Call(ctx context.Context, method string, params, result any) error {
	client, _ := w.current()
	if client == nil {
		return unavailable(w.Err())
	}
	return client.Call(ctx, method, params, result)
}

func unavailable(cause error) error {
	e := editors.Errorf(editors.CodeWorkerUnavailable, "The worker of this host does not answer.")
	e.Err = cause
	return e.WithRemedy("Start it with: sandbox-agent worker start")
}

// Close ends the connection and all subscriptions. It may be called more than once.
func (w *Watcher) Close() {
	w.cancel()
	<-w.done
	w.mu.Lock()
	subs := w.subs
	w.subs, w.stopped = map[*Subscription]struct{}{}, true
	w.mu.Unlock()
	for s := range subs {
		s.abandon()
	}
}
