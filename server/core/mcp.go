// This file tells of the user's MCP servers, and examines them.

package core

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/mcp"
)

// serversTime is how long servers that are started are waited for; those that take longer are told to be starting.
const serversTime = 30 * time.Second

// mcp lists the servers. Only the worker starts some; without one it says what the configuration says.
func (c *Conn) mcp(ctx context.Context, p editors.MCPParams) (editors.MCPResult, error) {
	if p.Start && len(c.core.opts.Config.MCP) > 0 {
		if _, err := c.core.link.engine(ctx); err != nil && !c.core.live.connected() { // which starts the worker
			return editors.MCPResult{}, err
		}
	}
	patience := catalogTime
	if p.Start {
		patience = serversTime
	}
	return editors.MCPResult{Servers: c.core.servers(ctx, p, patience)}, nil
}

// servers are those of the configuration, as the worker finds them.
func (c *Core) servers(ctx context.Context, p editors.MCPParams, patience time.Duration) []editors.MCPServer {
	var known editors.MCPResult
	if c.workerAlive() {
		err := bounded(ctx, patience, func(ctx context.Context) error { return c.live.await(ctx, CallServers, p, &known) })
		if err == nil {
			return c.compared(known.Servers)
		}
	}
	out := []editors.MCPServer{}
	reason, remedy := c.unchecked()
	for _, name := range slices.Sorted(maps.Keys(c.opts.Config.MCP)) {
		s := mcp.Describe(name, c.opts.Config.MCP[name]).Shown()
		if s.State == string(mcp.Idle) {
			s.State, s.Reason, s.Remedy = "unknown", reason, remedy
		}
		out = append(out, s)
	}
	return out
}

// compared adds what the configuration says otherwise than the worker, which has read it when it began.
func (c *Core) compared(known []editors.MCPServer) []editors.MCPServer {
	const remedy = "Run: sandbox-agent worker stop; the next one reads the configuration."
	said := c.opts.Config.MCP
	for i := range known {
		s := &known[i]
		server, ok := said[s.Name]
		if want := mcp.Describe(s.Name, server); !ok || want.Target != s.Target || want.PerSession != s.PerSession || (want.State == mcp.Off) != (s.State == string(mcp.Off)) {
			s.Reason, s.Remedy = "the configuration has changed since the worker began", remedy
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if slices.ContainsFunc(known, func(s editors.MCPServer) bool { return s.Name == name }) {
			continue
		}
		s := mcp.Describe(name, said[name]).Shown()
		s.State, s.Reason, s.Remedy = "unknown", "the worker began before it was configured", remedy
		known = append(known, s)
	}
	return known
}

// checkServers tells how the MCP servers are. It starts none.
func (c *Conn) checkServers(ctx context.Context) []editors.Check {
	var checks []editors.Check
	for _, s := range c.core.servers(ctx, editors.MCPParams{}, catalogTime) {
		checks = append(checks, checkServer(s))
	}
	c.mu.Lock()
	folders := slices.Clone(c.folders)
	c.mu.Unlock()
	for _, uri := range folders {
		dir, err := folderPath(uri)
		if err != nil {
			continue
		}
		for _, notice := range mcp.Ignored(dir) {
			checks = append(checks, check("workspace mcp", checkOK, "", "%s: %s", dir, notice))
		}
	}
	return checks
}

func checkServer(s editors.MCPServer) editors.Check {
	detail := fmt.Sprintf("%s (%s): %s", s.Name, s.Target, s.State)
	if s.State == string(mcp.Ready) {
		detail += fmt.Sprintf(", %d tools", len(s.Tools))
	}
	if s.Reason != "" {
		detail += ": " + strings.TrimSuffix(s.Reason, ".")
	}
	switch {
	case s.State == string(mcp.Failed), s.Remedy != "":
		return check("mcp", checkWarning, cmp.Or(s.Remedy, "Run: sandbox-agent mcp"), "%s", detail)
	case len(s.LeftOut) > 0:
		return check("mcp", checkWarning, "See which with: sandbox-agent mcp", "%s; some tools are left out", detail)
	}
	return check("mcp", checkOK, "", "%s", detail)
}
