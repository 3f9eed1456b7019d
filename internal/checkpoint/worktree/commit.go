// This file makes a change, when all of its content lies beside the tree: step by step, each undone when a later one
// fails, each done again without harm after a crash.

package worktree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Commit makes the change. Steps whose path is not as expected are left out and told in the outcome; when anything else
// fails, the tree is as it was and the change has to begin anew.
func (t *Tree) Commit(ctx context.Context, id string) (Outcome, error) {
	t.changing.Lock()
	defer t.changing.Unlock()
	n, err := t.find(ctx, id)
	if err != nil {
		return t.repeated(ctx, id, err)
	}
	if ctx.Err() != nil {
		return Outcome{}, canceled(ctx, opChange)
	}
	if err := n.complete(); err != nil {
		return Outcome{}, err
	}
	if err = n.ready(ctx); err != nil {
		t.drop()
		return Outcome{}, err
	}
	o, err := n.carryOut()
	t.current = nil
	n.close()
	unlock(n.lock)
	return o, err
}

// repeated returns the outcome of a change that was made before.
func (t *Tree) repeated(ctx context.Context, id string, unknown error) (Outcome, error) {
	lock, err := t.lockChanges()
	if err != nil {
		return Outcome{}, err
	}
	defer unlock(lock)
	if o, err := t.settle(ctx, id); err != nil || o != nil {
		return *orEmpty(o), err
	}
	return Outcome{}, unknown
}

func orEmpty(o *Outcome) *Outcome {
	if o == nil {
		return &Outcome{}
	}
	return o
}

// ready does what is left to be done beside the tree, makes it durable and locks the folder; from then on a crash leads
// to the change.
func (n *change) ready(ctx context.Context) error {
	if err := n.fault("ready"); err != nil {
		return fileError("", err)
	}
	if err := n.stageLinks(); err != nil {
		return err
	}
	if n.Fresh {
		if err := n.finishFreshDirs(); err != nil {
			return err
		}
	} else if err := n.inherit(); err != nil {
		return err
	}
	if err := n.sync(); err != nil {
		return err
	}
	if err := alone(ctx, n.root); err != nil {
		return err
	}
	if n.Fresh {
		if err := n.checkEmpty(); err != nil {
			return err
		}
	}
	return n.mark()
}

// mark tells everybody that the tree is being changed.
func (n *change) mark() error {
	if err := makeFile(n.dir, commitMark); err != nil {
		return fileError(n.stage, err)
	}
	if err := unix.Fsync(n.dir); err != nil {
		return fileError(n.stage, err)
	}
	if err := n.fault("mark"); err != nil {
		return fileError("", err)
	}
	return n.record(phaseCommitting, nil)
}

// finishFreshDirs sets the permissions and times of the directories of a fresh tree, those at the top excepted: they
// are still to be moved, for which they must be writable.
func (n *change) finishFreshDirs() error {
	f := n.finder()
	defer f.close()
	for i := range slices.Backward(n.Steps) {
		s := &n.Steps[i]
		if s.After.Kind != tree.Dir || !strings.Contains(s.Path, "/") {
			continue
		}
		if err := n.finishDir(f, s); err != nil {
			return fileError(s.Path, err)
		}
	}
	return nil
}

func (n *change) finishDir(f *finder, s *Step) error {
	dir, name, err := f.find(s.Path)
	if err != nil {
		return err
	}
	if err := setTimeAt(dir, name, s.After.Mtime); err != nil {
		return err
	}
	return chmodAt(dir, name, uint32(s.After.Mode))
}

// sync makes what was staged, or moved, durable.
func (n *change) sync() error {
	err := n.fault("sync")
	switch {
	case err != nil:
	case n.many || n.Fresh:
		err = syncAll(n.root)
	default:
		err = n.syncDirs()
	}
	return fileError("", err)
}

func (n *change) syncDirs() error {
	if err := unix.Fsync(n.dir); err != nil {
		return err
	}
	f := n.finder()
	defer f.close()
	last := ""
	for i := range n.Steps {
		dir, name, err := f.find(n.Steps[i].Path)
		if err != nil {
			continue // removed, or never there
		}
		parent := strings.TrimSuffix(n.Steps[i].Path, name)
		if i > 0 && parent == last {
			continue
		}
		last = parent
		if err := unix.Fsync(dir); err != nil && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// carryOut makes all steps, or undoes them and returns an error.
func (n *change) carryOut() (Outcome, error) {
	err := n.makeSteps()
	if err == nil {
		err = n.sync()
	}
	if err == nil && n.resumed {
		err = n.salvage()
	}
	if err == nil {
		err = n.giveBackLate()
	}
	o := Outcome{Kept: n.kept}
	if err == nil {
		err = n.record(phaseDone, &o)
	}
	if err != nil {
		return Outcome{}, n.undone(err)
	}
	if n.fault("clean") == nil {
		_ = n.dissolve() // what stays is removed by whoever looks next
	}
	return o, nil
}

// undone puts everything back and returns err. What was made before a crash cannot be put back: the journal stays.
func (n *change) undone(err error) error {
	if n.resumed {
		return &sandbox.Error{
			Class: sandbox.ClassOf(err), Op: opChange, Err: err,
			Message: "an earlier restore of this folder was cut short and could not be completed; mend what the details say, and it is completed with the next one",
		}
	}
	var failed error
	n.moved = nil // what was there before is there again; what was brought may be somebody's by now
	for _, undo := range slices.Backward(n.undo) {
		failed = errors.Join(failed, undo())
	}
	if failed == nil {
		failed = n.lookAgain()
	}
	if failed == nil && !n.precious {
		failed = n.dissolve()
	}
	if failed != nil { // the journal stays: the next change completes this one
		return &sandbox.Error{
			Class: sandbox.ClassUnknown, Op: opChange, Err: errors.Join(err, failed),
			Message: "the restore failed and could not all be undone; it is completed with the next one",
		}
	}
	n.tree.forget()
	return err
}

func (n *change) makeSteps() error {
	if n.Fresh {
		return n.publish()
	}
	f := n.finder()
	defer f.close()
	for i := range n.Steps {
		if err := n.fault("step"); err != nil {
			return fileError(n.Steps[i].Path, err)
		}
		if err := n.step(f, i); err != nil {
			return fileError(n.Steps[i].Path, err)
		}
	}
	for i := range slices.Backward(n.Steps) {
		s := &n.Steps[i]
		if s.After == nil || s.After.Kind != tree.Dir {
			continue
		}
		if err := n.setMode(f, s); err != nil {
			return fileError(s.Path, err)
		}
	}
	return nil
}

// publish moves what is at the top of a fresh tree into the root.
func (n *change) publish() error {
	for i := range n.Steps {
		s := &n.Steps[i]
		if strings.Contains(s.Path, "/") {
			continue
		}
		if err := n.fault("publish"); err != nil {
			return fileError(s.Path, err)
		}
		err := moveNew(n.fresh, s.Path, n.root, s.Path)
		switch {
		case err == nil:
			n.undo = append(n.undo, func() error { return moveNew(n.root, s.Path, n.fresh, s.Path) })
		case errors.Is(err, syscall.ENOENT): // moved before a crash
		case errors.Is(err, syscall.EEXIST):
			return &sandbox.Error{Class: sandbox.ClassConflict, Op: opChange, Path: s.Path, Message: "the folder is not empty any more"}
		default:
			return fileError(s.Path, err)
		}
	}
	f := &finder{base: n.root, dir: n.root}
	defer f.close()
	for i := range n.Steps {
		s := &n.Steps[i]
		if s.After.Kind != tree.Dir || strings.Contains(s.Path, "/") {
			continue
		}
		if err := n.finishDir(f, s); err != nil {
			return fileError(s.Path, err)
		}
		n.undo = append(n.undo, func() error { return chmodAt(n.root, s.Path, 0o700) })
	}
	return nil
}
