// Package session holds SessionManagerWorkflow, the registry of one owner's sessions: it creates them and knows
// their titles and order. It can be rebuilt from Temporal's visibility, where every session also stands.
package session

import (
	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// Names under which the workflow and its handlers are registered; they are part of stored histories and never change.
const (
	WorkflowName = "SessionManagerWorkflow"

	UpdateCreate  = "create_session"  // CreateInput → CreateResult
	UpdateFork    = "fork_session"    // ForkInput → CreateResult
	UpdateForget  = "forget_session"  // ForgetInput → nothing: drops a session that no longer exists
	SignalChanged = "session_changed" // editors.Session: a title or state worth listing
	SignalClosed  = "session_closed"  // string: session id
	QueryList     = "list_sessions"   // ListRequest → ListResult

	ActivityListSessions = "ListSessions" // string (owner) → Found, from visibility
)

// ManagerID returns the workflow id of an owner's manager.
func ManagerID(owner string) string { return "session-manager/" + owner }

// Input starts or continues a manager. State is nil at the first start: the registry is then rebuilt from visibility.
type Input struct {
	Owner string `json:"owner"`
	State *State `json:"state,omitempty"`
}

// CreateInput creates a session; SessionID is made by the caller so that a repeated request finds the same session.
type CreateInput struct {
	RequestID string            `json:"requestId"`
	SessionID string            `json:"sessionId"`
	Owner     string            `json:"owner"`
	HostID    string            `json:"hostId"`
	Folder    string            `json:"folder"` // absolute path
	FolderURI string            `json:"folderUri"`
	Params    editors.NewParams `json:"params"` // with defaults filled in
}

// ForkInput creates a session that goes on from a point of another one. Its sandbox, filled from the point's checkpoint, is
// made first: when that fails nothing is left, and the fork does not exist.
type ForkInput struct {
	RequestID string             `json:"requestId"`
	SessionID string             `json:"sessionId"` // of the fork
	Owner     string             `json:"owner"`
	Params    editors.ForkParams `json:"params"`
	Point     agent.ForkPoint    `json:"point"`
	Home      string             `json:"home"` // absolute path of the fork's own directory, which local forks work in
}

// CreateResult is the session, new or as first created under the same request id.
type CreateResult struct {
	Session editors.Session `json:"session"`
	Notice  string          `json:"notice,omitempty"` // of a fork: what the user should know of how it begins
	Seq     int64           `json:"seq"`
}

// ForgetInput names a session to drop.
type ForgetInput struct {
	SessionID string `json:"sessionId"`
}

// ListRequest filters the registry.
type ListRequest struct {
	FolderURI    string `json:"folderUri,omitempty"`
	Search       string `json:"search,omitempty"`
	IncludeForks bool   `json:"includeForks"`
	Cursor       string `json:"cursor,omitempty"`
	Limit        int    `json:"limit"`
}

// ListResult is a page of the registry, newest first.
type ListResult struct {
	Sessions   []editors.Session `json:"sessions"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

// State is what a manager carries over continue-as-new.
type State struct {
	Schema   int               `json:"schema"`
	Sessions []editors.Session `json:"sessions"` // newest last
	Seen     []Seen            `json:"seen,omitempty"`

	SearchAttributes bool `json:"searchAttributes,omitempty"`
}

// Found is what visibility knows of an owner's sessions.
type Found struct {
	Sessions []editors.Session `json:"sessions"` // oldest first
	// SearchAttributes tells whether the cluster knows our search attributes.
	SearchAttributes bool `json:"searchAttributes"`
}

// Seen remembers the answer to a request id.
type Seen struct {
	RequestID string `json:"requestId"`
	SessionID string `json:"sessionId"`
}
