// This file follows a turn for a client that has no view of sessions: it shows progress, asks for approvals and shows
// the answer, all by means that every LSP client has.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"sandboxagent/editors"
)

// follower follows one turn, on a connection of its own so that the client is not sent events it did not ask for.
type follower struct {
	c        *client
	conn     Conn
	asked    editors.AskResult
	progress *reporter
	events   chan editors.EventMessage
	answer   *editors.Item // the last message of the agent in this turn
	pending  map[string]context.CancelFunc

	proposals map[string]string // what calls of this turn would change in files, until they are over
}

// follow starts to follow the turn that a question started.
func (c *client) follow(asked editors.AskResult, progress *reporter) {
	c.background(func() {
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		f := &follower{
			c: c, asked: asked, progress: progress,
			events: make(chan editors.EventMessage, 64), pending: make(map[string]context.CancelFunc), proposals: make(map[string]string),
		}
		f.conn = c.options.Connect(c.name, func(e editors.EventMessage) {
			select {
			case f.events <- e:
			case <-ctx.Done():
			}
		})
		defer f.conn.Close()
		defer cancel() // before Close, which may wait for the sink
		f.run(ctx)
	})
}

func (f *follower) run(ctx context.Context) {
	begin := "Working…"
	if f.asked.Queued {
		begin = "Waiting for the running turn to end…"
	}
	f.progress.onCancel(func() { f.interrupt(ctx) })
	f.progress.report(begin)
	end, err := f.attach(ctx)
	for end == nil && err == nil {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case e := <-f.events:
			end = f.apply(ctx, e)
		}
	}
	for _, cancel := range f.pending {
		cancel()
	}
	if err != nil {
		f.progress.end("")
		f.c.log.Info("a turn is not followed to its end", "session", f.asked.SessionID, "error", err)
		return
	}
	f.finish(ctx, *end)
}

// turnEnd says how the followed turn ended.
type turnEnd struct {
	status  editors.TurnStatus
	message string
	remedy  string
}

// attach begins to follow. It returns the end of a turn that is over already.
func (f *follower) attach(ctx context.Context) (*turnEnd, error) {
	raw, err := json.Marshal(editors.AttachParams{SessionID: f.asked.SessionID, AfterSeq: &f.asked.Seq})
	if err != nil {
		return nil, fmt.Errorf("encoding attach: %w", err)
	}
	result, err := f.conn.Mux().Dispatch(ctx, editors.Attach.Name, raw)
	if err != nil {
		return nil, fmt.Errorf("attaching to the session: %w", err)
	}
	snapshot, ok := result.(editors.AttachResult)
	if !ok {
		return nil, fmt.Errorf("attaching to the session: the answer is a %T", result)
	}
	for _, e := range snapshot.Events {
		if end := f.apply(ctx, e); end != nil {
			return end, nil
		}
	}
	for _, item := range snapshot.Items {
		f.note(item)
	}
	if over(snapshot, f.asked.TurnID) {
		return &turnEnd{status: editors.TurnCompleted}, nil
	}
	for _, approval := range snapshot.PendingApprovals {
		f.decide(ctx, approval)
	}
	f.progress.report(snapshot.State.Reason)
	return nil, nil
}

// over reports whether a turn has ended by the time of a snapshot.
func over(s editors.AttachResult, turn int) bool {
	if s.Session.TurnID != turn {
		return s.Session.TurnID > turn
	}
	return s.State.Status == editors.StatusIdle || s.State.Status == editors.StatusDestroyed
}

// apply takes one event in and returns the turn's end when it is that.
func (f *follower) apply(ctx context.Context, e editors.EventMessage) *turnEnd {
	switch event := e.Event; event.Type {
	case editors.StateChanged:
		if event.State != nil {
			f.progress.report(event.State.Reason)
		}
	case editors.ConnectionChanged:
		f.progress.report(awaited(event))
	case editors.ItemStarted:
		if event.Item != nil && event.Item.Kind == editors.ToolCall && event.Item.TurnID == f.asked.TurnID {
			f.progress.report(event.Item.Tool + " " + clip(event.Item.Arguments, 120))
			f.note(*event.Item)
		}
	case editors.ItemEnded:
		if event.Item != nil {
			f.note(*event.Item)
		}
	case editors.ApprovalRequested:
		if event.Approval != nil {
			f.decide(ctx, *event.Approval)
		}
	case editors.ApprovalResolved:
		if event.Approval != nil && f.pending[event.Approval.ID] != nil {
			f.pending[event.Approval.ID]()
		}
	case editors.TurnEnded:
		if event.TurnID == f.asked.TurnID {
			return endOf(event)
		}
	}
	return nil
}

// awaited says what a session waits for when its connection has changed.
func awaited(e editors.Event) string {
	if e.Connected && e.State != nil {
		return e.State.Reason
	}
	return editors.Advice("Waiting: "+e.Reason, e.Remedy)
}

func endOf(e editors.Event) *turnEnd {
	end := &turnEnd{status: e.Status, message: e.Message}
	if e.Error != nil {
		end.remedy = e.Error.Remedy
	}
	return end
}

// note keeps the agent's last message, of which one that was stopped before its first word is none, and what is about to be
// changed in files.
func (f *follower) note(item editors.Item) {
	if item.Status == editors.ItemInProgress && item.Proposal() != "" {
		f.proposals[item.ID] = item.Proposal()
	} else {
		delete(f.proposals, item.ID)
	}
	if item.Kind == editors.AgentMessage && item.TurnID == f.asked.TurnID && strings.TrimSpace(item.Text) != "" {
		f.answer = &item
	}
}

// interrupt ends the turn because the user cancelled the progress.
func (f *follower) interrupt(ctx context.Context) {
	params := editors.InterruptParams{SessionID: f.asked.SessionID, TurnID: f.asked.TurnID}
	if err := f.dispatch(ctx, editors.Interrupt.Name, params); err != nil {
		f.c.show(protocol.MessageTypeWarning, "The turn could not be interrupted: "+err.Error())
	}
}

// dispatch runs a command whose result does not matter.
func (f *follower) dispatch(ctx context.Context, name string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	_, err = f.conn.Mux().Dispatch(ctx, name, raw)
	return err
}

// finish shows how the turn ended.
func (f *follower) finish(ctx context.Context, end turnEnd) {
	switch end.status {
	case editors.TurnFailed:
		f.progress.end("Failed")
		f.c.show(protocol.MessageTypeError, editors.Advice(firstOf(end.message, "The turn failed."), end.remedy))
	case editors.TurnInterrupted:
		f.progress.end("Interrupted")
		f.showAnswer(ctx)
	default:
		f.progress.end("Done")
		f.showAnswer(ctx)
	}
}
