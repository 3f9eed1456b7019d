// This file is a server's side of the feed: one connection with its subscriptions and calls.

package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"sandboxagent/editors"
)

// Client is one connection to a Hub. Its methods are safe for concurrent use.
type Client struct {
	peer  net.Conn
	epoch string
	owns  bool // its subscriptions end with it
	done  chan struct{}

	writing sync.Mutex // one message at a time

	mu    sync.Mutex
	next  uint64
	subs  map[uint64]*Subscription
	calls map[uint64]chan message
	err   error // why the connection died
}

// Dial connects to the Hub that serves the socket path and checks that this user runs it. Without a deadline in ctx it
// gives up after 5 s. The caller must Close the Client.
func Dial(ctx context.Context, path string) (*Client, error) { return dial(ctx, path, true) }

func dial(ctx context.Context, path string, owns bool) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	peer, err := connect(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("connecting to the worker: %w", err)
	}
	c, err := newClient(ctx, peer, owns)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to the worker: %w", err), peer.Close())
	}
	return c, nil
}

// newClient waits for the hub's hello and starts to read.
func newClient(ctx context.Context, peer net.Conn, owns bool) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { _ = peer.SetReadDeadline(time.Unix(1, 0)) })
	r := bufio.NewReader(peer)
	hello, err := readMessage(r)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for its greeting: %w", err)
	}
	if hello.kind != kindHello || hello.header.Version != wireVersion {
		return nil, fmt.Errorf("it speaks version %d of the feed instead of %d; restart the older of the two", hello.header.Version, wireVersion)
	}
	c := &Client{
		peer: peer, epoch: hello.header.Epoch, owns: owns, done: make(chan struct{}),
		subs: map[uint64]*Subscription{}, calls: map[uint64]chan message{},
	}
	go c.read(r)
	return c, nil
}

// read acts on messages until the connection dies.
func (c *Client) read(r *bufio.Reader) {
	for {
		m, err := readMessage(r)
		if err != nil {
			c.fail(fmt.Errorf("reading from the worker: %w", err))
			return
		}
		c.mu.Lock()
		sub, call := c.subs[m.header.ID], c.calls[m.header.ID]
		c.mu.Unlock()
		switch {
		case m.kind == kindFrame && sub != nil:
			sub.deliver(c.epoch, Frame{
				Session: sub.session, Item: m.header.Item, Seq: m.header.Seq, Attempt: m.header.Attempt,
				Stream: m.header.Stream, Offset: m.header.Offset, Data: m.body[:len(m.body):len(m.body)],
			})
		case m.kind == kindBell && sub != nil:
			sub.ring(m.header.Seq)
		case m.kind == kindResult && call != nil:
			c.forgetCall(m.header.ID)
			call <- m // has room for the one answer
		}
	}
}

// fail ends the connection; the first reason counts.
func (c *Client) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	c.mu.Unlock()
	_ = c.peer.Close()
	close(c.done)
	for _, s := range c.owned() {
		s.end()
	}
}

// owned lists the subscriptions that end with the connection.
func (c *Client) owned() []*Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.owns {
		return nil
	}
	return slices.Collect(maps.Values(c.subs))
}

// Done is closed when the connection has died or was closed.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the connection died, nil while it lives.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and the subscriptions made with Subscribe.
func (c *Client) Close() error {
	c.fail(net.ErrClosed)
	for _, s := range c.owned() {
		s.abandon()
	}
	return nil
}

// Subscribe asks for the frames and bells of a session: what is there of items in the making, then what comes, and the
// latest bell. On a dead connection the Subscription has ended already.
func (c *Client) Subscribe(session string) *Subscription {
	s := newSubscription(session, c.detach)
	if !c.attach(s) {
		s.end()
	}
	return s
}

// attach routes a session's messages to s; false: the connection is dead.
func (c *Client) attach(s *Subscription) bool {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return false
	}
	c.next++
	id := c.next
	c.subs[id] = s
	c.mu.Unlock()
	c.send(message{kind: kindSubscribe, header: header{ID: id, Session: s.session}})
	return true
}

// detach takes s from the connection.
func (c *Client) detach(s *Subscription) {
	c.mu.Lock()
	var found uint64
	for id, other := range c.subs {
		if other == s {
			found = id
		}
	}
	delete(c.subs, found)
	c.mu.Unlock()
	if found != 0 {
		c.send(message{kind: kindUnsubscribe, header: header{ID: found}})
	}
}

// send writes a message; failing kills the connection.
func (c *Client) send(m message) {
	buf, err := appendMessage(nil, m)
	if err == nil {
		err = c.write(buf)
	}
	if err != nil {
		c.fail(fmt.Errorf("writing to the worker: %w", err))
	}
}

func (c *Client) write(buf []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.peer.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.peer.Write(buf)
	return err
}

// Call asks the worker and decodes its answer into result, which may be nil. Params and result are JSON of at most
// MaxCallBytes. The worker's errors are *editors.Error, with CodeWorkerUnavailable when the connection died: whether the
// call took effect is then unknown. Without a deadline in ctx it gives up after 30 s.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	if len(body) > MaxCallBytes || len(method) > MaxNameBytes {
		return editors.Errorf(editors.CodeLimit, "The call %.80s to the worker is too large: %d bytes.", method, len(body))
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultCallTime)
		defer cancel()
	}
	answer, err := c.roundTrip(ctx, method, body)
	if err != nil {
		return err
	}
	if answer.header.Error != nil {
		return answer.header.Error.decode()
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.body, result); err != nil {
		return fmt.Errorf("decoding the answer to %s: %w", method, err)
	}
	return nil
}

func (c *Client) roundTrip(ctx context.Context, method string, body []byte) (message, error) {
	deadline, _ := ctx.Deadline()
	answers := make(chan message, 1)
	id := c.expect(answers)
	defer c.forgetCall(id)
	patience := max(time.Until(deadline).Milliseconds(), 1)
	c.send(message{kind: kindCall, header: header{ID: id, Method: method, Timeout: patience}, body: body})
	select {
	case answer := <-answers:
		return answer, nil
	case <-c.done:
		return message{}, editors.Errorf(editors.CodeWorkerUnavailable, "The worker went away while it was asked for %s: %w", method, c.Err())
	case <-ctx.Done():
		c.send(message{kind: kindCancel, header: header{ID: id}})
		return message{}, fmt.Errorf("waiting for the worker's answer to %s: %w", method, ctx.Err())
	}
}

func (c *Client) expect(answers chan message) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	c.calls[c.next] = answers
	return c.next
}

func (c *Client) forgetCall(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}
