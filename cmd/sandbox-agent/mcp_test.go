package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestTheVerbMCP(t *testing.T) {
	f := newFake()
	var result editors.MCPResult
	var asked []editors.MCPParams
	editors.Handle(&f.mux, editors.MCP, func(_ context.Context, p editors.MCPParams) (editors.MCPResult, error) {
		asked = append(asked, p)
		return result, nil
	})
	require.Contains(t, runVerb(t, f, "mcp").stderr, "No MCP server is configured")
	result.Servers = []editors.MCPServer{
		{Name: "docs", State: "failed", Target: "https://x\x1b[2J", PerSession: true, Reason: "it is gone", Remedy: "Try it by hand."},
		{
			Name: "notes", State: "ready", Target: "notes stdio", LeftOut: []string{"bad: no"},
			Tools: []editors.MCPTool{{Name: "mcp__notes__get", Description: "Gets\na note.", ReadOnly: true}, {Name: "mcp__notes__rm", Destructive: true}},
		},
	}
	require.Equal(t, "docs  failed, one for each session  (https://x[2J)\n  it is gone\n  Try it by hand.\n\n"+
		"notes  ready  (notes stdio)\n  mcp__notes__get (says it only reads)  Gets a note.\n  mcp__notes__rm (says it may destroy)\n  left out: bad: no\n",
		runVerb(t, f, "mcp", "--no-start").stdout)
	require.Equal(t, []editors.MCPParams{{Start: true}, {}}, asked)
}
