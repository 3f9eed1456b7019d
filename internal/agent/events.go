// This file numbers and keeps a session's durable events, and answers who asks for them.

package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// emit records a durable event under the next seq.
func (s *session) emit(ctx workflow.Context, e editors.Event) int64 {
	s.Seq++
	if e.Item != nil {
		item := *e.Item
		e.Item = &item
	}
	m := editors.EventMessage{SessionID: s.Session.ID, Seq: s.Seq, At: workflow.Now(ctx), Event: e}
	s.Events = append(s.Events, m)
	s.EventBytes += size(m)
	s.trimEvents(maxEventBytes)
	s.Session.UpdatedAt = m.At
	if s.ring != nil && !workflow.IsReplaying(ctx) {
		s.ring(s.Session.ID, s.Seq)
	}
	return s.Seq
}

func (s *State) trimEvents(maxBytes int) {
	drop := 0
	for len(s.Events)-drop > 1 && (len(s.Events)-drop > maxEvents || s.EventBytes > maxBytes) {
		s.EventBytes -= size(s.Events[drop])
		drop++
	}
	if drop > 0 {
		s.Events = append([]editors.EventMessage(nil), s.Events[drop:]...)
	}
}

// size is the length of v as JSON, what it costs in a payload.
func size(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}

// setState changes the session's state; the reason says what is waited for.
func (s *session) setState(ctx workflow.Context, status editors.Status, reason string, remedy ...string) {
	s.setStateSince(ctx, workflow.Now(ctx), status, reason, remedy...)
}

// setStateSince is setState for what has been so for a while.
func (s *session) setStateSince(ctx workflow.Context, since time.Time, status editors.Status, reason string, remedy ...string) {
	st := editors.State{Status: status, Reason: reason, Since: since}
	if len(remedy) > 0 {
		st.Remedy = remedy[0]
	}
	old := s.Session.State
	if old.Status == st.Status && old.Reason == st.Reason && old.Remedy == st.Remedy {
		return
	}
	s.Session.State = st
	s.emit(ctx, editors.Event{Type: editors.StateChanged, State: &st})
	if old.Status != st.Status {
		s.list(ctx)
	}
}

func (s *session) sessionUpdated(ctx workflow.Context) {
	copied := s.Session
	s.emit(ctx, editors.Event{Type: editors.SessionUpdated, Session: &copied})
	s.list(ctx)
}

// startItem adds an item and tells that it began.
func (s *session) startItem(ctx workflow.Context, item editors.Item) *editors.Item {
	item.ID = fmt.Sprintf("i%d", s.NextItem)
	s.NextItem++
	item.At = workflow.Now(ctx)
	item.Seq = s.Seq + 1
	s.Items = append(s.Items, item)
	s.emit(ctx, editors.Event{Type: editors.ItemStarted, Item: &item})
	return &s.Items[len(s.Items)-1]
}

// endItem changes an item and tells that it is complete.
func (s *session) endItem(ctx workflow.Context, id string, change func(*editors.Item)) {
	item := s.item(id)
	if item == nil {
		return
	}
	change(item)
	s.emit(ctx, editors.Event{Type: editors.ItemEnded, Item: item})
}

// notice tells the user something in the conversation.
func (s *session) notice(ctx workflow.Context, turn int, text string) {
	item := s.startItem(ctx, editors.Item{TurnID: turn, Kind: editors.Notice, Status: editors.ItemCompleted, Text: text})
	s.endItem(ctx, item.ID, func(*editors.Item) {})
}

// view answers QueryView. It reads only.
func (s *session) view(req ViewRequest) (View, error) {
	v := View{Session: s.Session, Seq: s.Seq, Approvals: append([]editors.Approval{}, s.Approvals...), Queued: s.queued(), Background: append([]editors.BackgroundCommand{}, s.Background...), Home: s.Home, Base: s.Base, ForkBase: s.taken()}
	for _, left := range slices.Concat(s.Former, s.Keeping) {
		v.Former = append(v.Former, left.Epoch)
	}
	first := s.Seq + 1 - int64(len(s.Events))
	if after := req.AfterSeq; after != nil && *after >= first-1 && *after <= s.Seq {
		return s.eventsAfter(v, int(*after+1-first)), nil
	}
	v.Snapshot, v.Items, v.Sealed = true, s.Items, s.Sealed
	return v, nil
}

func (s *session) eventsAfter(v View, from int) View {
	bytes := 0
	for _, e := range s.Events[from:] {
		bytes += size(e)
		if len(v.Events) == MaxEventPage || bytes > MaxPageBytes && len(v.Events) > 0 {
			v.More, v.Seq = true, v.Events[len(v.Events)-1].Seq
			break
		}
		v.Events = append(v.Events, e)
	}
	return v
}
