// This file says how the servers are, for people.

package mcp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
)

// State is how a server is.
type State string

// The states of servers.
const (
	Off      State = "off"  // by the configuration
	Idle     State = "idle" // nobody has needed it yet
	Starting State = "starting"
	Ready    State = "ready"
	Failed   State = "failed"
)

// Status is a server as people see it.
type Status struct {
	Name       string
	Transport  string // stdio or http
	Target     string // the command with its arguments, or the URL
	PerSession bool
	State      State
	Reason     string
	Remedy     string
	Since      time.Time // zero: since the worker began
	Program    string    // what the server calls itself, and its version
	Tools      []Tool
	LeftOut    []string // tools that the model is not told of, and why
}

// Status tells of all servers, by name. With start it starts those that do not run and waits for them until ctx ends. Of
// servers that each session has for itself it shows one that nobody else uses.
func (p *Pool) Status(ctx context.Context, start bool) []Status {
	names := slices.Sorted(maps.Keys(p.o.Servers))
	out := make([]Status, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			out[i] = Describe(name, p.o.Servers[name])
			if s := p.server(name, ""); s != nil {
				s.describe(ctx, start, &out[i])
			}
		})
	}
	asking.Wait()
	if start {
		p.drop(func(k key, s *server) bool { return s.with.PerSession && k.session == "" })
	}
	return out
}

// Describe is what the configuration alone says of a server.
func Describe(name string, c config.MCPServer) Status {
	s := Status{Name: name, Transport: "stdio", Target: strings.Join(append([]string{c.Command}, c.Args...), " "), PerSession: c.PerSession, State: Idle}
	if c.URL != "" {
		s.Transport, s.Target = "http", c.URL
	}
	if c.Disabled {
		s.State, s.Reason = Off, "the configuration says enabled = false"
	}
	return s
}

// Shown is the status as editors show it.
func (s Status) Shown() editors.MCPServer {
	out := editors.MCPServer{
		Name: s.Name, Transport: s.Transport, Target: s.Target, PerSession: s.PerSession, State: string(s.State), Reason: s.Reason, Remedy: s.Remedy,
		Program: s.Program, Tools: []editors.MCPTool{}, LeftOut: s.LeftOut,
	}
	if !s.Since.IsZero() {
		out.Since = &s.Since
	}
	for _, t := range s.Tools {
		out.Tools = append(out.Tools, editors.MCPTool{
			Name: t.Name, Tool: shown(t.Original, 200), Title: t.Title, Description: t.Description, ReadOnly: t.ReadOnly, Destructive: t.Destructive,
		})
	}
	return out
}

func (s *server) describe(ctx context.Context, start bool, out *Status) {
	if start {
		_, _ = s.get(ctx) // what comes of it is looked at now
	}
	s.mu.Lock()
	l, err := s.link, s.err
	starting := s.starting != nil
	out.Since = s.since
	s.mu.Unlock()
	switch {
	case l != nil:
		out.State = Ready
		if start {
			out.Tools, out.LeftOut = l.offered(ctx)
		} else {
			out.Tools, out.LeftOut = l.known()
		}
		if r := l.session.InitializeResult(); r != nil && r.ServerInfo != nil {
			out.Program = shown(strings.TrimSpace(r.ServerInfo.Name+" "+r.ServerInfo.Version), 100)
		}
	case starting:
		out.State = Starting
	case err != nil:
		out.State, out.Reason, out.Remedy = Failed, s.o.Redact(err.Error()), remedyOf(err)
	}
}

func remedyOf(err error) string {
	var missing *missingError
	var denied *deniedError
	switch {
	case errors.As(err, &missing):
		return "Put " + missing.name + "=… into the .env file beside the configuration."
	case errors.As(err, &denied):
		return "Give it a header, as in headers = { Authorization = \"Bearer ${NAME}\" }, and put NAME=… into the .env file."
	case errors.Is(err, context.DeadlineExceeded):
		return "Try its command in a terminal; if it only takes long, raise start_timeout."
	}
	return "Try it by hand; it is tried again by itself, at the latest after 5 minutes."
}
