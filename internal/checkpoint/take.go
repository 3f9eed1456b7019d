// This file takes checkpoints.

package checkpoint

import (
	"context"
	"errors"
	"time"

	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

const opTake = "take a checkpoint"

// TakeOptions say what a checkpoint is for and what it shall hold.
type TakeOptions struct {
	Parent   string   // the checkpoint before it, if there is one
	Pin      *Ref     // made together with the checkpoint, whose id it gets; without, the next GC may collect it
	Excludes []string // see worktree.ScanOptions
	Limits   worktree.Limits
	Rehash   bool                    // read every file, whatever the cache says
	Progress func(worktree.Progress) // called now and then
	Timeout  time.Duration           // default DefaultTimeout
}

// Take takes a checkpoint of a workspace. When nothing changed since the parent, that is the result. It fails with
// ClassLimit over a limit, a deadline or too little disk, and then leaves no checkpoint.
func (s *Store) Take(ctx context.Context, w Workspace, o TakeOptions) (Info, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if free, err := pack.Free(s.opts.Dir); err == nil && free < s.opts.Reserve {
		return Info{}, sandbox.Errorf(sandbox.ClassLimit, opTake, "only %d MiB are left on the disk of the checkpoints (%s), of which the last %d are left alone: free some space and try again", free>>20, s.opts.Dir, s.opts.Reserve>>20)
	}
	release, err := s.share(ctx)
	if err != nil {
		return Info{}, classed(opTake, err)
	}
	defer release()
	info, err := s.take(ctx, w, o)
	if sandbox.ClassOf(err) == sandbox.ClassCorrupt && !o.Rehash && ctx.Err() == nil {
		o.Rehash = true // the cache may speak of objects that the store has lost: they are brought again
		info, err = s.take(ctx, w, o)
	}
	if err != nil && ctx.Err() != nil && caller.Err() == nil {
		return Info{}, &sandbox.Error{Class: sandbox.ClassLimit, Op: opTake, Message: "it took longer than " + o.Timeout.String(), Err: err}
	}
	return info, classed(opTake, err)
}

func (s *Store) take(ctx context.Context, w Workspace, o TakeOptions) (Info, error) {
	t := &taker{ctx: ctx, s: s, opts: o}
	var err error
	if o.Parent != "" {
		t.parent, err = s.manifest(o.Parent)
		switch {
		case sandbox.ClassOf(err) == sandbox.ClassCorrupt:
			t.opts.Parent = "" // there is none to go back to
		case err != nil:
			return Info{}, err
		}
	}
	if t.writer, err = s.packs.NewWriter(); err != nil {
		return Info{}, err
	}
	defer t.writer.Abort()
	err = w.Scan(ctx, worktree.ScanOptions{Excludes: o.Excludes, Limits: o.Limits, Rehash: o.Rehash, Progress: o.Progress}, t)
	if err == nil && t.info.ID == "" {
		err = errors.New("the workspace gave no picture")
	}
	return t.info, err
}

// taker is where a picture goes.
type taker struct {
	ctx    context.Context
	s      *Store
	opts   TakeOptions
	parent manifest
	writer *pack.Writer
	base   tree.Hash // of the checkpoint that the picture builds on
	info   Info
}

// Known implements worktree.Store.
func (t *taker) Known(id string) bool {
	m, err := t.s.manifest(id)
	if err != nil {
		return false
	}
	root, err := tree.ParseHash(m.Root)
	if err == nil && t.s.packs.Wanting() {
		err = t.s.checkComplete(t.ctx, root, tree.Empty, worktree.MaxSteps)
	}
	if err != nil {
		return false
	}
	t.base = root
	return true
}

// Has implements worktree.Store.
func (t *taker) Has(h tree.Hash) bool { return t.writer.Has(h) }

// Put implements worktree.Store.
func (t *taker) Put(h tree.Hash, data []byte) error { return t.writer.Add(h, data) }

// Commit implements worktree.Store: objects, then the manifest, then the ref.
func (t *taker) Commit(p worktree.Picture) (string, error) {
	notes := ""
	if len(p.Notes) > 0 {
		object := tree.EncodeNotes(p.Notes)
		h := tree.Sum(object)
		notes = h.String()
		if err := t.Put(h, object); err != nil {
			return "", err
		}
	}
	if err := t.writer.Commit(); err != nil {
		return "", err
	}
	files := t.opts.Limits.Files
	if files <= 0 {
		files = worktree.DefaultFiles
	}
	if err := t.s.checkComplete(t.ctx, p.Root, t.base, files); err != nil {
		return "", err
	}
	m, id := newManifest(p, t.opts.Parent, notes), t.opts.Parent
	reused := id != "" && t.parent.Root == m.Root && t.parent.Notes == m.Notes
	if reused {
		m = t.parent
	} else {
		var err error
		if id, err = t.s.writeManifest(m); err != nil {
			return "", err
		}
	}
	if t.opts.Pin != nil {
		t.opts.Pin.Checkpoint = id
		if err := t.s.Pin(*t.opts.Pin); err != nil {
			return "", err
		}
	}
	var err error
	if t.info, err = t.s.info(id, m); err != nil {
		return "", err
	}
	t.info.Reused = reused
	_, t.info.Grown = t.writer.Added()
	return id, nil
}
