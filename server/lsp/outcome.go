// This file says what a command has done to a workspace, for clients that show no results of commands.

package lsp

import (
	"encoding/json"
	"fmt"
	"strings"

	"sandboxagent/editors"
)

const shortCheckpoint = 12 // characters of an id that people see

// outcome says in a sentence or two what a command that brings files somewhere has done, or would do; "" for others.
func outcome(name string, result any, arguments json.RawMessage) string {
	var p struct {
		DryRun bool `json:"dryRun"`
	}
	dry := json.Unmarshal(unwrap(arguments), &p) == nil && p.DryRun
	switch r := result.(type) {
	case editors.SwitchResult:
		return switchOutcome(r, dry)
	case editors.AdoptResult:
		if dry {
			return "The fork would bring: " + r.Carry.Summary() + "."
		}
		return "The fork's changes are in its parent's workspace: " + r.Carry.Summary() + undoOf(r.Undo, r.Carry.Changes())
	case editors.RestoreResult:
		return restoreOutcome(r, dry)
	case editors.SessionResult:
		if name == editors.Fork.Name {
			return strings.TrimSpace(forkOutcome(r.Session) + " " + r.Notice)
		}
	case editors.DestroyResult:
		return r.Remains
	}
	return ""
}

func switchOutcome(r editors.SwitchResult, dry bool) string {
	switch {
	case dry:
		return fmt.Sprintf("A switch to %s would bring: %s.", r.Backend.Kind, r.Carry.Summary())
	case r.Queued:
		return fmt.Sprintf("The session leaves %s when turn %d has ended.", r.Backend.Kind, r.AfterTurnID)
	}
	return fmt.Sprintf("The session runs in %s now: %s", r.Backend.Kind, r.Carry.Summary()) + undoOf(r.Undo, r.Carry.Changes())
}

func restoreOutcome(r editors.RestoreResult, dry bool) string {
	verb := "Restored"
	if dry {
		verb = "To be restored"
	}
	text := fmt.Sprintf("%s: %d", verb, len(r.Restored))
	if stay := len(r.Kept) + len(r.Conflicts); stay > 0 {
		text += fmt.Sprintf(", left as they are: %d", stay)
	}
	return text + undoOf(r.Undo, len(r.Restored))
}

func forkOutcome(s editors.Session) string {
	path, ok := filePath(s.WorkspaceFolder)
	if s.Backend.WorkspaceRoot != "" {
		path, ok = s.Backend.WorkspaceRoot, true
	}
	if ok && s.Backend.Kind == editors.Local {
		return fmt.Sprintf("The fork %q works in %s.", s.Title, path)
	}
	return fmt.Sprintf("The fork %q runs in %s.", s.Title, s.Backend.Kind)
}

// undoOf ends a sentence that tells of changes, and says how to undo them.
func undoOf(checkpoint string, changes int) string {
	if checkpoint == "" || changes == 0 {
		return "."
	}
	return ". To undo it, restore the checkpoint " + checkpoint[:min(len(checkpoint), shortCheckpoint)] + "."
}
