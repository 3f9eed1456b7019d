// This file is the journal of Apply: what a step did or may have done, and how it is undone, also after a crash.

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const tempPrefix = ".sandbox-edit-"

// journal is on disk before anything in the workspace changes and goes after all of it is made or undone.
type journal struct {
	ID    string      `json:"id"`
	Nonce string      `json:"nonce"`
	Steps []step      `json:"steps"`
	Dirs  []wire.Text `json:"dirs,omitempty"` // directories to be made, the outer ones first
}

// step is one file. Temp, beside it, holds the new content first and the old one after the exchange.
type step struct {
	Path    wire.Text `json:"path"`
	Temp    wire.Text `json:"temp"`
	Delete  bool      `json:"delete,omitempty"`
	Existed bool      `json:"existed,omitempty"`
	Link    bool      `json:"link,omitempty"` // a symbolic link to be deleted
	Same    bool      `json:"same,omitempty"` // the file has its new content already: nothing is done
	New     string    `json:"new,omitempty"`  // hash of the new content
}

// recoverApply settles what a crash cut short: with a recorded outcome only the old contents are left to remove,
// otherwise everything is undone and the effect may be tried again.
func (e *Engine) recoverApply() error {
	dir := filepath.Join(e.state, journalDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name())
		var j journal
		if err := readJSON(file, &j); err != nil { // never complete, so nothing was changed
			_ = os.Remove(file)
			continue
		}
		if err := e.recoverOne(file, &j); err != nil { // the journal stays, and that effect is refused until it is undone
			e.log.Error("recover edits", "effect", j.ID, "error", err)
		}
	}
	return nil
}

// settleJournal makes sure that an earlier try of the effect has left nothing half made.
func (e *Engine) settleJournal(id string) error {
	var j journal
	err := readJSON(e.journalPath(id), &j)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = e.recoverOne(e.journalPath(id), &j)
	}
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnknown, Op: opApply, Message: "an earlier try of these edits could not be undone", Err: err}
	}
	return nil
}

func (e *Engine) recoverOne(file string, j *journal) error {
	root, err := e.openRoot(opApply)
	if err != nil {
		return err
	}
	defer root.Close()
	t := &transaction{engine: e, root: root, plan: j, path: file}
	var done outcome
	if err := readJSON(e.effectPath(j.ID), &done); err == nil && done.Error == nil {
		e.log.Info("completing edits cut short", "effect", j.ID)
		return t.cleanUp()
	}
	e.log.Info("undoing edits cut short", "effect", j.ID)
	return t.undo()
}

// undo puts back what the steps changed, last first, and leaves alone what somebody has changed since.
func (t *transaction) undo() error {
	var failed error
	for _, s := range slices.Backward(t.plan.Steps) {
		if err := t.undoStep(s); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	for _, d := range slices.Backward(t.plan.Dirs) {
		_ = t.root.Remove(string(d)) // only if empty
	}
	if failed != nil {
		return failed // the journal stays for the next try
	}
	return t.forget()
}

func (t *transaction) undoStep(s step) error {
	if s.Same {
		return nil
	}
	name, temp := string(s.Path), string(s.Temp)
	if _, err := t.root.Lstat(temp); errors.Is(err, fs.ErrNotExist) {
		if s.Existed || s.Delete {
			return nil // not staged yet, or undone already
		}
		if t.isNew(s, name) { // created: take it away again
			return t.root.Remove(name)
		}
		return nil
	}
	switch {
	case s.Delete: // temp holds what was deleted
		err := t.move(temp, name)
		if errors.Is(err, fs.ErrExist) { // somebody made a new one: theirs counts
			err = t.root.Remove(temp)
		}
		return err
	case s.Existed && t.isNew(s, name) && !t.isNew(s, temp):
		if err := t.exchange(temp, name); err != nil {
			return err
		}
		if !t.isNew(s, temp) { // changed in this very moment: theirs counts
			if err := t.exchange(temp, name); err != nil {
				return err
			}
		}
	}
	return t.root.Remove(temp)
}

// isNew reports whether the file holds the content that the step brings.
func (t *transaction) isNew(s step, name string) bool {
	info, err := t.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	h, err := hashFile(t.root, name)
	return err == nil && h == s.New
}

// cleanUp removes the old contents after all edits are made.
func (t *transaction) cleanUp() error {
	for _, s := range t.plan.Steps {
		if err := t.root.Remove(string(s.Temp)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(opApply, string(s.Path), err)
		}
	}
	return t.forget()
}

func (t *transaction) forget() error {
	if err := os.Remove(t.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove journal: %w", reason(err))
	}
	return nil
}

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// hashFile returns the sha256 of a regular file.
func hashFile(root *os.Root, name string) (string, error) {
	f, _, err := openRegular(root, opApply, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fileError(opApply, name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// missingDirs returns the directories above name that are not there, the outer ones first.
func missingDirs(root *os.Root, name string) ([]string, error) {
	var out []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := root.Stat(dir)
		if err == nil && !info.IsDir() {
			return nil, &sandbox.Error{Class: sandbox.ClassInvalid, Op: opApply, Path: dir, Message: "it is no directory"}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fileError(opApply, dir, err)
		}
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out, nil
}
