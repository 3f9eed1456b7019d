// This file reports work-done progress to clients that have no view of a session.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"go.lsp.dev/protocol"
)

// createTimeout bounds the wait for a client to accept a progress.
const createTimeout = 2 * time.Second

// progressTable knows what to do when the user cancels a progress. The zero value is ready.
type progressTable struct {
	mu     sync.Mutex
	last   int
	cancel map[string]func() // by token, as JSON text
}

func (t *progressTable) add(token string, cancel func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel == nil {
		t.cancel = make(map[string]func())
	}
	t.cancel[token] = cancel
}

func (t *progressTable) remove(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cancel, token)
}

func (t *progressTable) get(token string) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cancel[token]
}

// fresh makes a token of ours.
func (t *progressTable) fresh() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	return json.RawMessage(fmt.Sprintf(`"sandbox-agent/%d"`, t.last))
}

func (c *client) cancelProgress(raw json.RawMessage) error {
	var p struct {
		Token json.RawMessage `json:"token"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding a cancelled progress: %w", err)
	}
	if cancel := c.progress.get(string(p.Token)); cancel != nil {
		c.background(cancel)
	}
	return nil
}

// reporter reports one progress. It begins with the first report; a client that cannot show progress is told nothing.
type reporter struct {
	c *client

	mu    sync.Mutex
	token json.RawMessage // the client's, else one of ours once it is needed
	begun bool
	ended bool
	last  string
}

func (c *client) newReporter(token json.RawMessage) *reporter {
	if !validID(token) {
		token = nil
	}
	return &reporter{c: c, token: token}
}

// onCancel has cancel run when the user cancels the progress.
func (r *reporter) onCancel(cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready() {
		r.c.progress.add(string(r.token), cancel)
	}
}

// report tells what goes on, when it differs from what was told last.
func (r *reporter) report(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if message == "" || message == r.last || r.ended || !r.ready() {
		return
	}
	r.last = message
	if !r.begun {
		r.begun = true
		r.send(protocol.WorkDoneProgressBegin{
			Kind: protocol.WorkDoneProgressKindBegin, Title: "Sandbox Agent", Cancellable: true, Message: message,
		})
		return
	}
	r.send(protocol.WorkDoneProgressReport{Kind: protocol.WorkDoneProgressKindReport, Cancellable: true, Message: message})
}

func (r *reporter) end(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun && !r.ended {
		r.c.progress.remove(string(r.token))
		r.send(protocol.WorkDoneProgressEnd{Kind: protocol.WorkDoneProgressKindEnd, Message: message})
	}
	r.ended = true
}

// ready sees to it that there is a token, and reports whether there is.
func (r *reporter) ready() bool {
	if len(r.token) > 0 {
		return true
	}
	if !r.c.can.WorkDoneProgress || r.ended {
		return false
	}
	ctx, cancel := context.WithTimeout(r.c.ctx, createTimeout)
	defer cancel()
	token := r.c.progress.fresh()
	if err := r.c.ask(ctx, protocol.MethodWorkDoneProgressCreate, map[string]any{"token": token}, nil); err != nil {
		r.c.log.Info("the client takes no progress", "error", err)
		r.ended = true
		return false
	}
	r.token = token
	return true
}

func (r *reporter) send(value any) {
	r.c.tell(protocol.MethodProgress, map[string]any{"token": r.token, "value": value})
}
