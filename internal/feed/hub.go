// This file is the worker's side of the feed: it publishes, rings and answers, and waits for nobody.

package feed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/sourcegraph/conc"
)

const (
	maxConnections = 128 // of a hub
	acceptPause    = 100 * time.Millisecond
)

// Handler answers a call. The params are at most MaxCallBytes of JSON, and so must be the result, which is encoded as
// JSON. An *editors.Error reaches the caller with its code and remedy, another error as CodeInternal. ctx ends with the
// caller's patience, its connection or the hub. Handlers run concurrently.
type Handler func(ctx context.Context, params json.RawMessage) (any, error)

// Hub is the worker's side. Its methods are safe for concurrent use, and those that publish never block: they copy what
// they are given and return.
type Hub struct {
	log      *slog.Logger
	epoch    string
	listener *net.UnixListener
	lock     *flock.Flock
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    conc.WaitGroup

	mu       sync.Mutex
	topics   *topics
	conns    map[*conn]struct{}
	handlers map[string]Handler
}

// Listen serves the socket path, mode 0600, whose directory must be closed to others (it is made if missing). A socket
// that nobody answers on is replaced; when another hub serves it the error is ErrInUse. log may be nil. The caller must
// Close the Hub.
func Listen(path string, log *slog.Logger) (*Hub, error) {
	listener, lock, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("opening the feed at %s: %w", path, err)
	}
	h := newHub(log)
	h.listener, h.lock = listener, lock
	h.tasks.Go(h.accept)
	return h, nil
}

func newHub(log *slog.Logger) *Hub {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{
		log: log, epoch: rand.Text(), ctx: ctx, cancel: cancel,
		topics: newTopics(), conns: map[*conn]struct{}{}, handlers: map[string]Handler{},
	}
}

func (h *Hub) accept() {
	for {
		peer, err := h.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			h.log.Warn("accepting a connection on the feed", "error", err)
			select { // out of descriptors, most likely
			case <-time.After(acceptPause):
			case <-h.ctx.Done():
			}
			continue
		}
		if err := checkPeer(peer); err != nil {
			h.log.Warn("refusing a connection on the feed", "error", err)
			_ = peer.Close()
			continue
		}
		h.serve(peer)
	}
}

// serve takes a connection over.
func (h *Hub) serve(peer net.Conn) {
	c := newConn(h, peer)
	h.mu.Lock()
	full := len(h.conns) >= maxConnections || h.ctx.Err() != nil
	if !full {
		h.conns[c] = struct{}{}
	}
	h.mu.Unlock()
	if full {
		h.log.Warn("refusing a connection on the feed", "limit", maxConnections)
		c.close()
		return
	}
	h.tasks.Go(c.run)
}

// Connections counts the servers that are connected now.
func (h *Hub) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// Publish sends f to the subscribers of its session. Its Offset and N are ignored. Frames of a completed item or of a
// lower attempt than the item has come to are dropped, and so are frames without data or with names above MaxNameBytes.
func (h *Hub) Publish(f Frame) {
	if len(f.Data) == 0 || max(len(f.Session), len(f.Item), len(f.Stream)) > MaxNameBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topics.publish(f)
}

// Forget says that an item is complete: its data is dropped once the present subscribers have it.
func (h *Hub) Forget(session, item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topics.forget(session, item)
}

// Ring tells the subscribers of a session that events up to seq may be there. The highest seq is remembered for those
// who subscribe later; lower ones are ignored.
func (h *Hub) Ring(session string, seq int64) {
	if len(session) > MaxNameBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topics.ring(session, seq)
}

// Handle makes handler answer the calls of method; the last one given counts.
func (h *Hub) Handle(method string, handler Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers[method] = handler
}

func (h *Hub) handler(method string) Handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handlers[method]
}

// Close disconnects everybody, removes the socket and waits for the handlers.
func (h *Hub) Close() error {
	h.cancel()
	var err error
	if h.listener != nil {
		if err = h.listener.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	h.mu.Lock()
	for c := range h.conns {
		c.close()
	}
	h.mu.Unlock()
	h.tasks.Wait()
	if h.lock != nil {
		err = errors.Join(err, h.lock.Unlock())
	}
	if err != nil {
		return fmt.Errorf("closing the feed: %w", err)
	}
	return nil
}
