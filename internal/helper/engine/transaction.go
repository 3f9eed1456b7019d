// This file carries out the plan of Apply step by step.

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	newFileMode = 0o644
	newDirMode  = 0o755
)

type transaction struct {
	engine *Engine
	root   *os.Root
	plan   *journal
	path   string // of the journal
}

// run makes the edits. Whatever fails, everything is undone before it returns.
func (t *transaction) run(edits []sandbox.Edit) error {
	if err := t.prepare(); err != nil {
		return err
	}
	err := t.make(edits)
	if err == nil {
		err = t.commit()
	}
	if err == nil {
		return nil
	}
	if uerr := t.undo(); uerr != nil {
		t.engine.log.Error("undo edits", "effect", t.plan.ID, "error", uerr)
		return &sandbox.Error{Class: sandbox.ClassUnknown, Op: opApply, Message: "the edits failed and could not all be undone", Err: errors.Join(err, uerr)}
	}
	return err
}

// prepare writes the journal.
func (t *transaction) prepare() error {
	seen := map[string]bool{}
	for _, s := range t.plan.Steps {
		dirs, err := missingDirs(t.root, string(s.Path))
		if err != nil {
			return err
		}
		for _, d := range dirs {
			if !seen[d] && !s.Delete {
				seen[d] = true
				t.plan.Dirs = append(t.plan.Dirs, wire.Text(d))
			}
		}
	}
	slices.Sort(t.plan.Dirs) // outer ones first
	if err := replaceDurably(t.path, t.plan); err != nil {
		return fileError(opApply, "", err)
	}
	return nil
}

func (t *transaction) make(edits []sandbox.Edit) error {
	for _, d := range t.plan.Dirs {
		if err := t.at("mkdir"); err != nil {
			return err
		}
		if err := t.root.Mkdir(string(d), newDirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return fileError(opApply, string(d), err)
		}
	}
	for i, s := range t.plan.Steps {
		if s.Delete || s.Same {
			continue
		}
		if err := t.at("stage"); err != nil {
			return err
		}
		if err := t.stage(s, edits[i]); err != nil {
			return fileError(opApply, edits[i].Path, err)
		}
	}
	for i, s := range t.plan.Steps {
		if err := t.at("swap"); err != nil {
			return err
		}
		if err := t.swap(s, edits[i]); err != nil {
			return fileError(opApply, edits[i].Path, err)
		}
	}
	return t.syncDirs()
}

// commit records the outcome, from which on the edits count as made, and removes the old contents.
func (t *transaction) commit() error {
	if err := t.at("commit"); err != nil {
		return err
	}
	if err := replaceDurably(t.engine.effectPath(t.plan.ID), outcome{ID: t.plan.ID}); err != nil {
		return fileError(opApply, "", err)
	}
	if err := t.at("clean"); err != nil {
		return nil //nolint:nilerr // made already; the rest is tidying, which the next helper repeats
	}
	if err := t.cleanUp(); err != nil {
		t.engine.log.Warn("remove old contents", "effect", t.plan.ID, "error", err)
	}
	return nil
}

// at is where tests make a step fail or the process die.
func (t *transaction) at(name string) error {
	if t.engine.fault == nil {
		return nil
	}
	return t.engine.fault(name)
}

// stage writes the new content beside its target, with the target's mode and owner.
func (t *transaction) stage(s step, edit sandbox.Edit) error {
	temp := string(s.Temp)
	mode := edit.Mode.Perm()
	if mode == 0 {
		mode = newFileMode
	}
	f, err := t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err := writeSync(f, edit.Content); err != nil {
		return err
	}
	info, err := t.root.Lstat(string(s.Path))
	if err != nil || !s.Existed {
		return nil //nolint:nilerr // a target gone meanwhile is found by the swap
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = t.root.Lchown(temp, int(st.Uid), int(st.Gid))
	}
	return t.root.Chmod(temp, info.Mode().Perm()|info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// swap puts the new content in place in one step and checks what it replaced.
func (t *transaction) swap(s step, edit sandbox.Edit) error {
	name, temp := string(s.Path), string(s.Temp)
	switch {
	case s.Same, s.Delete && !s.Existed:
		return nil
	case s.Delete:
		return t.swapDelete(s, edit)
	case !s.Existed:
		err := t.move(temp, name)
		if errors.Is(err, fs.ErrExist) {
			return conflict(edit.Path, "it exists already")
		}
		return err
	}
	err := t.exchange(temp, name)
	if errors.Is(err, fs.ErrNotExist) {
		return conflict(edit.Path, "it no longer exists")
	}
	if err != nil || edit.Before == anything {
		return err
	}
	if old, err := hashFile(t.root, temp); err != nil || old != edit.Before {
		if err := t.exchange(temp, name); err != nil {
			return err
		}
		return conflict(edit.Path, "it was changed meanwhile")
	}
	return nil
}

func (t *transaction) swapDelete(s step, edit sandbox.Edit) error {
	name, temp := string(s.Path), string(s.Temp)
	err := t.move(name, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return conflict(edit.Path, "it no longer exists")
	}
	if err != nil || edit.Before == anything || s.Link {
		return err
	}
	if old, err := hashFile(t.root, temp); err != nil || old != edit.Before {
		return conflict(edit.Path, "it was changed meanwhile") // the undo moves it back
	}
	return nil
}

// exchange swaps two files of one directory in one step. Where the file system cannot do that, a hard link keeps the
// old content while the new one is renamed over it.
func (t *transaction) exchange(temp, name string) error {
	err := t.inDir(temp, name, renameExchange)
	if !unsupported(err) {
		return err
	}
	return t.exchangeByLink(temp, name)
}

func (t *transaction) exchangeByLink(temp, name string) error {
	keep := temp + "~"
	if err := t.root.Link(name, keep); err != nil {
		return err
	}
	if err := t.root.Rename(temp, name); err != nil {
		_ = t.root.Remove(keep)
		return err
	}
	return t.root.Rename(keep, temp)
}

// move renames within one directory and never replaces anything.
func (t *transaction) move(from, to string) error {
	err := t.inDir(from, to, renameNoReplace)
	if !unsupported(err) {
		return err
	}
	return t.moveByLink(from, to)
}

func (t *transaction) moveByLink(from, to string) error {
	if err := t.root.Link(from, to); err != nil {
		return err
	}
	return t.root.Remove(from)
}

func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// inDir calls a rename with the descriptor of the directory that both names share.
func (t *transaction) inDir(from, to string, rename func(dir int, from, to string) error) error {
	dir, err := t.root.Open(path.Dir(from) + "/.")
	if err != nil {
		return err
	}
	defer dir.Close()
	raw, err := dir.SyscallConn()
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	var rerr error
	if err := raw.Control(func(fd uintptr) { rerr = rename(int(fd), path.Base(from), path.Base(to)) }); err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	return rerr
}

// syncDirs makes the renames durable.
func (t *transaction) syncDirs() error {
	seen := map[string]bool{}
	for _, s := range t.plan.Steps {
		dir := path.Dir(string(s.Path))
		if seen[dir] {
			continue
		}
		seen[dir] = true
		d, err := t.root.Open(dir + "/.")
		if errors.Is(err, fs.ErrNotExist) {
			continue // of a delete that found nothing
		}
		if err != nil {
			return fileError(opApply, dir, err)
		}
		err = d.Sync()
		_ = d.Close()
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
			return fileError(opApply, dir, err)
		}
	}
	return nil
}
