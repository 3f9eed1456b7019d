// This file shows the agent's answer to a client that has no view of sessions: as a document, else as a message.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"sandboxagent/editors"
)

const (
	maxAnswerBytes  = 4 << 20 // of a document
	maxMessageBytes = 4 << 10 // of a message box
)

// showAnswer shows the agent's last message.
func (f *follower) showAnswer(ctx context.Context) {
	if f.answer == nil || f.answer.Text == "" {
		f.c.show(protocol.MessageTypeInfo, "The turn ended without an answer.")
		return
	}
	text := f.wholeText(ctx)
	if f.c.can.ShowDocument && f.showDocument(ctx, text) {
		return
	}
	f.c.show(protocol.MessageTypeInfo, clip(text, maxMessageBytes))
}

// wholeText reads what the item's preview left out, as far as that works.
func (f *follower) wholeText(ctx context.Context) string {
	var text strings.Builder
	text.WriteString(f.answer.Text)
	for int64(text.Len()) < f.answer.TextBytes && text.Len() < maxAnswerBytes {
		part, err := f.readText(ctx, int64(text.Len()))
		if err != nil || part == "" {
			f.c.log.Warn("an answer is shown in part", "item", f.answer.ID, "error", err)
			break
		}
		text.WriteString(part)
	}
	return text.String()
}

func (f *follower) readText(ctx context.Context, from int64) (string, error) {
	raw, err := json.Marshal(editors.ReadOutputParams{SessionID: f.asked.SessionID, ItemID: f.answer.ID, Stream: "text", Offset: from})
	if err != nil {
		return "", err
	}
	result, err := f.conn.Mux().Dispatch(ctx, editors.ReadOutput.Name, raw)
	if err != nil {
		return "", err
	}
	part, ok := result.(editors.ReadOutputResult)
	if !ok || part.Encoding != "utf8" {
		return "", fmt.Errorf("the text of item %s is no text", f.answer.ID)
	}
	return part.Data, nil
}

// showDocument writes the answer to a file and has the client show it. It reports whether the client did.
func (f *follower) showDocument(ctx context.Context, text string) bool {
	path, err := f.c.answers.write(fmt.Sprintf("turn-%d-%s.md", f.asked.TurnID, safeName(f.asked.SessionID)), text)
	if err != nil {
		f.c.log.Warn("an answer could not be written", "error", err)
		return false
	}
	var result protocol.ShowDocumentResult
	show := protocol.ShowDocumentParams{URI: uri.File(path), TakeFocus: true}
	if err := f.c.ask(ctx, protocol.MethodShowDocument, show, &result); err != nil {
		f.c.log.Warn("the client did not show an answer", "error", err)
		return false
	}
	return result.Success
}

// safeName makes a part of a file name of an id.
func safeName(id string) string {
	return clip(strings.Map(func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '-'
	}, id), 64)
}

// answerFiles are the answers written for a client. They are removed when it ends; the session keeps them anyhow.
type answerFiles struct {
	parent string
	mu     sync.Mutex
	dir    string
}

func (a *answerFiles) write(name, text string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" {
		if err := os.MkdirAll(a.parent, 0o700); err != nil {
			return "", fmt.Errorf("making the runtime directory: %w", err)
		}
		dir, err := os.MkdirTemp(a.parent, "answers-")
		if err != nil {
			return "", fmt.Errorf("making a directory for answers: %w", err)
		}
		a.dir = dir
	}
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing an answer: %w", err)
	}
	return path, nil
}

func (a *answerFiles) remove() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir != "" {
		_ = os.RemoveAll(a.dir) // what stays lies in a directory that a reboot clears
	}
}
