// This file says what a change of a tree is, and begins one.

package worktree

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Bounds of a change.
const (
	MaxSteps    = 500_000
	MaxChangeID = 256         // bytes
	staleAfter  = time.Minute // a change that nobody has worked on for so long makes room for another
)

// Step changes one path. Before and After are named by the last element of Path; the Hash of a Dir means nothing.
type Step struct {
	Path   string
	Before *tree.Entry // what is believed to be there; nil: nothing
	After  *tree.Entry // what shall be there; nil: nothing
	Link   string      // After is a hard link to the file at this path, which the change leaves as After says
}

// NeedsContent tells whether the content of After must be given by Put.
func (s *Step) NeedsContent() bool {
	if s.After == nil || s.After.Kind != tree.File || s.Link != "" {
		return false
	}
	return s.Before == nil || !s.Before.SameContent(s.After) || s.detached()
}

// brings tells whether a file or link is made anew; else it is at most its permissions that change.
func (s *Step) brings() bool {
	if s.After == nil || s.After.Kind == tree.Dir {
		return false
	}
	return s.NeedsContent() || s.Link != "" || s.After.Kind == tree.Link
}

// detached tells whether a file that has hard links shall have none.
func (s *Step) detached() bool { return s.Before.Group != 0 && s.After.Group == 0 }

// Change is a set of steps that are made together: all of those whose Before still holds, or none when something fails.
type Change struct {
	// ID names the effect: committing the same ID again returns the recorded outcome.
	ID string
	// Fresh: the root must be empty. Everything is built beside it and appears at the end, with its times.
	Fresh bool
	Steps []Step
}

// Piece is a part of the content of a step. Pieces that are left out are zero.
type Piece struct {
	Step   int
	Offset int64
	Data   []byte
	Last   bool // nothing of this step follows
}

// Kept is a path that the change left as it was.
type Kept struct {
	Path     string
	Reason   string
	Conflict bool // it is not what the change expected
}

// Outcome tells what a change did not change.
type Outcome struct{ Kept []Kept }

// Begun is the answer to Begin.
type Begun struct {
	Outcome *Outcome // the change was made before; there is nothing to do
	// Names that differ only in case, or only in how Unicode writes them, are the same here.
	FoldsCase, FoldsForm bool
}

// Sort orders steps as they must be made: removals from the leaves up, then everything else from the root down.
func Sort(steps []Step) {
	slices.SortStableFunc(steps, func(a, b Step) int {
		switch {
		case a.After == nil && b.After == nil:
			return comparePaths(b.Path, a.Path)
		case a.After == nil:
			return -1
		case b.After == nil:
			return 1
		case a.rank() != b.rank():
			return a.rank() - b.rank()
		}
		return comparePaths(a.Path, b.Path)
	})
}

// rank orders what is not removed: directories, files, and the hard links to them.
func (s *Step) rank() int {
	switch {
	case s.After.Kind == tree.Dir:
		return 0
	case s.Link == "":
		return 1
	}
	return 2
}

// comparePaths orders a directory before what is in it and all that before its next sibling.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		return cmp.Compare(separated(a[i]), separated(b[i]))
	}
	return len(a) - len(b)
}

// separated puts "/" before all bytes of names.
func separated(b byte) byte {
	if b == '/' {
		return 0
	}
	return b
}

// change is a change under way.
type change struct {
	Change
	tree  *Tree
	lock  *os.File
	stage string // name of the directory below the root where it is prepared
	root  int    // descriptors
	dir   int    // of stage
	fresh int    // of the tree built in stage; -1 unless Fresh
	many  bool   // so many files that the file system as a whole is made durable

	mu      sync.Mutex
	started []bool // by step: a piece of its content has come
	sealed  []bool // all of it has
	last    time.Time

	undo []func() error
	kept []Kept

	resumed  bool // after a crash: what is staged may be used already
	precious bool // the stage holds something of the user that could not be put back
}

const (
	freshDir  = "tree" // in stage
	manyFiles = 64
)

// Begin prepares a change: nothing but a directory of ours is made. A change begun before and given up makes room.
func (t *Tree) Begin(_ context.Context, c Change) (Begun, error) {
	if err := checkChange(&c); err != nil {
		return Begun{}, err
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	if t.current != nil {
		if t.current.ID != c.ID && time.Since(t.current.lastUse()) < staleAfter {
			return Begun{}, sandbox.Errorf(sandbox.ClassConflict, opChange, "another restore of this folder is running")
		}
		t.drop()
	}
	lock, err := t.lockChanges()
	if err != nil {
		return Begun{}, err
	}
	begun, n, err := t.begin(c, lock)
	if err != nil || n == nil {
		unlock(lock)
		return begun, err
	}
	t.current = n
	return begun, nil
}

// begin returns no change when it was made before.
func (t *Tree) begin(c Change, lock *os.File) (Begun, *change, error) {
	done, err := t.settle(c.ID)
	if err != nil || done != nil {
		return Begun{Outcome: done}, nil, err
	}
	n := &change{
		Change: c, tree: t, lock: lock, stage: stagePrefix + nonce(), root: -1, dir: -1, fresh: -1,
		started: make([]bool, len(c.Steps)), sealed: make([]bool, len(c.Steps)), last: time.Now(),
	}
	begun, err := n.prepare()
	if err != nil {
		n.abandon()
		return Begun{}, nil, err
	}
	return begun, n, nil
}

func checkChange(c *Change) error {
	if c.ID == "" || len(c.ID) > MaxChangeID {
		return sandbox.Errorf(sandbox.ClassInvalid, opChange, "the effect id must have 1 to %d bytes", MaxChangeID)
	}
	if len(c.Steps) > MaxSteps {
		return sandbox.Errorf(sandbox.ClassLimit, opChange, "more than %d paths would change", MaxSteps)
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		err := tree.CheckPath(s.Path)
		if err == nil && s.Link != "" {
			err = tree.CheckPath(s.Link)
		}
		switch {
		case err != nil:
		case s.Before == nil && s.After == nil, s.Link != "" && (s.After == nil || s.After.Kind != tree.File), c.Fresh && (s.Before != nil || s.After == nil):
			err = fmt.Errorf("step %d makes no sense", i)
		}
		if err != nil {
			return &sandbox.Error{Class: sandbox.ClassInvalid, Op: opChange, Path: s.Path, Message: "the change is malformed", Err: err}
		}
	}
	return nil
}

func (n *change) lastUse() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *change) fault(step string) error {
	if n.tree.opts.Fault == nil {
		return nil
	}
	return n.tree.opts.Fault(step)
}

// find returns the change that is under way.
func (t *Tree) find(id string) (*change, error) {
	if t.current == nil || t.current.ID != id {
		return nil, sandbox.Errorf(sandbox.ClassNotFound, opChange, "no such restore is under way")
	}
	t.current.mu.Lock()
	defer t.current.mu.Unlock()
	t.current.last = time.Now()
	return t.current, nil
}

// Abort gives a change up that was not committed. Nothing of it is left.
func (t *Tree) Abort(_ context.Context, id string) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	if _, err := t.find(id); err != nil {
		return nil //nolint:nilerr // nothing to give up
	}
	t.drop()
	return nil
}

// drop gives the current change up.
func (t *Tree) drop() {
	n := t.current
	t.current = nil
	n.abandon()
	unlock(n.lock)
}

// abandon removes what was prepared.
func (n *change) abandon() {
	if n.root < 0 {
		return
	}
	if err := removeAll(n.root, n.stage); err == nil {
		n.tree.forget()
	}
	n.close()
}

func (n *change) close() {
	for _, fd := range []*int{&n.fresh, &n.dir, &n.root} {
		if *fd >= 0 {
			closeFd(*fd)
			*fd = -1
		}
	}
}

// lockChanges makes this process the only one that changes the tree.
func (t *Tree) lockChanges() (*os.File, error) {
	if err := t.makeState(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(t.opts.State, "change.lock"), os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fileError("", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, sandbox.Errorf(sandbox.ClassConflict, opChange, "another restore of this folder is running")
	}
	return f, nil
}

// unlock lets others change the tree. Closing alone would leave the lock to a process that is just being started and has
// not yet closed what it inherited.
func unlock(lock *os.File) {
	_ = unix.Flock(int(lock.Fd()), unix.LOCK_UN)
	_ = lock.Close()
}
