// This file has the editor make the agent's changes of documents that stand unsaved in it.

package lsp

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"sandboxagent/editors"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/checkpoint/merge"
	"sandboxagent/internal/patch"
)

// How long an editor may take for a change, and to tell what its document is then.
const (
	editTime   = 45 * time.Second
	changeTime = 2 * time.Second
)

// holding names this server to workers, once it has documents that only it can change. Its zero value is ready.
type holding struct {
	once sync.Once
	name string
}

// serveBuffers begins to take changes of this editor's documents, and returns the name to ask for them by; "" when the editor
// makes none.
func (c *client) serveBuffers() string {
	if c.options.Buffers == nil || !c.can.ApplyEdit {
		return ""
	}
	c.holding.once.Do(func() {
		c.holding.name = rand.Text()
		c.background(func() { c.options.Buffers(c.ctx, c.holding.name, c.applyEdit) })
	})
	return c.holding.name
}

// versioned are the changes of one document, of a version of it.
type versioned struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	Edits []lineEdit `json:"edits"`
}

type lineEdit struct {
	Range   editors.Range `json:"range"`
	NewText string        `json:"newText"`
}

// applyEdit asks the editor for a change: of the very version of its documents that this server knows, joined with what the
// user has typed since the agent looked, or not at all.
func (c *client) applyEdit(ctx context.Context, e buffers.Edit) buffers.Answer {
	var changes []versioned
	texts, conflicts := map[string]string{}, map[string]string{}
	for _, f := range e.Files {
		doc, open := c.documents.Find(f.URI)
		if !open {
			return buffers.Answer{Closed: []string{f.URI}, Reason: "the document was closed meanwhile; read the file again"}
		}
		text, ok := join(doc.Text, f)
		if !ok {
			conflicts[f.URI] = doc.Text
			continue
		}
		texts[f.URI] = text
		v := versioned{Edits: lineEdits(doc.Text, text)}
		v.TextDocument.URI, v.TextDocument.Version = doc.URI, doc.Version
		changes = append(changes, v)
	}
	if len(conflicts) > 0 {
		return buffers.Answer{Now: conflicts, Reason: "the user has changed the same lines meanwhile; read the file again"}
	}
	answer := c.askEdit(ctx, changes)
	if answer.Applied {
		answer.Now = texts
		c.awaitTexts(ctx, texts)
	}
	return answer
}

// join returns the document's text with the agent's change of it; not ok when both changed the same lines. An editor may show
// other line ends than the file has, and a last one that the file lacks.
func join(text string, f buffers.File) (joined string, ok bool) {
	from, to := f.From, f.Text
	if !strings.Contains(text, "\r\n") {
		from, to = strings.ReplaceAll(from, "\r\n", "\n"), strings.ReplaceAll(to, "\r\n", "\n")
	}
	if strings.HasSuffix(text, "\n") && from != "" && !strings.HasSuffix(from, "\n") && !strings.HasSuffix(to, "\n") {
		from, to = from+"\n", to+"\n"
	}
	merged, ok := merge.Texts([]byte(from), []byte(text), []byte(to))
	return string(merged), ok
}

// askEdit has the editor make changes of documents, of all or none.
func (c *client) askEdit(ctx context.Context, changes []versioned) buffers.Answer {
	ctx, cancel := context.WithTimeout(ctx, editTime)
	defer cancel()
	var result struct {
		Applied       bool   `json:"applied"`
		FailureReason string `json:"failureReason"`
	}
	params := map[string]any{"label": "Sandbox Agent", "edit": map[string]any{"documentChanges": changes}}
	var refused *jsonrpc2.Error
	switch err := c.ask(ctx, protocol.MethodWorkspaceApplyEdit, params, &result); {
	case errors.As(err, &refused):
		return buffers.Answer{Reason: clip(refused.Message, 200)}
	case err != nil:
		return buffers.Answer{Unknown: true}
	}
	if !result.Applied {
		return buffers.Answer{Reason: firstOf(clip(result.FailureReason, 200), "it gave no reason; read the file again")}
	}
	return buffers.Answer{Applied: true}
}

// awaitTexts waits, for a moment, until the editor has told that its documents are as they were to be.
func (c *client) awaitTexts(ctx context.Context, texts map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for uri, text := range texts {
		for doc, open := c.documents.Find(uri); open && doc.Text != text; doc, open = c.documents.Find(uri) {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// lineEdits are the lines that differ, as edits of the text before.
func lineEdits(before, after string) []lineEdit {
	a, b := splitLines(before), splitLines(after)
	var edits []lineEdit
	line, at := 0, 0 // of a
	offsetOf := func(n int) int {
		for ; line < n; line++ {
			at += len(a[line])
		}
		return at
	}
	for _, d := range patch.CompareLines(a, b) {
		start := position(before, offsetOf(d.Start))
		end := position(before, offsetOf(d.End))
		edits = append(edits, lineEdit{editors.Range{Start: start, End: end}, strings.Join(b[d.ReplStart:d.ReplEnd], "")})
	}
	return edits
}

func splitLines(text string) []string {
	return slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return line == "" })
}
