// This file holds one connection to a server, from its beginning to its end.

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
)

const (
	maxMessage = 16 << 20 // bytes of one message of a server
	listTime   = 10 * time.Second
	maxPages   = 50

	// legacyVersion is the newest protocol that begins with a handshake.
	legacyVersion = "2025-11-25"
)

// peer is what a connection goes to.
type peer interface {
	transport() sdk.Transport
	end()                            // for good; it may take some seconds
	why(o *Options, err error) error // err, and what is known of its cause
}

// link is a connection to a server.
type link struct {
	name    string
	with    config.MCPServer
	grace   time.Duration
	peer    peer
	session *sdk.ClientSession
	gone    chan struct{} // closed when the connection has ended
	began   time.Time
	stale   atomic.Bool // the server says that its tools have changed
	told    sync.Map    // progress token → func(string)
	ending  sync.Once
	trust   trust
	noted   chan struct{} // closed when the server has taken note that the connection has ended

	mu    sync.Mutex
	tools []Tool
	left  []string
}

// dial connects to a server and lists its tools. With legacy it begins with a handshake at once, for servers that do not
// answer to anything before it.
func dial(ctx context.Context, o *Options, name string, c config.MCPServer, legacy bool) (*link, error) {
	p, err := reach(o, name, c)
	if err != nil {
		return nil, err
	}
	l := &link{name: name, with: c, grace: o.Grace, peer: p, gone: make(chan struct{}), noted: make(chan struct{}), began: time.Now()}
	client := sdk.NewClient(&sdk.Implementation{Name: editors.Name, Version: editors.Version}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{}, // it may ask neither us nor the user anything
		Logger:                      slog.New(slog.DiscardHandler),
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { l.stale.Store(true) },
		ProgressNotificationHandler: l.progress,
	})
	opts := &sdk.ClientSessionOptions{}
	if legacy {
		opts.ProtocolVersion = legacyVersion
	}
	l.session, err = within(ctx, func(ctx context.Context) (*sdk.ClientSession, error) { return client.Connect(ctx, p.transport(), opts) })
	if err != nil {
		err = p.why(o, err)
		go p.end()
		return nil, fmt.Errorf("it does not begin to speak MCP: %w", err)
	}
	go func() {
		_ = l.session.Wait()
		close(l.gone)
		l.end()
	}()
	if err := l.list(ctx); err != nil {
		err = p.why(o, err)
		l.end()
		return nil, fmt.Errorf("it does not list its tools: %w", err)
	}
	return l, nil
}

func reach(o *Options, name string, c config.MCPServer) (peer, error) {
	if c.URL != "" {
		return reachRemote(o, c)
	}
	return startProcess(o, name, c)
}

// end ends the connection, and the program behind it, without waiting for it.
func (l *link) end() {
	l.ending.Do(func() {
		go func() { _ = l.session.Close() }() // which a server that does not answer may hold up
		go l.peer.end()
	})
}

// offered returns the tools, listed anew if they have changed. If that fails they are what they were.
func (l *link) offered(ctx context.Context) (tools []Tool, left []string) {
	if l.stale.Load() {
		ctx, cancel := context.WithTimeout(ctx, listTime)
		defer cancel()
		if err := l.list(ctx); err != nil {
			l.stale.Store(true)
		}
	}
	return l.known()
}

// known returns the tools as they were listed last.
func (l *link) known() (tools []Tool, left []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools, l.left
}

func (l *link) list(ctx context.Context) error {
	l.stale.Store(false)
	var listed []*sdk.Tool
	p := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := within(ctx, func(ctx context.Context) (*sdk.ListToolsResult, error) { return l.session.ListTools(ctx, p) })
		if err != nil {
			return err
		}
		listed = append(listed, page.Tools...)
		if page.NextCursor == "" || len(listed) > maxListed {
			break
		}
		p = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	tools, left := catalog(l.name, listed[:min(len(listed), maxListed)], l.with.Tools)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools, l.left = tools, left
	return nil
}

// call calls a tool and waits for its answer. The error says nothing about whether the server has received the call.
func (l *link) call(ctx context.Context, c Call) (*sdk.CallToolResult, error) {
	p := &sdk.CallToolParams{Name: c.Tool, Arguments: json.RawMessage(c.Arguments)}
	if c.Progress != nil {
		p.SetProgressToken(c.ID)
		l.told.Store(c.ID, c.Progress)
		defer l.told.Delete(c.ID)
	}
	n := l.trust.begin()
	r, err := within(ctx, func(ctx context.Context) (*sdk.CallToolResult, error) { return l.session.CallTool(ctx, p) })
	if ctx.Err() != nil {
		l.trust.abandon(n, l.answers, l.end)
	} else {
		l.trust.finish(n)
	}
	return r, err
}

// answers reports whether the server does anything at all, within the time that it has for that.
func (l *link) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), l.grace)
	defer cancel()
	_, err := within(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.session.Ping(ctx, nil) })
	return !errors.Is(err, context.DeadlineExceeded)
}

// progress passes on how far a call is.
func (l *link) progress(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	tell, ok := l.told.Load(fmt.Sprint(r.Params.ProgressToken))
	if !ok {
		return
	}
	text := fmt.Sprintf("%.4g", r.Params.Progress)
	if r.Params.Total > 0 {
		text += fmt.Sprintf(" of %.4g", r.Params.Total)
	}
	if r.Params.Message != "" {
		text += ": " + shown(r.Params.Message, 200)
	}
	tell.(func(string))(text)
}

// within runs f and returns when that does or ctx ends: whoever writes to a server that does not read waits for ever.
func within[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f(ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
