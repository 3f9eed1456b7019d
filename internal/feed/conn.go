// This file serves one connection of a hub: one goroutine reads, one writes, calls run beside them.

package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"sandboxagent/editors"
)

const (
	maxSubs    = 256       // subscriptions of one connection
	maxCalls   = 16        // calls of one connection at a time
	maxReplies = 64        // answers that wait to be written to one connection
	batchBytes = 128 << 10 // of frames that are written at once
)

var errUnread = errors.New("too many answers wait for the client")

// conn is one connection of a hub. The hub's mutex guards subs, calls and replies.
type conn struct {
	hub     *Hub
	peer    net.Conn
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // holds a token when there may be something to write
	subs    map[uint64]*sub
	calls   map[uint64]context.CancelFunc
	replies []message
}

func newConn(h *Hub, peer net.Conn) *conn {
	ctx, cancel := context.WithCancel(h.ctx)
	return &conn{
		hub: h, peer: peer, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
		subs: map[uint64]*sub{}, calls: map[uint64]context.CancelFunc{},
	}
}

// close ends the connection; it may be called at any time and more than once.
func (c *conn) close() {
	c.cancel()
	_ = c.peer.Close()
}

func (c *conn) run() {
	var tasks conc.WaitGroup
	tasks.Go(c.write)
	err := c.read(&tasks)
	if c.ctx.Err() == nil && !errors.Is(err, io.EOF) {
		c.hub.log.Warn("a connection on the feed broke", "error", err)
	}
	c.close()
	c.hub.mu.Lock()
	delete(c.hub.conns, c)
	for _, s := range c.subs {
		c.hub.topics.unsubscribe(s)
	}
	c.hub.mu.Unlock()
	tasks.Wait()
}

// read acts on messages until the peer ends or breaks the protocol.
func (c *conn) read(tasks *conc.WaitGroup) error {
	r := bufio.NewReader(c.peer)
	for {
		m, err := readMessage(r)
		if err != nil {
			return err
		}
		switch m.kind {
		case kindSubscribe:
			err = c.subscribe(m.header)
		case kindUnsubscribe:
			c.unsubscribe(m.header.ID)
		case kindCall:
			err = c.startCall(tasks, m)
		case kindCancel:
			c.cancelCall(m.header.ID)
		default:
			err = errMalformed
		}
		if err != nil {
			return err
		}
	}
}

func (c *conn) subscribe(head header) error {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if len(head.Session) > MaxNameBytes || len(c.subs) >= maxSubs || c.subs[head.ID] != nil {
		return errMalformed
	}
	c.subs[head.ID] = c.hub.topics.subscribe(head.Session, head.ID, c.signal)
	return nil
}

func (c *conn) unsubscribe(id uint64) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if s := c.subs[id]; s != nil {
		c.hub.topics.unsubscribe(s)
		delete(c.subs, id)
	}
}

// signal wakes the writer.
func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write sends what there is until the connection ends.
func (c *conn) write() {
	defer c.close()
	buf, err := appendMessage(nil, message{kind: kindHello, header: header{Version: wireVersion, Epoch: c.hub.epoch}})
	for err == nil {
		if len(buf) == 0 {
			select {
			case <-c.wake:
			case <-c.ctx.Done():
				return
			}
		} else if err = c.flush(buf); err != nil {
			break
		}
		buf, err = appendMessages(buf[:0], c.pending())
	}
	if c.ctx.Err() == nil {
		c.hub.log.Warn("a client of the feed takes nothing any more", "error", err)
	}
}

func (c *conn) flush(buf []byte) error {
	if err := c.peer.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.peer.Write(buf)
	return err
}

func appendMessages(buf []byte, messages []message) ([]byte, error) {
	var err error
	for _, m := range messages {
		if buf, err = appendMessage(buf, m); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// pending takes what is to be written: answers, bells and a bounded amount of frames.
func (c *conn) pending() []message {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	out, budget := c.replies, batchBytes
	c.replies = nil
	for _, s := range c.subs {
		out, budget = c.hub.topics.collect(s, out, budget)
	}
	return out
}

// startCall runs the handler of a call beside the reader. It fails for a peer that calls without reading the answers.
func (c *conn) startCall(tasks *conc.WaitGroup, m message) error {
	id := m.header.ID
	ctx, err := c.admit(m.header)
	if errors.Is(err, errUnread) {
		return err
	}
	if err != nil {
		c.reply(id, nil, err)
		return nil
	}
	tasks.Go(func() {
		defer c.cancelCall(id)
		result, err := c.call(ctx, m.header.Method, m.body)
		c.reply(id, result, err)
	})
	return nil
}

// admit makes the context of a call, unless there are too many.
func (c *conn) admit(head header) (context.Context, error) {
	patience := time.Duration(head.Timeout) * time.Millisecond
	if patience <= 0 || patience > maxCallTime {
		patience = maxCallTime
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if len(c.replies) >= maxReplies {
		return nil, errUnread
	}
	if len(c.calls) >= maxCalls || c.calls[head.ID] != nil {
		return nil, editors.Errorf(editors.CodeBusy, "Too many calls at a time; at most %d are served.", maxCalls)
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	c.calls[head.ID] = cancel
	return ctx, nil
}

func (c *conn) cancelCall(id uint64) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if cancel := c.calls[id]; cancel != nil {
		cancel()
		delete(c.calls, id)
	}
}

// call runs a handler and encodes its result.
func (c *conn) call(ctx context.Context, method string, params json.RawMessage) ([]byte, error) {
	handler := c.hub.handler(method)
	if handler == nil {
		return nil, editors.Errorf(editors.CodeUnsupported, "The worker does not know the call %.80q.", method).
			WithRemedy("The worker may be of another version; restart it.")
	}
	var result any
	var err error
	if recovered := panics.Try(func() { result, err = handler(ctx, params) }); recovered != nil {
		c.hub.log.Error("a call of the feed failed badly", "method", method, "panic", recovered.String())
		return nil, editors.Errorf(editors.CodeInternal, "The worker failed to answer %s; its log says why.", method)
	}
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, editors.Errorf(editors.CodeInternal, "The answer to %s cannot be encoded: %w.", method, err)
	}
	if len(encoded) > MaxCallBytes {
		return nil, editors.Errorf(editors.CodeLimit, "The answer to %s is too large: %d bytes.", method, len(encoded))
	}
	return encoded, nil
}

func (c *conn) reply(id uint64, result []byte, err error) {
	m := message{kind: kindResult, header: header{ID: id}, body: result}
	if err != nil {
		m.header.Error, m.body = encodeError(err), nil
	}
	c.hub.mu.Lock()
	c.replies = append(c.replies, m)
	c.hub.mu.Unlock()
	c.signal()
}
