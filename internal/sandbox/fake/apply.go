// This file changes the files in memory: all edits or none, once for an id.

package fake

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	opApply      = "apply edits"
	maxEdits     = 1000
	maxEditBytes = 64 << 20
	anything     = "*" // Before: whatever is there
	newFileMode  = 0o644
)

// errCut is why an Apply goes wrong in the middle; its caller is told something else.
var errCut = errors.New("cut short")

// Apply implements sandbox.Sandbox.
func (s *Sandbox) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	if err := sandbox.CheckID(opApply, id); err != nil {
		return err
	}
	return s.do(ctx, "Apply", func() error {
		if outcome, ok := s.applied[id]; ok {
			return outcome
		}
		err := s.apply(edits)
		if final(err) {
			s.applied[id] = err
		}
		return err
	})
}

// final reports whether an outcome is to be repeated, and not a passing one such as a full disk.
func final(err error) bool {
	switch sandbox.ClassOf(err) {
	case "", sandbox.ClassInvalid, sandbox.ClassDenied, sandbox.ClassNotFound, sandbox.ClassConflict:
		return true
	}
	return false
}

// apply makes all edits or none; the mutex is held.
func (p *place) apply(edits []sandbox.Edit) error {
	targets, err := p.check(edits)
	if err != nil {
		return err
	}
	if p.steps != nil && *p.steps < len(edits) {
		return errCut // and all that was done is undone
	}
	for i, e := range edits {
		p.edit(e, targets[i])
	}
	return nil
}

// check returns where each edit goes; nothing is changed.
func (p *place) check(edits []sandbox.Edit) ([]found, error) {
	if len(edits) > maxEdits {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opApply, "at most %d files can be changed together", maxEdits)
	}
	var targets []found
	seen, total := map[string]bool{}, 0
	for _, e := range edits {
		at, err := p.target(e)
		if err == nil {
			err = at.matches(e)
		}
		if err != nil {
			return nil, err
		}
		if seen[at.path] {
			return nil, invalid(opApply, e.Path, "the file is edited twice")
		}
		seen[at.path] = true
		total += len(e.Content)
		targets = append(targets, at)
	}
	if total > maxEditBytes {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opApply, "the edits hold more than %d bytes", maxEditBytes)
	}
	return targets, nil
}

// target returns where an edit goes. Directories above a new file need not exist.
func (p *place) target(e sandbox.Edit) (found, error) {
	rel, err := clean(opApply, e.Path)
	if err != nil {
		return found{}, err
	}
	if rel == "." || strings.HasSuffix(e.Path, "/") || (e.Delete && e.Before == "") {
		return found{}, invalid(opApply, e.Path, "the edit names no file to change")
	}
	at, err := p.find(opApply, e.Path, !e.Delete)
	if sandbox.ClassOf(err) != sandbox.ClassNotFound {
		return at, err
	}
	for dir := rel; dir != "."; { // what exists of the way must be directories
		dir = path.Dir(dir)
		if at, err := p.find(opApply, dir, true); err == nil && at.node != nil {
			if at.node.children == nil {
				return found{}, missing(opApply, e.Path)
			}
			return found{path: path.Join(at.path, strings.TrimPrefix(strings.TrimPrefix(rel, dir), "/"))}, nil
		} else if sandbox.ClassOf(err) == sandbox.ClassDenied {
			return found{}, err
		}
	}
	return found{path: rel}, nil
}

// matches checks that what is there is what the caller last saw.
func (f found) matches(e sandbox.Edit) error {
	conflict := func(message string) error {
		return &sandbox.Error{Class: sandbox.ClassConflict, Op: opApply, Path: e.Path, Message: message}
	}
	switch {
	case f.node != nil && f.node.children != nil:
		return invalid(opApply, e.Path, "it is a directory")
	case f.node == nil && e.Before != "" && e.Before != anything:
		return conflict("it no longer exists")
	case f.node == nil || e.Before == anything:
		return nil
	case e.Before == "":
		return conflict("it exists already")
	case e.Before != Hash(string(f.node.data)):
		return conflict("it was changed meanwhile")
	}
	return nil
}

// edit makes one edit that was checked; the mutex is held.
func (p *place) edit(e sandbox.Edit, at found) {
	if !e.Delete {
		p.plant(at.path, &node{data: slices.Clone(e.Content), mode: modeOf(e, at.node), mtime: time.Now()})
		return
	}
	if dir, err := p.find(opApply, path.Dir(at.path), true); err == nil && dir.node != nil {
		delete(dir.node.children, at.name)
	}
}

func modeOf(e sandbox.Edit, old *node) fs.FileMode {
	if old != nil {
		return old.mode
	}
	if e.Mode.Perm() == 0 {
		return newFileMode
	}
	return e.Mode.Perm()
}
