// This file is what a change leaves on disk, so that one that was cut short is undone or completed, and one that was
// made is not made again.

package worktree

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	recordFile = "change.json"
	stepsFile  = "change-steps"

	phaseStaging    = "staging"    // the tree is as it was: undo
	phaseCommitting = "committing" // all that is needed lies in the stage: complete
	phaseDone       = "done"
)

// record is the state of the latest change.
type record struct {
	ID      string        `json:"id"`
	Phase   string        `json:"phase"`
	Stage   string        `json:"stage"`
	Outcome *wire.Outcome `json:"outcome,omitempty"`
}

// ToWire writes an outcome as JSON can carry it, whatever bytes names are.
func ToWire(o Outcome) *wire.Outcome {
	w := &wire.Outcome{Kept: make([]wire.Kept, len(o.Kept))}
	for i, k := range o.Kept {
		w.Kept[i] = wire.Kept{Path: wire.Text(k.Path), Reason: k.Reason, Conflict: k.Conflict}
	}
	return w
}

// FromWire is the inverse of ToWire; nil is an outcome without anything kept.
func FromWire(w *wire.Outcome) Outcome {
	var o Outcome
	if w == nil {
		return o
	}
	for _, k := range w.Kept {
		o.Kept = append(o.Kept, Kept{Path: string(k.Path), Reason: k.Reason, Conflict: k.Conflict})
	}
	return o
}

func nonce() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func (n *change) record(phase string, o *Outcome) error {
	r := record{ID: n.ID, Phase: phase, Stage: n.stage}
	if o != nil {
		r.Outcome = ToWire(*o)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of a change: %w", err)
	}
	return n.tree.writeState(recordFile, b)
}

// writeState replaces a file of the state directory, durably.
func (t *Tree) writeState(name string, b []byte) error {
	path := filepath.Join(t.opts.State, name)
	err := func() error {
		f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(b)
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = os.Rename(path+".tmp", path)
		}
		if err != nil {
			return err
		}
		return syncDir(t.opts.State)
	}()
	return fileError("", err)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (t *Tree) writeSteps(c *Change) error {
	b := EncodeSteps(c)
	sum := sha256.Sum256(b)
	return t.writeState(stepsFile, append(b, sum[:]...))
}

func (t *Tree) readSteps() (Change, error) {
	b, err := os.ReadFile(filepath.Join(t.opts.State, stepsFile))
	if err != nil {
		return Change{}, err
	}
	if len(b) < sha256.Size || tree.Sum(b[:len(b)-sha256.Size]) != tree.Hash(b[len(b)-sha256.Size:]) {
		return Change{}, fmt.Errorf("%w: the steps of a change", tree.ErrFormat)
	}
	return DecodeSteps(b[:len(b)-sha256.Size])
}

// EncodeSteps returns a change as bytes.
func EncodeSteps(c *Change) []byte {
	var e tree.Encoder
	e.Text(c.ID)
	fresh := byte(0)
	if c.Fresh {
		fresh = 1
	}
	e.Byte(fresh)
	for i := range c.Steps {
		s := &c.Steps[i]
		e.Text(s.Path)
		e.Text(s.Link)
		for _, x := range []*tree.Entry{s.Before, s.After} {
			if x == nil {
				e.Byte(0)
				continue
			}
			e.Byte(1)
			e.Entry(x)
		}
	}
	return e.Buf
}

// DecodeSteps is the inverse of EncodeSteps for bytes that nobody vouches for.
func DecodeSteps(b []byte) (Change, error) {
	d := tree.NewDecoder(b)
	c := Change{ID: d.Text(MaxChangeID), Fresh: d.Byte() != 0}
	for d.More() {
		s := Step{Path: d.Text(len(b)), Link: d.Text(len(b))}
		for _, x := range []**tree.Entry{&s.Before, &s.After} {
			if d.Byte() != 0 {
				e := d.Entry()
				*x = &e
			}
		}
		if len(c.Steps) >= MaxSteps {
			d.Fail("too many steps")
		}
		c.Steps = append(c.Steps, s)
	}
	return c, d.End()
}

// forget removes the journal.
func (t *Tree) forget() {
	os.Remove(filepath.Join(t.opts.State, recordFile))
	os.Remove(filepath.Join(t.opts.State, stepsFile))
}

// recoverOwn undoes or completes a change that was cut short, if it is in this journal.
func (t *Tree) recoverOwn(ctx context.Context) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	t.dropOrphan(t.current)
	if _, err := os.Stat(filepath.Join(t.opts.State, recordFile)); errors.Is(err, fs.ErrNotExist) || t.current != nil {
		return nil
	}
	lock, err := t.lockChanges()
	if err != nil {
		return nil //nolint:nilerr // somebody is at it
	}
	defer unlock(lock)
	_, err = t.settle(ctx, "")
	return err
}

// Filled tells whether the last change that was made here is the one of that id.
func (t *Tree) Filled(id string) (bool, error) {
	b, err := os.ReadFile(filepath.Join(t.opts.State, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return false, damagedJournal(err)
	}
	return r.ID == id && r.Phase == phaseDone, nil
}

// settle undoes or completes an earlier change. It returns the outcome if that was the change id.
func (t *Tree) settle(ctx context.Context, id string) (*Outcome, error) {
	b, err := os.ReadFile(filepath.Join(t.opts.State, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return nil, damagedJournal(err)
	}
	if r.Phase == phaseDone {
		t.sweep(r.Stage)
		if r.ID == id {
			o := FromWire(r.Outcome)
			return &o, nil
		}
		return nil, nil
	}
	o, err := t.resume(ctx, r)
	if err != nil || r.ID != id {
		return nil, err
	}
	return o, nil
}

// sweep removes what a change that was made has left behind.
func (t *Tree) sweep(stage string) {
	root, err := t.openRoot(opChange)
	if err != nil {
		return
	}
	defer closeFd(root)
	_ = removeAll(root, stage)
}

func damagedJournal(err error) error {
	return &sandbox.Error{Class: sandbox.ClassCorrupt, Op: opChange, Message: "the journal of an earlier restore is damaged", Err: err}
}

// resume returns the outcome of a change that it completed, nil for one that it undid.
func (t *Tree) resume(ctx context.Context, r record) (*Outcome, error) {
	n := &change{tree: t, stage: r.Stage, root: -1, dir: -1, fresh: -1, resumed: true}
	defer n.close()
	var err error
	if n.root, err = t.openRoot(opChange); err != nil {
		return nil, err
	}
	if err := alone(ctx, n.root); err != nil {
		return nil, err
	}
	begun, err := n.reopen()
	if err != nil {
		return nil, err
	}
	if r.Phase != phaseCommitting || !begun {
		if err := n.dissolve(); err != nil {
			return nil, fileError(n.stage, err)
		}
		t.forget()
		return nil, nil
	}
	if n.Change, err = t.readSteps(); err != nil {
		return nil, damagedJournal(err)
	}
	n.many = len(n.Steps) > manyFiles
	if n.Fresh {
		if n.fresh, err = openDirectory(n.dir, freshDir, unix.O_NOFOLLOW); err != nil {
			return nil, fileError(n.stage, err)
		}
	}
	o, err := n.carryOut()
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// reopen opens the stage and tells whether the tree was being changed from it. It was not, or not any more, when the
// mark is missing, or all of the stage: somebody has cleared the folder up, and what is left to do can be begun again.
func (n *change) reopen() (begun bool, err error) {
	n.dir, err = openDirectory(n.root, n.stage, unix.O_NOFOLLOW)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, fileError(n.stage, err)
	}
	_ = flock(context.Background(), n.dir, unix.LOCK_EX, 0)
	if _, err = statAt(n.dir, commitMark); gone(err) {
		return false, nil
	}
	return err == nil, fileError(n.stage, err)
}
