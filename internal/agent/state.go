// This file defines what a session's workflow remembers, which is also what it carries over continue-as-new.

package agent

import (
	"encoding/json"
	"slices"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

const stateSchema = 1

// Bounds of the carried state; a payload must stay well under Temporal's 2 MB.
const (
	maxEvents      = 256
	maxEventBytes  = 192 << 10
	maxSeen        = 256
	sealAboveItems = 80
	sealAboveBytes = 96 << 10
	keepLiveItems  = 24
	maxSealBytes   = 40 << 10 // of one segment
	sealAboveEnds  = 48 << 10 // bytes of the ends of turns
	maxEndPending  = 6 << 10  // of one of them
	maxSeenBytes   = 128 << 10
	maxNotes       = 8 // of those that the model has not seen
	maxFormer      = 8
)

// Input starts or continues a session's workflow.
type Input struct {
	State State `json:"state"`
}

// State is everything a session remembers: kilobytes, with references to what is large.
type State struct {
	Schema  int             `json:"schema"`
	Owner   string          `json:"owner"`
	Folder  string          `json:"folder"` // absolute path
	Session editors.Session `json:"session"`

	// SearchAttributes tells whether the cluster knows our search attributes; without them only the memo is kept.
	SearchAttributes bool `json:"searchAttributes,omitempty"`

	Seq        int64                  `json:"seq"`
	Events     []editors.EventMessage `json:"events,omitempty"` // the newest ones
	EventBytes int                    `json:"eventBytes,omitempty"`
	Items      []editors.Item         `json:"items,omitempty"` // those not yet sealed, by start
	Sealed     string                 `json:"sealed,omitempty"`

	Head    string    `json:"head,omitempty"`    // the conversation
	Pending []Pending `json:"pending,omitempty"` // what the model has not seen yet
	Tokens  int64     `json:"tokens,omitempty"`  // about what Head holds; 0: nobody has told yet
	// CompactDue: the conversation is to be compacted before the next model call.
	CompactDue bool     `json:"compactDue,omitempty"`
	TooLong    *TooLong `json:"tooLong,omitempty"`
	TitleDue   bool     `json:"titleDue,omitempty"` // a title is to be made

	NextItem     int                         `json:"nextItem"`
	NextTurn     int                         `json:"nextTurn"`
	NextApproval int                         `json:"nextApproval"`
	Turn         *Turn                       `json:"turn,omitempty"` // the running one
	Queue        []Ask                       `json:"queue,omitempty"`
	Approvals    []editors.Approval          `json:"approvals,omitempty"` // pending
	Background   []editors.BackgroundCommand `json:"background,omitempty"`
	Decided      []editors.Approval          `json:"decided,omitempty"` // the latest ones, for late answers
	Rules        []policy.Rule               `json:"rules,omitempty"`   // allowed for the session
	Permissions  Permissions                 `json:"permissions,omitzero"`
	Notices      []string                    `json:"notices,omitempty"` // of the last model call, about MCP servers
	// NoCheckpoints is why the last checkpoint could not be taken, if it could not.
	NoCheckpoints string `json:"noCheckpoints,omitempty"`

	// Home is the directory on its host that is the session's own: the folder, or that of a fork. "": the folder.
	Home string `json:"home,omitempty"`
	// Base is the checkpoint of Home from when the session left it for another place, or was begun elsewhere with a copy of it:
	// the way back is a merge against it. "" while the session is at home, or was never there.
	Base string `json:"base,omitempty"`
	// GitBase is, for a fork that was never at home, the user's own tree that its workspace began as.
	GitBase string `json:"gitBase,omitempty"`
	// ForkBase is, for a fork, the checkpoint up to which its parent has its changes; at first what the fork began as.
	ForkBase string `json:"forkBase,omitempty"`
	// ForkTaken is what of ForkBase has a counterpart where the fork is, when it is not at home: what did not travel there must
	// not look removed to the parent. "": all of it.
	ForkTaken string `json:"forkTaken,omitempty"`
	// Adoptions are the latest ones, so that a fork learns when one is undone.
	Adoptions []Adoption `json:"adoptions,omitempty"`
	// Former are the sandboxes that the session has left, kept until a turn has succeeded in the present one.
	Former []Sandbox `json:"former,omitempty"`
	// Keeping are those of them that have content which is nowhere else, kept until the session ends; the latest ones.
	Keeping []Sandbox `json:"keeping,omitempty"`
	// Doomed are those that nobody needs any more.
	Doomed []Sandbox `json:"doomed,omitempty"`
	// LastEpoch is the highest epoch that was tried, also in vain: no sandbox gets the name of another.
	LastEpoch int64 `json:"lastEpoch,omitempty"`

	// Turns are the ends of the turns whose items are not yet sealed.
	Turns      []TurnEnd `json:"turns,omitempty"`
	LastEnded  int       `json:"lastEnded,omitempty"`  // the turn that ended last
	SealedTurn int       `json:"sealedTurn,omitempty"` // the newest turn of a sealed item

	Ops      []Op   `json:"ops,omitempty"` // in order of arrival; the first one may be under way
	NextOp   int    `json:"nextOp,omitempty"`
	Starting bool   `json:"starting,omitempty"` // the checkpoint of the session's start is still to be taken
	Pictured string `json:"pictured,omitempty"` // what the last checkpoint is of
	Stopped  bool   `json:"stopped,omitempty"`  // the sandbox was stopped because the session pauses

	Raised Raised        `json:"raised,omitzero"`  // bounds of the session's budget
	Worked time.Duration `json:"worked,omitempty"` // in all turns that have ended

	Paused      bool   `json:"paused,omitempty"`
	Confinement string `json:"confinement,omitempty"` // what kept commands at the last model call
	Seen        []Seen `json:"seen,omitempty"`
}

// Ask is a request with the turn and item it was given.
type Ask struct {
	AskInput
	TurnID int       `json:"turnId"`
	ItemID string    `json:"itemId"`
	At     time.Time `json:"at"`
}

// Turn is the running turn between two steps.
type Turn struct {
	ID        int           `json:"id"`
	Usage     editors.Usage `json:"usage"`
	Calls     []Call        `json:"calls,omitempty"`  // of the last model step, until all are done
	Steers    []Pending     `json:"steers,omitempty"` // messages for the next model call
	Interrupt bool          `json:"interrupt,omitempty"`
	Touched   bool          `json:"touched,omitempty"` // something that may change the workspace was begun
	Ready     bool          `json:"ready,omitempty"`   // the sandbox was seen to be there
	// External is the blob of what the model was last told of the tools of MCP servers.
	External string `json:"external,omitempty"`
	// Began is what the workspace restricted when the turn began, if it was changed since.
	Began *policy.Policy `json:"began,omitempty"`

	StartedAt  time.Time     `json:"startedAt,omitzero"`
	Waited     time.Duration `json:"waited,omitempty"` // at its budget
	WaitsSince time.Time     `json:"waitsSince,omitzero"`
	Raised     Raised        `json:"raised,omitzero"`
}

// TooLong is what a model has refused as too long: its window is smaller than what was taken for it.
type TooLong struct {
	Model  string `json:"model"`
	Tokens int64  `json:"tokens"` // about
}

// Call is a tool call of the running turn.
type Call struct {
	CallRequest
	ItemID     string `json:"itemId"`
	ItemSeq    int64  `json:"itemSeq"`
	Attempt    int    `json:"attempt,omitempty"`
	ApprovalID string `json:"approvalId,omitempty"`
	Allowed    bool   `json:"allowed,omitempty"`
	Done       bool   `json:"done,omitempty"`
	ResultRef  string `json:"resultRef,omitempty"`

	Images     []editors.Image `json:"images,omitempty"` // of the result
	ResultText string          `json:"resultText,omitempty"`
}

// Adoption is what a session has taken from a fork.
type Adoption struct {
	ForkID string `json:"forkId"`
	Undo   string `json:"undo"`   // checkpoint of the workspace before it
	Before string `json:"before"` // checkpoint up to which the session had the fork's changes before it
	After  string `json:"after"`  // and after it
}

// Seen remembers the answer to a request id, so that a repeated request changes nothing.
type Seen struct {
	ID     string          `json:"id"`
	Answer json.RawMessage `json:"answer"`
}

// NewState returns the state of a session that has just been created.
func NewState(owner, folder string, searchAttributes bool, s editors.Session) State {
	return State{Schema: stateSchema, Owner: owner, Folder: folder, Session: s, SearchAttributes: searchAttributes, NextItem: 1, NextTurn: 1, NextApproval: 1, NextOp: 1, Starting: true}
}

// recall fills answer with what was answered to request id before, and tells whether there was such an answer.
func (s *State) recall(id string, answer any) bool {
	if id == "" {
		return false
	}
	for i := len(s.Seen) - 1; i >= 0; i-- {
		if s.Seen[i].ID == id {
			return json.Unmarshal(s.Seen[i].Answer, answer) == nil
		}
	}
	return false
}

func (s *State) remember(id string, answer any) {
	if id == "" {
		return
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return // answers are plain structs: they always marshal
	}
	s.Seen = append(s.Seen, Seen{id, b})
	drop, bytes := max(0, len(s.Seen)-maxSeen), 0
	for i := len(s.Seen) - 1; i >= drop; i-- {
		if bytes += len(s.Seen[i].ID) + len(s.Seen[i].Answer); bytes > maxSeenBytes && i < len(s.Seen)-1 {
			drop = i + 1
		}
	}
	s.Seen = append([]Seen(nil), s.Seen[drop:]...)
}

// answered tells whether there is an answer to request id.
func (s *State) answered(id string) bool {
	return slices.ContainsFunc(s.Seen, func(k Seen) bool { return k.ID == id })
}

func (s *State) item(id string) *editors.Item {
	for i := len(s.Items) - 1; i >= 0; i-- {
		if s.Items[i].ID == id {
			return &s.Items[i]
		}
	}
	return nil
}

func (s *State) queued() []editors.QueuedMessage {
	out := make([]editors.QueuedMessage, 0, len(s.Queue))
	for _, a := range s.Queue {
		out = append(out, editors.QueuedMessage{ItemID: a.ItemID, Text: preview(a.Text, 500), At: a.At})
	}
	return out
}

func (s *State) sandbox() Sandbox {
	return Sandbox{SessionID: s.Session.ID, Owner: s.Owner, HostID: s.Session.HostID, Folder: s.Folder, Backend: s.Session.Backend, Epoch: s.Session.Epoch}
}

// preview returns at most n bytes of text, cut between runes.
func preview(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}
