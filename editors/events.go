// This file defines the events that flow from a session to its editors.

package editors

import (
	"encoding/json"
	"time"
)

// EventMethod is the JSON-RPC notification that carries an EventMessage.
const EventMethod = "sandboxAgent/event"

// EventType names an event.
type EventType string

// The events. All but ItemDelta and ConnectionChanged are durable: numbered by seq, gapless and in order.
const (
	SessionUpdated    EventType = "session/updated"
	StateChanged      EventType = "state/changed"
	TurnStarted       EventType = "turn/started"
	TurnEnded         EventType = "turn/completed"
	ItemStarted       EventType = "item/started"
	ItemDelta         EventType = "item/delta"
	ItemEnded         EventType = "item/completed"
	ApprovalRequested EventType = "approval/requested"
	ApprovalResolved  EventType = "approval/resolved"
	QueueChanged      EventType = "queue/changed"
	CheckpointCreated EventType = "checkpoint/created"
	UsageUpdated      EventType = "usage/updated"
	BackendChanged    EventType = "backend/changed"
	BackgroundChanged EventType = "background/changed"
	ConnectionChanged EventType = "connection/changed"
)

// Durable tells whether an event has a seq of its own and is part of the session's history. The others carry the seq of one
// that is, and may be lost or come again.
func (t EventType) Durable() bool { return t != ItemDelta && t != ConnectionChanged }

// EventMessage is what EventMethod carries.
type EventMessage struct {
	SessionID string    `json:"sessionId"`
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"`
	Event     Event     `json:"event"`
}

// Event is one event; its type says which of the other fields are set.
type Event struct {
	Type EventType `json:"type"`

	Session    *Session        `json:"session,omitempty"`    // session/updated
	State      *State          `json:"state,omitempty"`      // state/changed; connection/changed, when connected
	TurnID     int             `json:"turnId,omitempty"`     // turn/*
	Status     TurnStatus      `json:"status,omitempty"`     // turn/completed
	Error      *ErrorData      `json:"error,omitempty"`      // turn/completed, when failed
	Message    string          `json:"message,omitempty"`    // turn/completed, when failed: one sentence
	Usage      *Usage          `json:"usage,omitempty"`      // turn/completed, usage/updated
	Item       *Item           `json:"item,omitempty"`       // item/started, item/completed
	Approval   *Approval       `json:"approval,omitempty"`   // approval/*
	Queued     []QueuedMessage `json:"queued,omitzero"`      // queue/changed
	Backend    *Backend        `json:"backend,omitempty"`    // backend/changed
	Checkpoint *Checkpoint     `json:"checkpoint,omitempty"` // checkpoint/created

	Background []BackgroundCommand `json:"background,omitzero"` // background/changed

	// item/delta

	ItemID   string `json:"itemId,omitempty"`
	Attempt  int    `json:"attempt,omitempty"` // a higher attempt voids the text of lower ones
	N        int64  `json:"n,omitempty"`       // counts the deltas of an item's attempt and stream from 0
	Stream   string `json:"stream,omitempty" enum:"text,reasoning,stdout,stderr,arguments"`
	Data     string `json:"data,omitempty"`
	Encoding string `json:"encoding,omitempty" enum:"utf8,base64"` // of Data

	// connection/changed

	Connected bool      `json:"connected,omitempty"`
	Reason    string    `json:"reason,omitempty"` // who is missing, one sentence; when not connected
	Remedy    string    `json:"remedy,omitempty"`
	Since     time.Time `json:"since,omitzero"` // since when it is connected or not
}

// MarshalJSON implements json.Marshaler: an event has the fields that its type promises even where they are empty.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	switch e.Type {
	case QueueChanged:
		if e.Queued == nil {
			e.Queued = []QueuedMessage{}
		}
	case BackgroundChanged:
		if e.Background == nil {
			e.Background = []BackgroundCommand{}
		}
	case ConnectionChanged:
		return json.Marshal(struct {
			plain
			Connected bool `json:"connected"`
		}{plain(e), e.Connected})
	case ItemDelta:
		if e.Encoding == "" {
			e.Encoding = "utf8"
		}
		return json.Marshal(struct {
			plain
			ItemID  string `json:"itemId"`
			Attempt int    `json:"attempt"`
			N       int64  `json:"n"`
			Stream  string `json:"stream"`
			Data    string `json:"data"`
		}{plain(e), e.ItemID, e.Attempt, e.N, e.Stream, e.Data})
	}
	return json.Marshal(plain(e))
}

// Checkpoint describes an immutable picture of a workspace.
type Checkpoint struct {
	ID      string    `json:"id"`
	TurnID  int       `json:"turnId"`
	ItemID  string    `json:"itemId"`
	At      time.Time `json:"at"`
	Summary string    `json:"summary"`
}

// EventDoc documents an event type for the generated contracts.
type EventDoc struct {
	Type     EventType
	Fields   []string // JSON names of the fields it sets
	Optional []string // those of Fields that may be absent
	Durable  bool
	Doc      string
}

// Events lists all events.
func Events() []EventDoc {
	return []EventDoc{
		{SessionUpdated, []string{"session"}, nil, true, "The session's description changed (title, model, settings)."},
		{StateChanged, []string{"state"}, nil, true, "The session's state changed; the reason says what is waited for."},
		{TurnStarted, []string{"turnId"}, nil, true, "A turn began."},
		{TurnEnded, []string{"turnId", "status", "error", "message", "usage"}, []string{"error", "message"}, true, "A turn ended."},
		{ItemStarted, []string{"item"}, nil, true, "An item began; deltas may follow."},
		{ItemDelta, []string{"itemId", "attempt", "n", "stream", "data", "encoding"}, nil, false, "A piece of an item while it is made. May be lost; item/completed is authoritative."},
		{ItemEnded, []string{"item"}, nil, true, "An item is complete; replaces whatever its deltas built."},
		{ApprovalRequested, []string{"approval"}, nil, true, "A tool call waits for an answer."},
		{ApprovalResolved, []string{"approval"}, nil, true, "An approval was answered or withdrawn."},
		{QueueChanged, []string{"queued"}, nil, true, "The queue of waiting requests changed."},
		{CheckpointCreated, []string{"checkpoint"}, nil, true, "A checkpoint of the workspace was taken."},
		{UsageUpdated, []string{"usage"}, nil, true, "The session's token counts changed."},
		{BackendChanged, []string{"backend"}, nil, true, "The session moved to another sandbox."},
		{BackgroundChanged, []string{"background"}, nil, true, "A command went to the background, or one there ended."},
		{ConnectionChanged, []string{"connected", "reason", "remedy", "since", "state"}, []string{"reason", "remedy", "state"}, false, "The session cannot be followed, or its turn has no worker; or it is so no more, and state is the session's. Not part of history: it carries the seq of the last event sent, and may come again."},
	}
}
