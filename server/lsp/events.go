// This file sends the events of attached sessions to the client, in order and each in one message.

package lsp

import (
	"encoding/json"
	"sync"

	"sandboxagent/editors"
)

// attachments are the sessions whose events the client asked for. The zero value is ready.
type attachments struct {
	mu       sync.Mutex
	sessions map[string]bool
}

func (a *attachments) set(session string, attached bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !attached {
		delete(a.sessions, session)
		return
	}
	if a.sessions == nil {
		a.sessions = make(map[string]bool)
	}
	a.sessions[session] = true
}

func (a *attachments) has(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[session]
}

// sendEvent sends one event. Deltas are lost when the client is slow; the others wait for it.
func (c *client) sendEvent(e editors.EventMessage) {
	body, err := encodeEvent(e)
	if err != nil {
		c.log.Error("an event cannot be encoded", "session", e.SessionID, "seq", e.Seq, "error", err)
		return
	}
	if e.Event.Type == editors.ItemDelta {
		c.out.offer(frameOf(body))
		return
	}
	if err := c.out.put(c.ctx, frameOf(body)); err != nil {
		c.log.Info("an event was not sent", "session", e.SessionID, "seq", e.Seq, "error", err)
	}
}

// encodeEvent encodes an event; one that is too large for a message loses what readOutput and queue can give.
func encodeEvent(e editors.EventMessage) ([]byte, error) {
	body, err := encodeNotification(editors.EventMethod, e)
	if err != nil || len(body) <= editors.MaxMessageBytes {
		return body, err
	}
	return encodeNotification(editors.EventMethod, shortened(e))
}

func encodeNotification(method string, params any) ([]byte, error) {
	return json.Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// Bounds of the texts in an event that was too large. JSON needs at most six bytes for one.
const (
	shortText   = 24 << 10
	shortQueued = 1 << 10
	shortList   = 100
)

// shortened returns e with its texts cut; it changes nothing that e points to.
func shortened(e editors.EventMessage) editors.EventMessage {
	if e.Event.Item != nil {
		item := shortenedItem(*e.Event.Item)
		e.Event.Item = &item
	}
	e.Event.Data = cutText(e.Event.Data, shortText)
	e.Event.Message = cutText(e.Event.Message, shortText)
	var queued []editors.QueuedMessage
	for _, q := range e.Event.Queued[:min(len(e.Event.Queued), shortList)] {
		q.Text = cutText(q.Text, shortQueued)
		queued = append(queued, q)
	}
	e.Event.Queued = queued
	return e
}

func shortenedItem(item editors.Item) editors.Item {
	item.TextBytes = max(item.TextBytes, int64(len(item.Text)))
	item.DiffBytes = max(item.DiffBytes, int64(len(item.Diff)))
	item.Text, item.Diff = cutText(item.Text, shortText), cutText(item.Diff, shortText)
	item.Arguments = cutText(item.Arguments, shortQueued)
	item.Error = cutText(item.Error, shortQueued)
	item.Files = item.Files[:min(len(item.Files), shortList)]
	var contexts []editors.Context
	for _, c := range item.Context[:min(len(item.Context), shortList)] {
		c.Text = cutText(c.Text, shortQueued)
		contexts = append(contexts, c)
	}
	item.Context = contexts
	if item.Output != nil {
		out := *item.Output
		out.Head, out.Tail = cutText(out.Head, shortText), cutText(out.Tail, shortText)
		item.Output = &out
	}
	return item
}
