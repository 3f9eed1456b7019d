// This file keeps a server connected: started when it is first needed, and again, ever later, when it fails.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sandboxagent/internal/config"
)

const (
	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
	steadyTime = time.Minute // after which a connection that ends does not count as one more failure
	goneTime   = 4 * endTime // for a connection that was given up to end, with its program
	forgiven   = 3           // failures in a row for which its tools stay offered: a call starts it again
)

var (
	errStarting = errors.New("it is still starting")
	errClosed   = errors.New("the worker stops")
	errDeaf     = errors.New("it answers nothing since a call was given up, and has not ended yet")
)

// server is a server as one user of it sees it: a session, or all of them.
type server struct {
	o    *Options
	name string
	with config.MCPServer

	mu       sync.Mutex
	link     *link
	starting chan struct{} // closed when the attempt to start has ended; nil: there is none
	err      error         // why there is no link
	failures int           // in a row
	retry    time.Time     // not before
	since    time.Time     // what is the case now
	legacy   bool
	known    Offer // of the last connection
	closed   bool
	calls    int // that run
	used     time.Time
}

// pausedError says that a server has failed and is not tried again at once.
type pausedError struct {
	cause error
	until time.Time
}

func (e *pausedError) Error() string { return e.cause.Error() }
func (e *pausedError) Unwrap() error { return e.cause }

// get returns the connection, made if there is none. It waits for that until ctx ends; the attempt goes on.
func (s *server) get(ctx context.Context) (*link, error) {
	s.mu.Lock()
	s.used = time.Now()
	switch {
	case s.closed:
		s.mu.Unlock()
		return nil, errClosed
	case s.link != nil:
		defer s.mu.Unlock()
		return s.link, nil
	case s.starting == nil && time.Now().Before(s.retry):
		defer s.mu.Unlock()
		return nil, &pausedError{s.err, s.retry}
	case s.starting == nil:
		s.starting, s.since = make(chan struct{}), time.Now()
		go s.start()
	}
	starting := s.starting
	s.mu.Unlock()
	select {
	case <-starting:
	case <-ctx.Done():
		return nil, errStarting
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil, s.err
	}
	return s.link, nil
}

// overdue tells whether an attempt to start takes longer than offers wait: each of them would wait for it again.
func (s *server) overdue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starting != nil && time.Since(s.since) > s.o.Offer
}

// patient is get for who has time until a failed server is tried again.
func (s *server) patient(ctx context.Context) (*link, error) {
	l, err := s.get(ctx)
	var paused *pausedError
	if !errors.As(err, &paused) || time.Until(paused.until) > s.o.Patience {
		return l, err
	}
	select {
	case <-time.After(time.Until(paused.until)):
		return s.get(ctx)
	case <-ctx.Done():
		return nil, err
	}
}

// trusted is patient for who is about to call: it waits until it is known whether a server that was left with a call goes on.
func (s *server) trusted(ctx context.Context) (*link, error) {
	for {
		l, err := s.patient(ctx)
		if err != nil {
			return nil, err
		}
		deaf, err := l.trust.verdict(ctx)
		if err != nil || !deaf {
			return l, err
		}
		select {
		case <-l.noted:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(goneTime):
			return nil, errDeaf
		}
	}
}

func (s *server) start() {
	ctx, cancel := context.WithTimeout(context.Background(), s.with.StartTimeout)
	defer cancel()
	l, err := dial(ctx, s.o, s.name, s.with, s.legacy)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.starting)
	s.starting, s.since = nil, time.Now()
	switch {
	case err != nil && ctx.Err() != nil:
		s.legacy = !s.legacy // it may be waiting for the other beginning
		s.failed(fmt.Errorf("it did not start within %v (%w)", s.with.StartTimeout, err))
	case err != nil:
		s.failed(err)
	case s.closed:
		l.end()
		s.err = errClosed
	default:
		s.link, s.err = l, nil
		go s.watch(l)
	}
}

// failed notes a failure; the caller holds the lock.
func (s *server) failed(err error) {
	wait := min(s.o.Retry<<min(s.failures, 20), maxRetry)
	s.failures++
	s.err, s.retry = err, time.Now().Add(wait)
	s.o.Log.Warn("MCP server failed", "server", s.name, "error", s.o.Redact(err.Error()), "retry", wait)
}

// watch notes the end of a connection.
func (s *server) watch(l *link) {
	defer close(l.noted)
	<-l.gone
	err := l.peer.why(s.o, errors.New("its connection ended"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l {
		return
	}
	s.link, s.since = nil, time.Now()
	if time.Since(l.began) > steadyTime {
		s.failures = 0
	}
	s.failed(err)
}

// running counts a call until the returned function is called.
func (s *server) running() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls--
		s.used = time.Now()
		if s.link != nil {
			s.failures = 0
		}
	}
}

// idle tells whether nobody has used it for that time.
func (s *server) idle(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls == 0 && time.Since(s.used) > d
}

// close ends it for good and waits for that, but not for long.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	l.end()
	if p, ok := l.peer.(*process); ok {
		<-p.exited
	}
}
