// This file fixes the signatures while the feed is being written.

package feed

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Handler answers a call. An *editors.Error reaches the caller as it is.
type Handler func(ctx context.Context, params json.RawMessage) (any, error)

// Hub is the worker's side.
type Hub struct{}

// Listen opens the socket.
func Listen(path string, log *slog.Logger) (*Hub, error) { return &Hub{}, nil }

// Publish never blocks.
func (h *Hub) Publish(f Frame) {}

// Forget says that an item is complete.
func (h *Hub) Forget(session, item string) {}

// Ring rings the bell of a session.
func (h *Hub) Ring(session string, seq int64) {}

// Handle registers a method.
func (h *Hub) Handle(method string, handler Handler) {}

// Close ends the hub.
func (h *Hub) Close() error { return nil }

// Client is one connection to a Hub.
type Client struct{}

// Dial connects.
func Dial(ctx context.Context, path string) (*Client, error) { return &Client{}, nil }

// Subscribe subscribes.
func (c *Client) Subscribe(session string) *Subscription { return &Subscription{} }

// Call calls.
func (c *Client) Call(ctx context.Context, method string, params, result any) error { return nil }

// Done is closed when the connection died.
func (c *Client) Done() <-chan struct{} { return nil }

// Close closes the connection.
func (c *Client) Close() error { return nil }

// Subscription is the frames and bells of a session.
type Subscription struct{}

// Frames is closed by Close, and for a Client's subscription when the connection died.
func (s *Subscription) Frames() <-chan Frame { return nil }

// Bells holds the latest seq rung.
func (s *Subscription) Bells() <-chan int64 { return nil }

// Close ends the subscription.
func (s *Subscription) Close() {}

// Watcher keeps a connection.
type Watcher struct{}

// Watch keeps dialling the path that socket returns until Close, and tells onChange (which may be nil) of every change.
func Watch(socket func() string, onChange func(connected bool)) *Watcher { return &Watcher{} }

// Connected tells whether there is a connection now.
func (w *Watcher) Connected() bool { return false }

// WaitConnected waits for a connection.
func (w *Watcher) WaitConnected(ctx context.Context) error { return nil }

// Retry dials at once instead of after the back-off.
func (w *Watcher) Retry() {}

// Subscribe returns a subscription that survives reconnects.
func (w *Watcher) Subscribe(session string) *Subscription { return &Subscription{} }

// Call calls, or fails at once with CodeWorkerUnavailable.
func (w *Watcher) Call(ctx context.Context, method string, params, result any) error { return nil }

// Close ends the watcher and its subscriptions.
func (w *Watcher) Close() {}
