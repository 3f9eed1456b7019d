// This file answers one connection: the greeting, then requests side by side, each with exactly one reply.

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	maxAtOnce = 256 // requests of one connection
	helloTime = 10 * time.Second
)

// ErrLeave is what Serve returns when the peer wants this helper to make room or to shut down.
var ErrLeave = errors.New("asked to leave")

// errShutdown is never sent: the connection ends instead, so that the peer connects to the next helper.
var errShutdown = errors.New("the helper is shutting down")

// Serve answers the requests of one connection until it ends. build identifies this program in the greeting. It owns
// and closes rwc.
func (e *Engine) Serve(ctx context.Context, rwc io.ReadWriteCloser, build string) error {
	conn := wire.NewConn(rwc)
	defer conn.Close()
	if err := e.greet(conn, build); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s := &server{engine: e, conn: conn, ctx: ctx, running: map[uint32]context.CancelFunc{}}
	err := s.loop()
	cancel()
	s.wg.Wait()
	e.tree.Gone(s)
	if s.leave {
		return ErrLeave
	}
	return err
}

func (e *Engine) greet(conn *wire.Conn, build string) error {
	conn.SetReadDeadline(time.Now().Add(helloTime))
	defer conn.SetReadDeadline(time.Time{})
	m, err := conn.Recv()
	if err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	var hello wire.Hello
	if m.Kind != wire.KindHello || json.Unmarshal(m.Header, &hello) != nil {
		return fmt.Errorf("read greeting: %w", wire.ErrFrame)
	}
	welcome := wire.Welcome{Protocol: wire.Protocol, Build: build}
	differs := hello.Protocol != wire.Protocol || (hello.Build != "" && hello.Build != build)
	var result error
	switch {
	case differs && hello.Replace && e.Retire():
		welcome.Leaving, result = true, ErrLeave
	case hello.Protocol != wire.Protocol:
		result = sandbox.Errorf(sandbox.ClassConflict, "greet", "this sandbox runs a helper of protocol %d and the worker speaks %d: wait for its commands or destroy it", wire.Protocol, hello.Protocol)
		welcome.Error = wire.FromError(result)
	}
	b, err := json.Marshal(welcome)
	if err != nil {
		return fmt.Errorf("encode greeting: %w", err)
	}
	if err := conn.Send(wire.Message{Kind: wire.KindHello, Header: b}); err != nil {
		return err
	}
	return result
}

// server is the state of one connection.
type server struct {
	engine *Engine
	conn   *wire.Conn
	ctx    context.Context
	wg     sync.WaitGroup

	mu      sync.Mutex
	running map[uint32]context.CancelFunc
	leave   bool
}

func (s *server) loop() error {
	for {
		m, err := s.conn.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch m.Kind {
		case wire.KindRequest:
			s.begin(m)
		case wire.KindCancel:
			s.mu.Lock()
			if cancel := s.running[m.Stream]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		default:
			return fmt.Errorf("%w: kind %d", wire.ErrFrame, m.Kind)
		}
	}
}

func (s *server) begin(m wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) >= maxAtOnce || s.running[m.Stream] != nil {
		s.wg.Go(func() {
			s.reply(m.Stream, nil, nil, sandbox.Errorf(sandbox.ClassLimit, "serve", "more than %d requests at a time", maxAtOnce))
		})
		return
	}
	ctx, cancel := context.WithCancel(worktree.By(s.ctx, s))
	s.running[m.Stream] = cancel
	s.wg.Go(func() {
		defer cancel()
		result, body, leave, err := s.handle(ctx, m)
		s.mu.Lock()
		delete(s.running, m.Stream)
		s.leave = s.leave || leave
		s.mu.Unlock()
		if !errors.Is(err, errShutdown) {
			s.reply(m.Stream, result, body, err)
		}
		if leave || errors.Is(err, errShutdown) {
			_ = s.conn.Close()
		}
	})
}

func (s *server) handle(ctx context.Context, m wire.Message) (result any, body []byte, leave bool, err error) {
	var req wire.Request
	if err := json.Unmarshal(m.Header, &req); err != nil {
		return nil, nil, false, sandbox.Errorf(sandbox.ClassInvalid, "serve", "the request is malformed")
	}
	if req.Op == wire.OpShutdown {
		err := s.engine.Close()
		return nil, nil, err == nil, err
	}
	h := handlers[req.Op]
	if h == nil {
		return nil, nil, false, sandbox.Errorf(sandbox.ClassUnsupported, "serve", "the helper does not know %q", req.Op)
	}
	result, body, err = h(ctx, s.engine, req.Args, m.Body)
	return result, body, false, err
}

func (s *server) reply(stream uint32, result any, body []byte, err error) {
	r := wire.Reply{Error: wire.FromError(err)}
	if err == nil && result != nil {
		b, merr := json.Marshal(result)
		if merr != nil {
			r.Error = wire.FromError(fmt.Errorf("encode result: %w", merr))
		}
		r.Result = b
	}
	header, err := json.Marshal(r)
	if err != nil {
		_ = s.conn.Close()
		return
	}
	err = s.conn.Send(wire.Message{Kind: wire.KindReply, Stream: stream, Header: header, Body: body})
	if errors.Is(err, wire.ErrTooLarge) {
		_ = s.conn.Close()
	}
}
