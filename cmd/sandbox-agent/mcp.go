// This file is the verb mcp.

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) mcpVerb() *cobra.Command {
	var look bool
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "List the MCP servers of your configuration, how they are, and their tools",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, c lsp.Conn, _ []string) error {
			result, err := call(ctx, c, editors.MCP, editors.MCPParams{Start: !look})
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printServers(result.Servers) })
		}),
	}
	cmd.Flags().BoolVar(&look, "no-start", false, "start nothing: tell how they are now")
	return cmd
}

func (a *app) printServers(servers []editors.MCPServer) {
	if len(servers) == 0 {
		a.notice("No MCP server is configured; write a section [mcp.NAME] into your config.toml.")
		return
	}
	for i, s := range servers {
		if i > 0 {
			a.printf("\n")
		}
		a.printServer(s)
	}
}

func (a *app) printServer(s editors.MCPServer) {
	state := s.State
	if s.PerSession {
		state += ", one for each session"
	}
	a.printf("%s  %s  (%s)\n", s.Name, state, oneLine(s.Target, 200))
	for _, text := range []string{s.Reason, s.Remedy} {
		if text != "" {
			a.printf("  %s\n", oneLine(text, 1000))
		}
	}
	for _, t := range s.Tools {
		var said []string
		if t.ReadOnly {
			said = append(said, "says it only reads")
		}
		if t.Destructive {
			said = append(said, "says it may destroy")
		}
		hint := ""
		if len(said) > 0 {
			hint = fmt.Sprintf(" (%s)", strings.Join(said, ", "))
		}
		a.printf("%s\n", strings.TrimRight(fmt.Sprintf("  %s%s  %s", t.Name, hint, oneLine(t.Description, 100)), " "))
	}
	for _, text := range s.LeftOut {
		a.printf("  left out: %s\n", oneLine(text, 300))
	}
}
