// This file names what switch, fork, adopt and restore pass between servers, workflows and activities. All of it is bounded:
// lists are cut by who makes them, content is in checkpoints.

package agent

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// HoldUnsaved tells a worker which files on its host, absolute paths, an editor shows with unsaved changes. It holds for as
// long as the call lasts, or until a later one (a greater N) of the same Holder comes.
type HoldUnsaved struct {
	Holder string   `json:"holder"`
	N      int64    `json:"n"`
	Files  []string `json:"files"`
	// Editor is by which name the editor's server takes changes of these documents; "": it takes none.
	Editor string `json:"editor,omitempty"`
}

// SwitchInput asks a session to move.
type SwitchInput struct {
	editors.SwitchParams
	By   string            `json:"by,omitempty"`
	Held map[string]string `json:"held,omitempty"` // as of a restore; of the workspace that the session comes to
}

// RestoreInput asks a session to go back to a checkpoint.
type RestoreInput struct {
	editors.RestoreParams
	Held map[string]string `json:"held,omitempty"` // paths that an editor shows with unsaved changes, and why they stay
}

// ForkPointInput asks a session where a fork of it would begin: at the end of a turn, or now when TurnID is 0. The answer to
// a RequestID never changes.
type ForkPointInput struct {
	RequestID string `json:"requestId"`
	TurnID    int    `json:"turnId,omitempty"`
}

// ForkPoint is all that a fork takes from its source.
type ForkPoint struct {
	Session  editors.Session `json:"session"` // the source
	Sandbox  Sandbox         `json:"sandbox"` // of the source
	Turn     TurnEnd         `json:"turn"`    // ID 0: before the first turn
	Items    []editors.Item  `json:"items,omitempty"`
	Turns    []TurnEnd       `json:"turns,omitempty"` // of Items
	Sealed   string          `json:"sealed,omitempty"`
	NextItem int             `json:"nextItem"`
	Seq      int64           `json:"seq"`               // the fork's events go on from here, so that all its items are in order
	Rules    []policy.Rule   `json:"rules,omitempty"`   // for a fork on the same kind of backend
	GitBase  string          `json:"gitBase,omitempty"` // the user's own tree that the source's workspace began as, when it is not at home
	Notice   string          `json:"notice,omitempty"`  // what the user should know of it, one sentence
}

// FindInput asks for the fork point of a turn whose end is in the segments behind Point.Sealed; Point has everything else. The
// items of the answer are those of the segment that belong to the turn or are older, then Point.Items: those few of the same
// turns that are not sealed.
type FindInput struct {
	Point  ForkPoint `json:"point"`
	TurnID int       `json:"turnId"`
}

// OfferInput asks a fork for what its parent would adopt.
type OfferInput struct {
	RequestID string `json:"requestId"`
}

// Offer is a fork's workspace now, and what of it the parent has already.
type Offer struct {
	ForkID       string  `json:"forkId"`
	ParentID     string  `json:"parentId"`
	Base         string  `json:"base"`         // checkpoint
	CheckpointID string  `json:"checkpointId"` // of now
	Title        string  `json:"title"`        // of the fork
	Sandbox      Sandbox `json:"sandbox"`      // of the fork
}

// AdoptInput asks the parent to take what a fork offers.
type AdoptInput struct {
	RequestID  string             `json:"requestId"`
	Offer      Offer              `json:"offer"`
	OnConflict editors.OnConflict `json:"onConflict,omitempty"`
	By         string             `json:"by,omitempty"`
	Held       map[string]string  `json:"held,omitempty"` // as of a restore; of the parent's workspace
}

// AdoptedSignal tells a fork up to which checkpoint its parent has its changes. With Instead set it holds only while that
// is what the fork believes: the parent has gone back behind an adoption.
type AdoptedSignal struct {
	CheckpointID string `json:"checkpointId"`
	Instead      string `json:"instead,omitempty"`
}

// Failure says why an activity could not do what was asked, as a value: nothing was changed.
type Failure struct {
	Code    editors.Code `json:"code"`
	Message string       `json:"message"` // one sentence
	Remedy  string       `json:"remedy,omitempty"`
	Detail  string       `json:"detail,omitempty"` // of conflicts: the paths, one a line
}

// Refusal is what an update fails with because of the failure. Who asked gets all of it.
func (f Failure) Refusal() error {
	return temporal.NewNonRetryableApplicationError(f.Message, string(f.Code), nil, f)
}

// maxDetail bounds the paths in a failure.
const maxDetail = 4 << 10

// ConflictFailure tells of conflicts that keep a carry from being done; what is as in "switching to local".
func ConflictFailure(what string, c editors.Carry) Failure {
	var paths strings.Builder
	told := 0
	for _, conflict := range c.Conflicts {
		if paths.Len()+len(conflict.Path) > maxDetail {
			break
		}
		paths.WriteString(conflict.Path + "\n")
		told++
	}
	if more := max(c.ConflictsAll, len(c.Conflicts)) - told; more > 0 {
		fmt.Fprintf(&paths, "and %d more\n", more)
	}
	return Failure{
		Code:    editors.CodeConflict,
		Message: fmt.Sprintf("%s would meet %s, so nothing was changed", what, count(max(c.ConflictsAll, len(c.Conflicts)), "conflict")),
		Remedy:  "Decide with onConflict (--on-conflict in a terminal): mine keeps the version that is there, theirs takes the one that comes. The other stays in a checkpoint.",
		Detail:  strings.TrimSuffix(paths.String(), "\n"),
	}
}

// OpenInput asks for a fresh sandbox that holds the tree of a checkpoint, checked and healthy. It is the session's own from
// then on: the checkpoint is kept for it. Whatever fails, nothing of the sandbox is left. Repeating an Effect is harmless.
// Taken is, of a fork, what its parent has of it.
type OpenInput struct {
	Sandbox              // the one to make
	From         Sandbox `json:"from"`           // where the tree comes from
	CheckpointID string  `json:"checkpointId"`   // of From; "": of its folder as it is found
	Base         string  `json:"base,omitempty"` // the user's own tree that it began as; git's configuration and hooks are taken from there
	Taken        string  `json:"taken,omitempty"`
	IntoNonEmpty bool    `json:"intoNonEmpty,omitempty"`
	Effect       string  `json:"effect"`
	Reason       string  `json:"reason,omitempty"` // switch, fork, recover or start: what the checkpoint is kept for
	TurnID       int     `json:"turnId,omitempty"`
	DryRun       bool    `json:"dryRun,omitempty"`
}

// MergeInput asks to bring what changed from Base to Theirs into a workspace that has files of its own.
type MergeInput struct {
	Sandbox                       // the target
	From       Sandbox            `json:"from"` // where Theirs was taken
	Base       string             `json:"base,omitempty"`
	Theirs     string             `json:"theirs"`
	OnConflict editors.OnConflict `json:"onConflict,omitempty"`
	Held       map[string]string  `json:"held,omitempty"`
	Effect     string             `json:"effect"`
	TurnID     int                `json:"turnId,omitempty"`
	Summary    string             `json:"summary"` // of the undo checkpoint
	DryRun     bool               `json:"dryRun,omitempty"`
}

// CarryOutput is the outcome of an OpenInput or MergeInput. CheckpointID is the target's tree afterwards, as far as it is
// known without looking again; Base what a later way back is compared with, Taken what a later adoption is.
type CarryOutput struct {
	Carry        editors.Carry `json:"carry"`
	CheckpointID string        `json:"checkpointId,omitempty"`
	Base         string        `json:"base,omitempty"`
	Taken        string        `json:"taken,omitempty"`
	Undo         string        `json:"undo,omitempty"`
	Applied      bool          `json:"applied"` // false: there are conflicts, and nothing was changed
	Notes        []string      `json:"notes,omitempty"`
	LeftBehind   int           `json:"leftBehind,omitempty"` // paths that have content and are nowhere but in the sandbox that was left
	Failure      *Failure      `json:"failure,omitempty"`
}

// RestoreTask asks to restore, once under its Effect.
type RestoreTask struct {
	Sandbox
	Restore RestoreInput `json:"restore"`
	Effect  string       `json:"effect"`
}

// RestoreOutput is the outcome.
type RestoreOutput struct {
	Result  editors.RestoreResult `json:"result"`
	Summary string                `json:"summary,omitempty"` // of the checkpoint
	Failure *Failure              `json:"failure,omitempty"`
}

// EnsureOutput tells whether a sandbox is ready for commands. Gone: it, or its files, do not exist any more.
type EnsureOutput struct {
	Gone    bool     `json:"gone,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}
