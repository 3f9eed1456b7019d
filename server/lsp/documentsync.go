// This file handles the notifications by which an editor keeps its open documents in sync.

package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// textDocument names a document. The types of go.lsp.dev/protocol are not used here: they cannot tell a change without
// a range from one at the start of the document.
type textDocument struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Version    *int   `json:"version"`
	Text       string `json:"text"`
}

func (t textDocument) version() int {
	if t.Version == nil {
		return 0
	}
	return *t.Version
}

func (c *client) didOpen(raw json.RawMessage) error {
	var p struct {
		TextDocument textDocument `json:"textDocument"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding the opened document: %w", err)
	}
	doc := p.TextDocument
	c.documents.Open(doc.URI, doc.LanguageID, doc.version(), doc.Text)
	return nil
}

func (c *client) didChange(raw json.RawMessage) error {
	var p struct {
		TextDocument   textDocument `json:"textDocument"`
		ContentChanges []change     `json:"contentChanges"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding a document's changes: %w", err)
	}
	if !c.documents.Change(p.TextDocument.URI, p.TextDocument.version(), p.ContentChanges) {
		return fmt.Errorf("%s changed but is not open", p.TextDocument.URI)
	}
	return nil
}

func (c *client) didSave(raw json.RawMessage) error {
	var p struct {
		TextDocument textDocument `json:"textDocument"`
		Text         *string      `json:"text"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding the saved document: %w", err)
	}
	c.documents.Save(p.TextDocument.URI, p.Text)
	return nil
}

func (c *client) didClose(raw json.RawMessage) error {
	var p struct {
		TextDocument textDocument `json:"textDocument"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding the closed document: %w", err)
	}
	c.documents.Close(p.TextDocument.URI)
	return nil
}

// tooLargeNotification is told of notifications that were skipped. A document whose text was in one is forgotten: to
// work with the file on disk is better than to work with a wrong copy.
func (c *client) tooLargeNotification(o *outline) {
	c.log.Warn("a notification was too large and is ignored", "method", o.Method, "uri", o.URI)
	var uri string
	if strings.HasPrefix(o.Method, `"textDocument/`) && json.Unmarshal([]byte(o.URI), &uri) == nil {
		c.documents.Close(uri)
	}
}
