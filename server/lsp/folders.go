// This file keeps the workspace folders of a client.

package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"go.lsp.dev/protocol"
)

// folders is the list of open folders, in the client's order.
type folders struct {
	mu   sync.Mutex
	uris []string
}

func (f *folders) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.uris)
}

func (f *folders) set(uris []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uris = slices.Clone(uris)
}

func (c *client) setFolders(uris []string) {
	c.folders.set(uris)
	c.conn.SetFolders(uris)
}

func (c *client) didChangeFolders(raw json.RawMessage) error {
	var p protocol.DidChangeWorkspaceFoldersParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding the changed folders: %w", err)
	}
	uris := c.folders.list()
	for _, removed := range p.Event.Removed {
		uris = slices.DeleteFunc(uris, func(uri string) bool { return uri == removed.URI })
	}
	for _, added := range p.Event.Added {
		if !slices.Contains(uris, added.URI) {
			uris = append(uris, added.URI)
		}
	}
	c.setFolders(uris)
	return nil
}
