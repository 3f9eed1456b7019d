// This file handles the requests sandboxAgent/<name>: it adds what only the editor's side knows and hands on.

package lsp

import (
	"bytes"
	"context"
	"encoding/json"

	"sandboxagent/editors"
)

func (c *client) command(ctx context.Context, name string, raw json.RawMessage) (any, error) {
	if c.options.Broken != nil && (name != editors.Doctor.Name || len(c.conn.Mux().Missing()) > 0) {
		return nil, c.options.Broken
	}
	raw = unwrap(raw)
	switch name {
	case editors.New.Name:
		raw = c.settings.fill(raw)
	case editors.Ask.Name, editors.ShowContext.Name:
		var err error
		if raw, err = withUnsaved(raw, c.documents.Unsaved(), c.folders.list(), c.serveBuffers()); err != nil {
			return nil, err
		}
	case editors.Restore.Name, editors.Switch.Name, editors.Adopt.Name:
		ctx = c.options.Unsaved(ctx, filesOfDocuments(c.documents.Unsaved()))
	}
	result, err := c.conn.Mux().Dispatch(ctx, name, raw)
	if err == nil && (name == editors.Attach.Name || name == editors.Detach.Name) {
		c.attached.set(sessionOf(raw), name == editors.Attach.Name)
	}
	return result, err
}

// unwrap takes the one object out of an array, as some clients can only send arrays.
func unwrap(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if bytes.HasPrefix(raw, []byte("[")) && json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		return list[0]
	}
	return raw
}

// sessionOf returns the sessionId in params, if there is one.
func sessionOf(raw json.RawMessage) string {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return ""
	}
	return p.SessionID
}
