// Package mcp gives models the tools of MCP servers: programs of the user's on this host, spoken to over stdin and stdout, and
// servers that are reached by streamable HTTP. Which ones there are is said by the user's configuration alone.
//
// Servers work outside of every sandbox, and nobody vouches for what they say: names, schemas, descriptions and results are
// bounded and cleaned, and what a server says of its tools allows nothing. None can hold up who uses it: all waiting ends with
// a context or a time-out, and one that fails is started again, ever later.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxagent/internal/config"
)

// Limits of what all servers bring into one request. OpenAI takes 128 tools.
const (
	maxOffered      = 100
	maxOfferedBytes = 96 << 10
	maxNotices      = 20
)

const (
	idleTime = 30 * time.Minute // after which a server of a session ends that the session does not use
	patience = 5 * time.Second
	grace    = 5 * time.Second
)

// Options configures a Pool.
type Options struct {
	Servers  map[string]config.MCPServer
	Dir      string                           // where programs run that have no directory of their own choice
	Env      func(name string) (string, bool) // of this process
	Variable func(name string) string         // of the configuration: environment and secrets; "" when there is none
	Redact   func(text string) string         // takes secrets out of what is told; nil: nothing
	Log      *slog.Logger                     // nil: nothing
	Offer    time.Duration                    // how long Offer waits for servers that start; 0: 5 s
	Retry    time.Duration                    // until a failed server is started again, at first; 0: 1 s
	Patience time.Duration                    // longest time for which a call waits for that; 0: 5 s
	Grace    time.Duration                    // how long a server may answer nothing after a call that was given up; 0: 5 s
}

// Pool are all servers of a worker. Sessions share a server, unless it is configured to be one for each: its state is then
// its session's. Its methods may be called at the same time.
type Pool struct {
	o Options

	mu      sync.Mutex
	servers map[key]*server
	closed  bool
	done    chan struct{}
}

// key names a server as one user sees it; session is empty for one that is shared.
type key struct{ name, session string }

// New makes a pool. It starts nothing.
func New(o Options) *Pool {
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for d, otherwise := range map[*time.Duration]time.Duration{&o.Offer: patience, &o.Retry: firstRetry, &o.Patience: patience, &o.Grace: grace} {
		if *d == 0 {
			*d = otherwise
		}
	}
	p := &Pool{o: o, servers: map[key]*server{}, done: make(chan struct{})}
	go p.sweep()
	return p
}

// server returns the server of a name for a session, nil if there is none.
func (p *Pool) server(name, session string) *server {
	c, ok := p.o.Servers[name]
	if !ok || c.Disabled {
		return nil
	}
	k := key{name: name}
	if c.PerSession {
		k.session = session
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[k]
	if s == nil {
		s = &server{o: &p.o, name: name, with: c, closed: p.closed, used: time.Now()}
		p.servers[k] = s
	}
	return s
}

// Offer is what a session's model may be told of.
type Offer struct {
	Tools   []Tool   // in the order of their servers' names
	Notices []string // for the user, a sentence each: which servers' tools are missing, and why
}

// Offer starts the servers that do not run and returns the tools of those that are there within Options.Offer.
func (p *Pool) Offer(ctx context.Context, session string) Offer {
	ctx, cancel := context.WithTimeout(ctx, p.o.Offer)
	defer cancel()
	names := slices.Sorted(maps.Keys(p.o.Servers))
	offers := make([]Offer, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		if s := p.server(name, session); s != nil {
			asking.Go(func() { offers[i] = s.offer(ctx) })
		}
	}
	asking.Wait()
	return p.join(names, offers)
}

// offer lists the tools of a server.
func (s *server) offer(ctx context.Context) Offer {
	l, err := (*link)(nil), errStarting
	if !s.overdue() {
		l, err = s.get(ctx)
	}
	s.mu.Lock()
	known := s.known
	if s.failures > forgiven {
		known = Offer{}
	}
	s.mu.Unlock()
	switch {
	case err != nil && len(known.Tools) > 0:
		return known
	case errors.Is(err, errStarting):
		return Offer{Notices: []string{fmt.Sprintf("The MCP server %s is still starting; its tools come with a later step.", s.name)}}
	case err != nil:
		return Offer{Notices: []string{fmt.Sprintf("The tools of the MCP server %s are missing: %s.", s.name, s.o.Redact(err.Error()))}}
	}
	tools, left := l.offered(ctx)
	out := Offer{Tools: tools}
	if len(left) > 0 {
		out.Notices = []string{fmt.Sprintf("Some tools of the MCP server %s are left out; see: sandbox-agent mcp", s.name)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = out
	return out
}

// join puts offers together, within what a request may hold.
func (p *Pool) join(names []string, offers []Offer) Offer {
	var all Offer
	size := 0
	for i, o := range offers {
		all.Notices = append(all.Notices, o.Notices...)
		bytes := 0
		for _, t := range o.Tools {
			bytes += len(t.Description) + sizeOf(t.Schema)
		}
		if len(all.Tools)+len(o.Tools) > maxOffered || size+bytes > maxOfferedBytes {
			all.Notices = append(all.Notices, fmt.Sprintf(
				"The tools of the MCP server %s are left out, since models are told of at most %d tools and %d KiB; choose some by tools = […].",
				names[i], maxOffered, maxOfferedBytes>>10))
			continue
		}
		all.Tools, size = append(all.Tools, o.Tools...), size+bytes
	}
	all.Notices = all.Notices[:min(len(all.Notices), maxNotices)]
	return all
}

// Size is about how many bytes of a session's requests are tools, as far as they are known without asking.
func (p *Pool) Size(session string) int {
	size := 0
	for name := range p.o.Servers {
		s := p.server(name, session)
		if s == nil {
			continue
		}
		s.mu.Lock()
		l := s.link
		s.mu.Unlock()
		if l == nil {
			continue
		}
		tools, _ := l.known()
		for _, t := range tools {
			size += len(t.Name) + len(t.Definition().Description) + sizeOf(t.Schema)
		}
	}
	return min(size, 2*maxOfferedBytes)
}

// Call is one call of a server's tool.
type Call struct {
	ID        string // different from that of every other call
	Session   string
	Server    string
	Tool      string // as its server calls it
	Arguments []byte // a JSON object
	// Begin is called right before the call is sent. If it fails nothing is sent.
	Begin func() error
	// Progress gets what the server says of how far it is, from other goroutines. May be nil.
	Progress func(text string)
}

// Error says why a call has no result.
type Error struct {
	Sent    bool // the server may have got it: what it has done is not known
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Call calls a tool, once, and waits for its result: until ctx ends, the server's time-out is over, or the connection is lost.
// Every error is an *Error. A server that refuses a call has answered: that is a Result.
func (p *Pool) Call(ctx context.Context, c Call) (Result, error) {
	s := p.server(c.Server, c.Session)
	if s == nil {
		return Result{}, &Error{Message: fmt.Sprintf("There is no MCP server %s in the configuration any more.", c.Server)}
	}
	defer s.running()()
	l, err := s.trusted(ctx)
	if err != nil {
		return Result{}, &Error{Message: fmt.Sprintf("The MCP server %s is not there: %s.", c.Server, p.o.Redact(err.Error()))}
	}
	if err := c.Begin(); err != nil {
		return Result{}, &Error{Message: fmt.Sprintf("The call was not made, since it could not be noted: %v.", err)}
	}
	timed, cancel := context.WithTimeout(ctx, s.with.Timeout)
	defer cancel()
	r, err := l.call(timed, c)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		out := resultOf(r)
		out.Text = p.o.Redact(out.Text)
		return out, nil
	case ctx.Err() != nil:
		return Result{}, &Error{Sent: true, Message: "The call was interrupted, and the server was told so."}
	case timed.Err() != nil:
		return Result{}, &Error{Sent: true, Message: fmt.Sprintf("The server did not answer within %v, and was told to stop.", s.with.Timeout)}
	case errors.Is(err, sdk.ErrSessionMissing):
		l.end()
		return Result{}, &Error{Message: fmt.Sprintf("The MCP server %s has forgotten us, so it did not take the call; try again.", c.Server)}
	case errors.As(err, &refused):
		return Result{Error: true, Text: fmt.Sprintf("The server refuses the call: %s (%d)", prose(refused.Message), refused.Code)}, nil
	}
	err = l.peer.why(&p.o, err)
	l.end()
	return Result{}, &Error{Sent: true, Message: fmt.Sprintf("The connection to the MCP server %s was lost: %s.", c.Server, p.o.Redact(err.Error()))}
}

// sweep ends the servers of sessions that do not use them.
func (p *Pool) sweep() {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.drop(func(k key, s *server) bool { return k.session != "" && s.idle(idleTime) })
		case <-p.done:
			return
		}
	}
}

// Leave ends the servers that a session has for itself.
func (p *Pool) Leave(session string) {
	p.drop(func(k key, _ *server) bool { return session != "" && k.session == session })
}

// Close ends all servers. It takes some seconds at most; no call may follow.
func (p *Pool) Close() {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if first {
		close(p.done)
	}
	p.drop(func(key, *server) bool { return true })
}

// drop ends servers and forgets them.
func (p *Pool) drop(which func(key, *server) bool) {
	var ending sync.WaitGroup
	defer ending.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.servers {
		if which(k, s) {
			delete(p.servers, k)
			ending.Go(s.close)
		}
	}
}
