// This file has the params and results of the commands that carry a workspace: switch, fork and adopt.

package editors

import (
	"fmt"
	"strings"
)

// OnConflict says what happens to what was changed on both sides.
type OnConflict string

// The ways to decide conflicts. Nothing that a user wrote is lost by any of them: what is not in the workspace afterwards is
// in a checkpoint that the result names.
const (
	ConflictFail   OnConflict = "fail"   // the default: nothing is changed, and the conflicts are told
	ConflictMine   OnConflict = "mine"   // the version that is in the target workspace stays
	ConflictTheirs OnConflict = "theirs" // the version that comes takes its place
)

// SwitchParams moves a session to another sandbox, in place. While a turn runs, the switch waits for its end.
type SwitchParams struct {
	RequestID string  `json:"requestId,omitempty"`
	SessionID string  `json:"sessionId"`
	Backend   Backend `json:"backend"`
	// ExpectedTurnID, when not 0, refuses the switch (conflict) if a turn runs or another one was the last.
	ExpectedTurnID int        `json:"expectedTurnId,omitempty"`
	DryRun         bool       `json:"dryRun,omitempty"` // tells what would be carried, and changes nothing
	OnConflict     OnConflict `json:"onConflict,omitempty" enum:"fail,mine,theirs"`
	// IntoNonEmpty consents to carry into a workspaceRoot that has files of its own.
	IntoNonEmpty bool `json:"intoNonEmpty,omitempty"`
}

// SwitchResult tells where the session runs now. Queued: it will move once the running turn has ended; then
// backend/changed comes, or a notice that says why not.
type SwitchResult struct {
	Backend Backend `json:"backend"`
	Carry   Carry   `json:"carry"`
	Queued  bool    `json:"queued,omitempty"`
	// AfterTurnID is, of a switch that is queued, the turn whose end it waits for.
	AfterTurnID int    `json:"afterTurnId,omitempty"`
	Undo        string `json:"undo,omitempty"` // checkpoint of the target as it was, where it had files
	Seq         int64  `json:"seq"`
}

// Carry tells what is, or would be, brought into a workspace.
type Carry struct {
	Added      int          `json:"added"`
	Changed    int          `json:"changed"`
	Removed    int          `json:"removed"`
	Merged     int          `json:"merged"`  // of changed: files with both sides' changes in them
	Bytes      int64        `json:"bytes"`   // of content
	Files      []FileChange `json:"files"`   // the first ones
	Skipped    []Skipped    `json:"skipped"` // what does not travel, the first ones; skippedAll tells how many there are
	SkippedAll int          `json:"skippedAll"`
	Conflicts  []Skipped    `json:"conflicts"` // changed on both sides, the first ones; conflictsAll tells how many there are
	// ConflictsAll counts the conflicts.
	ConflictsAll int `json:"conflictsAll"`
	// Theirs is the checkpoint of what came, or would come: diff and restore show and take what was left out of it.
	Theirs string `json:"theirs,omitempty"`
}

// ForkParams makes a session that goes on from the end of a turn of another one, which is not disturbed.
type ForkParams struct {
	RequestID string   `json:"requestId,omitempty"`
	SessionID string   `json:"sessionId"`
	Title     string   `json:"title,omitempty"`   // default: made from the title of the source
	Backend   *Backend `json:"backend,omitempty"` // default: the kind of the source's
	TurnID    int      `json:"turnId,omitempty"`  // default: now, or the end of the last turn while another one runs
}

// AdoptParams brings what a fork changed into the workspace of the session it was forked from.
type AdoptParams struct {
	RequestID  string     `json:"requestId,omitempty"`
	SessionID  string     `json:"sessionId"` // the fork
	DryRun     bool       `json:"dryRun,omitempty"`
	OnConflict OnConflict `json:"onConflict,omitempty" enum:"fail,mine,theirs"`
}

// AdoptResult tells what was brought. Undo is the checkpoint of the parent's workspace as it was.
type AdoptResult struct {
	SessionID string `json:"sessionId"` // the parent
	Carry     Carry  `json:"carry"`
	Undo      string `json:"undo,omitempty"`
	Seq       int64  `json:"seq"`
}

// Changes counts the files that are, or would be, not as they were.
func (c Carry) Changes() int { return c.Added + c.Changed + c.Removed }

// Summary says in a few words how much is, or would be, brought: "2 files added, 1 changed, 3 left out".
func (c Carry) Summary() string {
	var parts []string
	add := func(n int, what string) {
		switch {
		case n == 0:
			return
		case len(parts) > 0:
		case n == 1:
			what = "file " + what
		default:
			what = "files " + what
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	add(c.Added, "added")
	add(c.Changed, "changed")
	add(c.Removed, "removed")
	if len(parts) == 0 {
		parts = append(parts, "no file differs")
	}
	if c.Merged > 0 {
		parts = append(parts, fmt.Sprintf("%d of the changed with the changes of both sides", c.Merged))
	}
	if c.ConflictsAll > 0 {
		parts = append(parts, fmt.Sprintf("%d in conflict", c.ConflictsAll))
	}
	if c.SkippedAll > 0 {
		parts = append(parts, fmt.Sprintf("%d left out", c.SkippedAll))
	}
	return strings.Join(parts, ", ")
}
