// This file says in the contract's words what a carry does.

package carry

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// report adds the outcome of a merge to what travelled.
func report(carry *editors.Carry, m checkpoint.Merged) {
	carry.Added, carry.Changed, carry.Removed, carry.Merged, carry.Bytes = 0, 0, 0, 0, m.Bytes
	carry.Files = []editors.FileChange{}
	above := directories(m.Files)
	for _, f := range m.Files {
		if above[f.Path] {
			continue // what is in it is told
		}
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

// directories returns those that a change is in.
func directories(files []checkpoint.FileChange) map[string]bool {
	above := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	return above
}

// leftThere notes what the source has and no checkpoint holds, but for what is told, and counts what of it has content.
func leftThere(carry *editors.Carry, notes []tree.Note, told []worktree.Kept) (holding int) {
	known := make(map[string]bool, len(told))
	for _, k := range told {
		known[k.Path] = true
	}
	for _, n := range notes {
		if n.Reason.Holds() {
			holding++
		}
		if n.Reason.Left() && !known[n.Path] {
			skip(carry, n.Path, n.Reason.String())
		}
	}
	return holding
}

// skip notes a path that does not travel.
func skip(carry *editors.Carry, name, reason string) {
	if carry.SkippedAll++; len(carry.Skipped) < maxSkipped {
		carry.Skipped = append(carry.Skipped, editors.Skipped{Path: text(name), Reason: reason})
	}
}

// text makes a path what JSON can hold.
func text(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

// noRoom says of a disk that is too small where it is, and for how much.
func noRoom(o *Opening, t *travelling, err error) error {
	var known *sandbox.Error
	if !errors.As(err, &known) || known.Message != worktree.NoSpace {
		return err
	}
	place := "on the disk of the new sandbox"
	if o.To.local() {
		place = "in " + o.To.Spec.Workspace
	}
	return &sandbox.Error{
		Class: sandbox.ClassLimit, Op: opOpen, Err: err,
		Message: fmt.Sprintf("there is no room %s for what would come, about %d MiB; nothing was changed: free some space there, or choose another place", place, max(t.sent.Bytes>>20, 1)),
	}
}
