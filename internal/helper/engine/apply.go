// This file makes a set of edits happen together or not at all.
//
// All new contents are staged beside their targets first. Then each is exchanged with its target in one step, and what
// came out is compared with what the caller last saw: a change by someone else, however late, is put back untouched and
// everything is undone. A journal in the state directory lets the next helper undo or complete what a crash cut short.

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	opApply    = "apply edits"
	effectsDir = "effects"
	journalDir = "journal"

	maxEdits     = 1000
	maxEditBytes = 64 << 20 // of all contents together
	maxHops      = 40       // links followed to a file
	anything     = "*"      // Before: whatever is there
)

// outcome is the record of an effect: nil Error means that all edits were made.
type outcome struct {
	ID    string      `json:"id"`
	Error *wire.Error `json:"error,omitempty"`
}

// Apply implements the method of sandbox.Sandbox. An edit of a link changes the file it leads to, if that lies inside;
// a delete removes the link. A file with several hard links is replaced, so the other names keep the old content.
func (e *Engine) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	if err := sandbox.CheckID(opApply, id); err != nil {
		return err
	}
	e.applying.Lock()
	defer e.applying.Unlock()
	if err := ctx.Err(); err != nil {
		return canceled(ctx, opApply)
	}
	var old outcome
	err := readJSON(e.effectPath(id), &old)
	switch {
	case err == nil && old.Error == nil:
		return nil
	case err == nil:
		return old.Error.Sandbox()
	case !errors.Is(err, fs.ErrNotExist):
		return &sandbox.Error{Class: sandbox.ClassCorrupt, Op: opApply, Message: "the record of the effect is damaged", Err: err}
	}
	if err := e.settleJournal(id); err != nil {
		return err
	}
	err = e.applyNew(id, edits)
	if final(err) {
		if rerr := replaceDurably(e.effectPath(id), outcome{id, wire.FromError(err)}); rerr != nil {
			e.log.Error("record effect", "effect", id, "error", rerr)
		}
	}
	return err
}

// final reports whether a failure is an outcome to be repeated, and not a passing one such as a full disk.
func final(err error) bool {
	switch sandbox.ClassOf(err) {
	case sandbox.ClassInvalid, sandbox.ClassDenied, sandbox.ClassNotFound, sandbox.ClassConflict:
		return true
	}
	return false
}

func (e *Engine) effectPath(id string) string {
	return filepath.Join(e.state, effectsDir, hashID(id)+".json")
}

func (e *Engine) journalPath(id string) string {
	return filepath.Join(e.state, journalDir, hashID(id)+".json")
}

func (e *Engine) applyNew(id string, edits []sandbox.Edit) error {
	root, err := e.openRoot(opApply)
	if err != nil {
		return err
	}
	defer root.Close()
	plan, err := e.plan(root, id, edits)
	if err != nil {
		return err
	}
	t := &transaction{engine: e, root: root, plan: plan, path: e.journalPath(id)}
	return t.run(edits)
}

// plan checks the edits and resolves their targets; nothing is changed.
func (e *Engine) plan(root *os.Root, id string, edits []sandbox.Edit) (*journal, error) {
	if len(edits) > maxEdits {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opApply, "at most %d files can be changed together", maxEdits)
	}
	total := 0
	seen := map[string]bool{}
	j := &journal{ID: id, Nonce: hashID(id)[:8]}
	for i, edit := range edits {
		total += len(edit.Content)
		step, err := e.planStep(root, edit)
		if err != nil {
			return nil, err
		}
		if seen[string(step.Path)] {
			return nil, &sandbox.Error{Class: sandbox.ClassInvalid, Op: opApply, Path: edit.Path, Message: "the file is edited twice"}
		}
		seen[string(step.Path)] = true
		step.Temp = wire.Text(path.Join(path.Dir(string(step.Path)), fmt.Sprintf("%s%s-%d", tempPrefix, j.Nonce, i)))
		j.Steps = append(j.Steps, step)
	}
	if total > maxEditBytes {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opApply, "the edits hold more than %d bytes", maxEditBytes)
	}
	return j, nil
}

func (e *Engine) planStep(root *os.Root, edit sandbox.Edit) (step, error) {
	var none step
	rel, err := e.rel(opApply, edit.Path)
	if err != nil {
		return none, err
	}
	if rel == "." || strings.HasSuffix(edit.Path, "/") || (edit.Delete && edit.Before == "") {
		return none, &sandbox.Error{Class: sandbox.ClassInvalid, Op: opApply, Path: edit.Path, Message: "the edit names no file to change"}
	}
	target := rel
	if !edit.Delete {
		if target, err = resolve(root, rel); err != nil {
			return none, fileError(opApply, rel, err)
		}
	}
	if insideGit(rel) || insideGit(target) {
		return none, &sandbox.Error{Class: sandbox.ClassDenied, Op: opApply, Path: edit.Path, Message: "what is in .git is changed by git alone, as git runs what stands there"}
	}
	st := step{Path: wire.Text(target), Delete: edit.Delete}
	if !edit.Delete {
		st.New = hashBytes(edit.Content)
	}
	info, err := root.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return none, fileError(opApply, rel, err)
	case info.Mode()&fs.ModeSymlink == 0:
		if err := regular(opApply, rel, info); err != nil {
			return none, err
		}
		st.Existed = true
	default: // a link to be deleted
		st.Existed, st.Link = true, true
	}
	if !st.Existed {
		if edit.Before != "" && edit.Before != anything {
			return none, conflict(rel, "it no longer exists")
		}
		return st, nil
	}
	if edit.Before == "" {
		return none, conflict(rel, "it exists already")
	}
	if st.Link && edit.Before == anything {
		return st, nil
	}
	now, err := hashFile(root, rel)
	if err != nil {
		return none, fileError(opApply, rel, err)
	}
	if edit.Before != anything && now != edit.Before {
		return none, conflict(rel, "it was changed meanwhile")
	}
	st.Same = now == st.New
	return st, nil
}

func conflict(rel, message string) error {
	return &sandbox.Error{Class: sandbox.ClassConflict, Op: opApply, Path: rel, Message: message}
}

// resolve follows the links at the end of a path, inside the workspace, to the name of the file they lead to, which
// need not exist.
func resolve(root *os.Root, rel string) (string, error) {
	for range maxHops {
		info, err := root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Mode()&fs.ModeSymlink == 0) {
			return rel, nil
		}
		if err != nil {
			return "", err
		}
		target, err := root.Readlink(rel)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			return "", denied(opApply, rel)
		}
		rel = path.Join(path.Dir(rel), target)
		if rel == ".." || strings.HasPrefix(rel, "../") {
			return "", denied(opApply, rel)
		}
	}
	return "", sandbox.Errorf(sandbox.ClassDenied, opApply, "too many symbolic links")
}
