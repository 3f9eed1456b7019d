// This file tells that what workspaces say about MCP servers does not count.

package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// workspaceFiles are where workspaces name MCP servers for other programs.
var workspaceFiles = []string{".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".sandbox-agent/mcp.json"}

// Ignored tells, in a sentence, of files in a workspace folder that name MCP servers. They are not read: a server runs outside
// of the sandbox, and who writes into the folder could run anything so.
func Ignored(folder string) []string {
	var found []string
	for _, name := range workspaceFiles {
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil && !info.IsDir() {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"The workspace names MCP servers in %s; that does not count, since they would run outside of the sandbox: those that you want belong into your own configuration.",
		strings.Join(found, ", "))}
}
