// This file handles initialize: who the client is, what it can do, and what this server offers.

package lsp

import (
	"context"
	"encoding/json"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"sandboxagent/editors"
)

// abilities are what a client says it can do, as far as it matters here.
type abilities struct {
	WorkDoneProgress bool
	ShowDocument     bool
	Configuration    bool
	ApplyEdit        bool
}

// initializeParams is the part of the LSP's InitializeParams that matters. The full type of go.lsp.dev/protocol refuses
// clients that are newer than itself.
type initializeParams struct {
	RootURI          string                     `json:"rootUri"`
	RootPath         string                     `json:"rootPath"`
	WorkspaceFolders []protocol.WorkspaceFolder `json:"workspaceFolders"`
	ClientInfo       protocol.ClientInfo        `json:"clientInfo"`
	Trace            string                     `json:"trace"`
	Capabilities     json.RawMessage            `json:"capabilities"`
	Options          json.RawMessage            `json:"initializationOptions"`
}

// clientOptions are the initializationOptions.
type clientOptions struct {
	ClientName      string `json:"clientName"`
	ExecuteCommands *bool  `json:"executeCommands"`
}

// serverCapabilities adds what go.lsp.dev/protocol does not know.
type serverCapabilities struct {
	PositionEncoding string `json:"positionEncoding"`
	protocol.ServerCapabilities
}

// extension is capabilities.experimental.sandboxAgent.
type extension struct {
	Version string         `json:"version"`
	Limits  editors.Limits `json:"limits"`
	Description
}

func (c *client) initialize(ctx context.Context, raw json.RawMessage) (any, error) {
	var p initializeParams
	if err := json.Unmarshal(raw, &p); err != nil {
		c.life.undo()
		return nil, editors.Errorf(editors.CodeInvalidParams, "The params of initialize cannot be decoded: %w", err)
	}
	var o clientOptions
	if json.Unmarshal(p.Options, &o) != nil {
		o = clientOptions{} // some clients send an empty array for an empty table
	}
	c.can = abilitiesOf(p.Capabilities)
	c.trace.set(p.Trace)
	if name := firstOf(o.ClientName, p.ClientInfo.Name); name != "" {
		c.name = clip(name, 100)
	}
	c.conn = c.options.Connect(c.name, c.sendEvent)
	go c.watchUnsaved()
	c.setFolders(p.folders())
	return struct {
		Capabilities serverCapabilities  `json:"capabilities"`
		ServerInfo   protocol.ServerInfo `json:"serverInfo"`
	}{
		c.capabilities(ctx, o.ExecuteCommands == nil || *o.ExecuteCommands),
		protocol.ServerInfo{Name: editors.Name, Version: editors.Version},
	}, nil
}

// folders returns the workspace folders, whichever way the client gave them.
func (p initializeParams) folders() []string {
	var folders []string
	for _, f := range p.WorkspaceFolders {
		folders = append(folders, f.URI)
	}
	switch {
	case len(folders) > 0:
		return folders
	case p.RootURI != "":
		return []string{p.RootURI}
	case p.RootPath != "":
		return []string{string(uri.File(p.RootPath))}
	}
	return nil
}

func abilitiesOf(raw json.RawMessage) abilities {
	var p struct {
		Window struct {
			WorkDoneProgress bool `json:"workDoneProgress"`
			ShowDocument     struct {
				Support bool `json:"support"`
			} `json:"showDocument"`
		} `json:"window"`
		Workspace struct {
			Configuration bool `json:"configuration"`
			ApplyEdit     bool `json:"applyEdit"`
		} `json:"workspace"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return abilities{}
	}
	return abilities{p.Window.WorkDoneProgress, p.Window.ShowDocument.Support, p.Workspace.Configuration, p.Workspace.ApplyEdit}
}

func (c *client) capabilities(ctx context.Context, executeCommands bool) serverCapabilities {
	d := c.options.Describe(ctx)
	d.Backends, d.Models = append([]editors.BackendInfo{}, d.Backends...), append([]editors.ModelInfo{}, d.Models...) // never null
	caps := serverCapabilities{PositionEncoding: "utf-16", ServerCapabilities: protocol.ServerCapabilities{
		TextDocumentSync: &protocol.TextDocumentSyncOptions{
			OpenClose: true,
			Change:    protocol.TextDocumentSyncKindIncremental,
			Save:      &protocol.SaveOptions{},
		},
		Workspace: &protocol.ServerCapabilitiesWorkspace{
			WorkspaceFolders: &protocol.ServerCapabilitiesWorkspaceFolders{Supported: true, ChangeNotifications: true},
		},
		Experimental: map[string]any{"sandboxAgent": extension{
			Version: editors.Version,
			Limits: editors.Limits{
				MessageBytes: editors.MaxMessageBytes, HistoryPage: editors.MaxHistoryPage, TextBytes: editors.MaxTextBytes, Queue: editors.MaxQueued,
			},
			Description: d,
		}},
	}}
	if executeCommands {
		caps.ExecuteCommandProvider = &protocol.ExecuteCommandOptions{Commands: commandNames()}
	}
	return caps
}

// commandNames lists the names for workspace/executeCommand.
func commandNames() []string {
	var names []string
	for _, command := range editors.Commands() {
		names = append(names, editors.CommandPrefix+command.Name)
	}
	return names
}

// initialized is the client's sign that it takes requests: now its settings can be asked for.
func (c *client) initialized(json.RawMessage) error {
	c.pullSettings()
	return nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
