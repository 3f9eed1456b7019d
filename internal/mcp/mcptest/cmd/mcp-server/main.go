// Command mcp-server is an MCP server for tests, of the kind that the variable mcptest.Variable names.
package main

import (
	"fmt"
	"os"

	"sandboxagent/internal/mcp/mcptest"
)

func main() {
	mcptest.Main()
	fmt.Fprintln(os.Stderr, "set "+mcptest.Variable)
	os.Exit(2)
}
