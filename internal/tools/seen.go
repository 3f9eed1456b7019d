// This file remembers what the model last saw of a file, so that what somebody has changed since is never overwritten unseen.

package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

const (
	// seenSlots bounds how many files a session remembers. Of two that share a slot the later one is known.
	seenSlots  = 4096
	excerptTop = 5  // lines shown before the place that a patch may have meant
	excerptAll = 60 // lines shown in all
)

// seenFile is what the model last saw of a file, or wrote into it.
type seenFile struct {
	Path string `json:"path"`
	Sum  string `json:"sum"` // sha256, hex; "" when it saw it go
}

func seenKey(path string) string {
	h := fnv.New32a()
	h.Write([]byte(path))
	return fmt.Sprintf("seen %d", h.Sum32()%seenSlots)
}

// saw notes what the model now knows of a file. If it cannot be noted, a patch of the file has to be more exact than need be.
func saw(ctx context.Context, env Env, path, sum string) {
	if lastSeen(ctx, env, path) != sum {
		_ = savePlan(ctx, env, seenKey(path), seenFile{path, sum})
	}
}

// lastSeen returns the hash of what the model last saw of a file; "" when that is not known.
func lastSeen(ctx context.Context, env Env, path string) string {
	var seen seenFile
	if known, err := loadPlan(ctx, env, seenKey(path), &seen); err != nil || !known || seen.Path != path {
		return ""
	}
	return seen.Sum
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// stale tells whether a file has changed since the model saw it.
func (f filesOf) stale(name string, data []byte) bool {
	f.now[name] = data
	seen := lastSeen(f.ctx, f.env, name)
	if seen == "" || seen == sumOf(data) {
		return false
	}
	f.seen[name] = seen
	return true
}

// saw returns what the model knows of the files once the changes are made. What it has not seen of a file, it does not know
// because it has changed something else in it.
func (f filesOf) saw(changes []patch.Change) map[string]string {
	all := map[string]string{}
	for _, c := range changes {
		source := c.Path
		if c.From != "" {
			source = c.From
		}
		switch before, stale := f.seen[source]; {
		case c.After == nil:
			all[c.Path] = ""
		case stale:
			all[c.Path] = before
		default:
			all[c.Path] = sumOf(c.After.Data)
		}
	}
	return all
}

// summarize says in one line what became of a file, and whether there is something in it that the model does not know.
func (f filesOf) summarize(c patch.Change) string {
	text := summarize(c)
	source := c.Path
	if c.From != "" {
		source = c.From
	}
	if _, stale := f.seen[source]; !stale || text == "" {
		return text
	}
	return strings.TrimSuffix(text, "\n") + "; it had been changed since you last saw it: those changes are kept, read it again to see them\n"
}

// refused explains why a patch does not apply. Where it does not fit, the model is shown what is there, which saves it a look.
func (f filesOf) refused(err error) (patchPlan, error) {
	var e *patch.Error
	if !errors.As(err, &e) || e.Code != patch.Conflict {
		return patchPlan{}, err
	}
	data, ok := f.now[e.Path]
	if !ok || bytes.IndexByte(data, 0) >= 0 {
		return patchPlan{}, err
	}
	text := e.Error()
	if _, stale := f.seen[e.Path]; stale {
		text = show(e.Path) + " was changed since you last saw it, by the user or a command; nothing was written: " + e.Message
	}
	result := failed(&sandbox.Error{Class: sandbox.ClassConflict, Op: "apply patch", Message: text})
	excerpt, seen := excerptOf(data, e.Candidates)
	if excerpt == "" {
		return patchPlan{}, err
	}
	result.ForModel += "\n" + excerpt
	if seen {
		saw(f.ctx, f.env, e.Path, sumOf(data))
	}
	return patchPlan{Result: result}, nil
}

// excerptOf shows the lines of a file around those that a patch may have meant; seen says whether that is enough to go on from.
func excerptOf(data []byte, candidates []int) (text string, seen bool) {
	r := newReader(readArgs{Limit: excerptAll})
	if len(candidates) > 0 {
		r = newReader(readArgs{Offset: candidates[0] - excerptTop, Limit: excerptAll})
	}
	r.eightBit = patch.EightBit(data)
	r.read(data)
	lines, left := headLines(r.out.String(), MaxModelBytes-maxError-notesRoom)
	last := r.shown - left
	if lines == "" {
		return "", false
	}
	whole := r.first == 1 && last == r.line-1
	if whole {
		return "The file is now:\n" + lines, true
	}
	return fmt.Sprintf("Lines %d to %d of the file are now:\n%s", r.first, last, lines), len(candidates) > 0
}
