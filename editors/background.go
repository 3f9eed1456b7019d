// This file is what is told of single commands: those that go on in the background, and how one is stopped.

package editors

import "time"

// BackgroundCommand is a command that goes on while the agent does something else. It ends with the session's sandbox at the
// latest.
type BackgroundCommand struct {
	ItemID  string    `json:"itemId"` // of the call that started it
	TurnID  int       `json:"turnId"`
	Command string    `json:"command"` // at most 500 bytes of it
	At      time.Time `json:"at"`      // when it was called for
}

// StopParams stops one command: that of a tool call that runs, or one in the background.
type StopParams struct {
	RequestID string `json:"requestId,omitempty"`
	SessionID string `json:"sessionId"`
	ItemID    string `json:"itemId"`
	By        string `json:"by,omitempty"` // the client's name; filled in by the server when absent
}

// StopResult says what became of the command.
type StopResult struct {
	ItemID    string `json:"itemId"`
	StoppedBy string `json:"stoppedBy,omitempty"` // whose request counts; absent when it had ended by itself
	Already   bool   `json:"already"`             // it had ended, or somebody else was first
	How       string `json:"how"`                 // how it ended, one sentence
	Seq       int64  `json:"seq"`
}
