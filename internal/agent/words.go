// This file puts what was carried into words, for people and for the model.

package agent

import (
	"fmt"
	"strconv"
	"strings"

	"sandboxagent/editors"
)

// Bounds of what is told and kept of a carry or a restore.
const (
	maxTold     = 5        // names in a sentence
	maxName     = 120      // bytes of one
	maxListed   = 100      // entries of a list
	maxListSize = 12 << 10 // bytes of one
)

const doesNotTravel = "packages, running processes and background commands did not travel"

// sentence is the failure as a notice tells it.
func (f Failure) sentence() string {
	text := strings.TrimSuffix(f.Message, ".") + "."
	if f.Detail != "" {
		paths := strings.Split(f.Detail, "\n")
		text = strings.TrimSuffix(text, ".") + ": " + listed(paths, len(paths)) + "."
	}
	if f.Remedy != "" {
		text += " " + f.Remedy
	}
	return text
}

// note tells the model something of its surroundings before its next answer. Only the newest notes are kept.
func (s *State) note(sentences ...string) {
	p := noteEntry(sentences...)
	notes, oldest := 0, -1
	for i, old := range s.Pending {
		if old.Note {
			if notes++; oldest < 0 {
				oldest = i
			}
		}
	}
	if notes >= maxNotes {
		s.Pending = append(append([]Pending(nil), s.Pending[:oldest]...), s.Pending[oldest+1:]...)
	}
	s.Pending = append(s.Pending, p)
}

func noteEntry(sentences ...string) Pending {
	var said []string
	for _, text := range sentences {
		if text != "" {
			said = append(said, text)
		}
	}
	return Pending{Kind: "user", Note: true, Text: "<environment>\nThis is from the program that runs you, not from the user. " + strings.Join(said, " ") + "\n</environment>"}
}

// count is n things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// filesOf is a workspace of n files in words; 0: nobody counted.
func filesOf(n int) string {
	if n == 0 {
		return "the workspace"
	}
	return count(n, "file")
}

// listed names the first of all things.
func listed(names []string, all int) string {
	told := firstOf(names, maxTold, maxName)
	text := strings.Join(told, ", ")
	if more := all - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// firstOf returns at most n texts of at most bytes each.
func firstOf(texts []string, n, bytes int) []string {
	var out []string
	for _, text := range texts[:min(n, len(texts))] {
		out = append(out, preview(text, bytes))
	}
	return out
}

func pathsOf(skipped []editors.Skipped) []string {
	var out []string
	for _, s := range skipped {
		out = append(out, s.Path)
	}
	return out
}

// came tells how many files a carry has brought.
func came(c editors.Carry) string {
	var parts []string
	for _, part := range []struct {
		n    int
		verb string
	}{{c.Added, "added"}, {c.Changed, "changed"}, {c.Removed, "removed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(part.n, "file"), part.verb))
		}
	}
	if len(parts) == 0 {
		return "no file changed"
	}
	text := strings.Join(parts, ", ")
	if c.Merged > 0 {
		text += fmt.Sprintf(" (%d of the changed with the changes of both sides)", c.Merged)
	}
	return text
}

// carriedAll tells how many files a fresh sandbox was filled with.
func carriedAll(c editors.Carry) string {
	if c.Added+c.Changed == 0 {
		return "there was no file to carry"
	}
	return filesOf(c.Added+c.Changed) + " carried"
}

// leftOut names what did not travel.
func leftOut(c editors.Carry) string {
	all := max(c.SkippedAll, len(c.Skipped))
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("; %s left out: %s", count(all, "path"), listed(pathsOf(c.Skipped), all))
}

// undecided names the conflicts that are left, with why: what was to give way to what came is none any more.
func undecided(c editors.Carry) string {
	all := max(c.ConflictsAll, len(c.Conflicts))
	if all == 0 {
		return ""
	}
	var told []string
	for _, s := range c.Conflicts[:min(maxTold, len(c.Conflicts))] {
		told = append(told, withReason(s.Path, s.Reason))
	}
	return fmt.Sprintf("; %s, where the version that was here stays: %s", count(all, "conflict"), listed(told, all))
}

func withReason(path, reason string) string {
	if reason == "" {
		return path
	}
	return fmt.Sprintf("%s (%s)", preview(path, maxName/2), reason)
}

// undoHint says how to go back.
func undoHint(undo string) string {
	if undo == "" {
		return "."
	}
	return fmt.Sprintf(". To go back, restore the checkpoint that was taken before (%s).", short(undo))
}

// short is as much of a checkpoint's id as people need.
func short(id string) string { return preview(id, 12) }

// called is what people know a checkpoint by: its summary, if that is known and does not name another one in turn.
func called(summary, id string) string {
	if summary == "" || strings.Contains(summary, " restoring ") {
		return short(id)
	}
	return strconv.Quote(preview(summary, maxName))
}

// stays names the first of the paths that an operation has left as they are, with why.
func stays(paths []string, reasons map[string]string) string {
	if len(paths) == 0 {
		return ""
	}
	var told []string
	for _, path := range paths[:min(maxTold, len(paths))] {
		told = append(told, withReason(path, reasons[path]))
	}
	verb := "stay"
	if len(paths) == 1 {
		verb = "stays"
	}
	return fmt.Sprintf("; %s %s: %s", count(len(paths), "file"), verb, listed(told, len(paths)))
}

// cutCarry bounds what is told of a carry; its counts stay.
func cutCarry(c editors.Carry) editors.Carry {
	c.Files, c.Skipped, c.Conflicts = cutList(c.Files), cutList(c.Skipped), cutList(c.Conflicts)
	return c
}

// cutRestore bounds what is told of a restore.
func cutRestore(r editors.RestoreResult) editors.RestoreResult {
	before := len(r.Restored) + len(r.Files) + len(r.Kept) + len(r.Conflicts)
	r.Restored, r.Files, r.Kept, r.Conflicts = cutList(r.Restored), cutList(r.Files), cutList(r.Kept), cutList(r.Conflicts)
	reasons := map[string]string{}
	for _, list := range [][]string{r.Kept, r.Conflicts} {
		for _, path := range list {
			if reason, ok := r.Reasons[path]; ok {
				reasons[path] = preview(reason, maxName)
			}
		}
	}
	r.Reasons = reasons
	r.Truncated = r.Truncated || before > len(r.Restored)+len(r.Files)+len(r.Kept)+len(r.Conflicts)
	return r
}

func cutList[T any](list []T) []T {
	out, bytes := []T{}, 0
	for _, e := range list {
		if bytes += size(e); len(out) == maxListed || bytes > maxListSize {
			break
		}
		out = append(out, e)
	}
	return out
}
