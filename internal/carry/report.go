// This file says in the contract's words what a carry does.

package carry

import (
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
)

// report adds the outcome of a merge to what travelled.
func report(carry *editors.Carry, m checkpoint.Merged) {
	carry.Added, carry.Changed, carry.Removed, carry.Merged, carry.Bytes = 0, 0, 0, 0, m.Bytes
	carry.Files = []editors.FileChange{}
	for _, f := range m.Files {
		kind := "changed"
		switch f.Kind {
		case checkpoint.Added:
			kind = "added"
			carry.Added++
		case checkpoint.Removed:
			kind = "removed"
			carry.Removed++
		case checkpoint.Joined:
			kind = "merged"
			carry.Merged++
			carry.Changed++
		default:
			carry.Changed++
		}
		if len(carry.Files) < maxFiles {
			carry.Files = append(carry.Files, editors.FileChange{Path: text(f.Path), Kind: kind})
		}
	}
	for _, k := range m.Kept {
		skip(carry, k.Path, k.Reason)
	}
	carry.ConflictsAll = len(m.Conflicts)
	for _, k := range m.Conflicts[:min(len(m.Conflicts), maxSkipped)] {
		carry.Conflicts = append(carry.Conflicts, editors.Skipped{Path: text(k.Path), Reason: k.Reason})
	}
}

// skip notes a path that does not travel.
func skip(carry *editors.Carry, path, reason string) {
	if carry.SkippedAll++; len(carry.Skipped) < maxSkipped {
		carry.Skipped = append(carry.Skipped, editors.Skipped{Path: text(path), Reason: reason})
	}
}

// text makes a path what JSON can hold.
func text(path string) string { return strings.ToValidUTF8(path, "\ufffd") }
