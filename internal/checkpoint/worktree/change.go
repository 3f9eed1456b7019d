// This file says what a change of a tree is, and begins one.

package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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

	orphanTime = 5 * time.Second // for who began a change to come back over another connection
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

	begun Begun     // what Begin answered
	sum   tree.Hash // of the steps

	mu      sync.Mutex
	started []bool // by step: a piece of its content has come
	sealed  []bool // all of it has
	last    time.Time
	by      any // who worked on it last
	orphan  bool

	undo  []func() error
	kept  []Kept
	moved []moved

	resumed  bool // after a crash: what is staged may be used already
	precious bool // the stage holds something of the user that could not be put back
}

const (
	freshDir  = "tree" // in stage
	manyFiles = 64
)

// Begin prepares a change: nothing but a directory of ours is made. A change begun before goes on when it is the same,
// with the content it has, and makes room when it was given up.
func (t *Tree) Begin(ctx context.Context, c Change) (Begun, error) {
	if err := checkChange(&c); err != nil {
		return Begun{}, err
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	sum := tree.Sum(EncodeSteps(&c))
	if n := t.current; n != nil {
		if n.sum == sum && n.whole() {
			n.touch(ctx)
			return n.begun, nil
		}
		if n.ID != c.ID && !n.abandoned() {
			return Begun{}, anotherRestore(n.stage)
		}
		t.drop()
	}
	lock, err := t.lockChanges()
	if err != nil {
		return Begun{}, err
	}
	done, err := t.settle(ctx, c.ID)
	if err != nil || done != nil {
		unlock(lock)
		return Begun{Outcome: done}, err
	}
	n := &change{
		Change: c, tree: t, lock: lock, stage: stagePrefix + nonce(), root: -1, dir: -1, fresh: -1, sum: sum,
		started: make([]bool, len(c.Steps)), sealed: make([]bool, len(c.Steps)),
	}
	n.touch(ctx)
	if n.begun, err = n.prepare(ctx); err != nil {
		n.abandon()
		unlock(lock)
		return Begun{}, err
	}
	t.current = n
	return n.begun, nil
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

func (n *change) fault(step string) error {
	if n.tree.opts.Fault == nil {
		return nil
	}
	return n.tree.opts.Fault(step)
}

// find returns the change that is under way.
func (t *Tree) find(ctx context.Context, id string) (*change, error) {
	if t.current == nil || t.current.ID != id {
		return nil, sandbox.Errorf(sandbox.ClassNotFound, opChange, "no such restore is under way")
	}
	t.current.touch(ctx)
	return t.current, nil
}

// Abort gives a change up that was not committed. Nothing of it is left.
func (t *Tree) Abort(ctx context.Context, id string) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	if _, err := t.find(ctx, id); err != nil {
		return nil //nolint:nilerr // nothing to give up
	}
	t.drop()
	return nil
}

// Close gives up what is not committed. Nothing of it is left.
func (t *Tree) Close() {
	t.changing.Lock()
	defer t.changing.Unlock()
	if t.current != nil {
		t.drop()
	}
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
	if err := n.dissolve(); err == nil {
		n.tree.forget()
	}
	n.close()
}

// dissolve removes the stage, the mark first: without it, whoever finds the rest may remove that.
func (n *change) dissolve() error {
	if n.dir >= 0 {
		if err := unix.Unlinkat(n.dir, commitMark, 0); err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	if err := n.fault("dissolve"); err != nil {
		return err
	}
	return removeAll(n.root, n.stage)
}

// close gives the locks on the folder and the stage back.
func (n *change) close() {
	for _, fd := range []*int{&n.fresh, &n.dir, &n.root} {
		if *fd >= 0 {
			unlockFd(*fd)
			closeFd(*fd)
			*fd = -1
		}
	}
}
