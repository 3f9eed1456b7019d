// This file has the params and result of the command on MCP servers.

package editors

import "time"

// MCPParams asks how the MCP servers are that the user has configured.
type MCPParams struct {
	Start bool `json:"start,omitempty"` // start those that do not run, to list their tools
}

// MCPResult lists them by name.
type MCPResult struct {
	Servers []MCPServer `json:"servers"`
}

// MCPServer is a server outside of the sandbox whose tools the agent may ask to use.
type MCPServer struct {
	Name       string     `json:"name"`
	Transport  string     `json:"transport"`            // stdio or http
	Target     string     `json:"target"`               // the command with its arguments, or the URL
	PerSession bool       `json:"perSession,omitempty"` // every session has one of its own
	State      string     `json:"state"`                // off, idle (not needed yet), starting, ready, failed or unknown (no worker runs)
	Reason     string     `json:"reason,omitempty"`
	Remedy     string     `json:"remedy,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
	Program    string     `json:"program,omitempty"` // what the server calls itself
	Tools      []MCPTool  `json:"tools"`             // as they were listed last
	LeftOut    []string   `json:"leftOut,omitempty"` // tools that the agent is not told of, and why
}

// MCPTool is a tool of a server. All but its name is what the server says; nobody has checked it.
type MCPTool struct {
	Name        string `json:"name"` // for the agent, and in patterns: mcp__SERVER__TOOL
	Tool        string `json:"tool"` // as the server calls it
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	ReadOnly    bool   `json:"readOnly,omitempty"`    // it is said to change nothing
	Destructive bool   `json:"destructive,omitempty"` // it is said that it may destroy something
}
