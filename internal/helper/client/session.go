// This file is one connection to a helper: requests side by side, each waiting for its own reply.

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const helloTime = 10 * time.Second

// errGone says that the connection ended; the request may have been carried out.
var errGone = errors.New("the connection to the helper ended")

// ErrLeaving says that the helper made room for another build: start that and connect again.
var ErrLeaving = errors.New("the helper is leaving")

type session struct {
	conn *wire.Conn
	done chan struct{} // closed when the connection has ended

	mu      sync.Mutex
	err     error // why it ended
	next    uint32
	waiting map[uint32]chan wire.Message
}

// greet opens the conversation on rwc.
func greet(ctx context.Context, rwc io.ReadWriteCloser, hello wire.Hello) (*session, error) {
	conn := wire.NewConn(rwc)
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	welcome, err := exchange(conn, hello)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s := &session{conn: conn, done: make(chan struct{}), waiting: map[uint32]chan wire.Message{}}
	if welcome.Protocol != wire.Protocol {
		_ = conn.Close()
		return nil, sandbox.Errorf(sandbox.ClassConflict, "connect to the helper", "it speaks protocol %d, this program %d", welcome.Protocol, wire.Protocol)
	}
	go s.receive()
	return s, nil
}

func exchange(conn *wire.Conn, hello wire.Hello) (wire.Welcome, error) {
	var w wire.Welcome
	b, err := json.Marshal(hello)
	if err != nil {
		return w, fmt.Errorf("encode greeting: %w", err)
	}
	if err := conn.Send(wire.Message{Kind: wire.KindHello, Header: b}); err != nil {
		return w, err
	}
	m, err := conn.Recv()
	if err != nil {
		return w, fmt.Errorf("read greeting: %w", err)
	}
	if m.Kind != wire.KindHello || json.Unmarshal(m.Header, &w) != nil {
		return w, fmt.Errorf("read greeting: %w", wire.ErrFrame)
	}
	if w.Leaving {
		return w, ErrLeaving
	}
	if w.Error != nil {
		return w, w.Error.Sandbox()
	}
	return w, nil
}

func (s *session) receive() {
	for {
		m, err := s.conn.Recv()
		if err == nil && m.Kind != wire.KindReply {
			err = fmt.Errorf("%w: kind %d", wire.ErrFrame, m.Kind)
		}
		if err != nil {
			s.end(err)
			return
		}
		s.mu.Lock()
		reply := s.waiting[m.Stream]
		delete(s.waiting, m.Stream)
		s.mu.Unlock()
		if reply != nil {
			reply <- m // has room for the one reply
		}
	}
}

func (s *session) end(err error) {
	_ = s.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.done)
	}
}

func (s *session) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// call sends one request and waits for its reply, the end of ctx or of the connection.
func (s *session) call(ctx context.Context, header, body []byte) (wire.Message, error) {
	reply := make(chan wire.Message, 1)
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return wire.Message{}, errGone
	}
	s.next++
	stream := s.next
	s.waiting[stream] = reply
	s.mu.Unlock()

	sent := make(chan error, 1)
	go func() {
		sent <- s.conn.Send(wire.Message{Kind: wire.KindRequest, Stream: stream, Header: header, Body: body})
	}()
	for {
		select {
		case m := <-reply:
			return m, nil
		case err := <-sent:
			if errors.Is(err, wire.ErrTooLarge) {
				s.forget(stream)
				return wire.Message{}, err
			}
			if err != nil {
				s.end(err)
			}
			sent = nil
		case <-s.done:
			return s.last(reply)
		case <-ctx.Done():
			s.forget(stream)
			go func() { _ = s.conn.Send(wire.Message{Kind: wire.KindCancel, Stream: stream}) }()
			return wire.Message{}, context.Cause(ctx)
		}
	}
}

// last takes a reply that came just before the connection ended.
func (s *session) last(reply chan wire.Message) (wire.Message, error) {
	select {
	case m := <-reply:
		return m, nil
	default:
		return wire.Message{}, errGone
	}
}

func (s *session) forget(stream uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, stream)
}
