// This file looks again at what a change has replaced or removed, before that is given up: who had opened a file before
// it was moved away may have written into it since. The same goes for what the change had brought, where that makes room for
// what was there before.
//
// What remains: where the file system cannot tell who has a file open for writing (no leases: network file systems, other
// systems than Linux, files of others), a program that keeps one open beyond the change writes into what is gone, as it
// does when an editor saves by renaming.

package worktree

import (
	"time"

	"sandboxagent/internal/checkpoint/tree"
)

const (
	lateTime = 2 * time.Second // that writers get to finish
	lateTick = 5 * time.Millisecond

	openMeanwhile = "another program has it open for writing"
)

// moved is a file that was moved into the stage, as it was then.
type moved struct {
	step        int
	name        string // in the stage
	is          *tree.Entry
	size, mtime int64
	brought     bool // by the step, not replaced by it
	seen        bool // somebody had it open
}

// movedAway notes what is at a name of the stage; st is how it was before it was compared with what was expected.
func (n *change) movedAway(step int, name string, st *stat) {
	if st.regular() {
		n.moved = append(n.moved, moved{step: step, name: name, is: n.Steps[step].Before, size: st.size, mtime: st.mtime})
	}
}

// takenOut notes that what a step had brought is in the stage again. Somebody may have opened it where it was; a hard link stays
// what it is a link of.
func (n *change) takenOut(step int, name string) {
	if n.Steps[step].Link != "" {
		return
	}
	n.moved = append(n.moved, moved{step: step, name: name, is: n.Steps[step].After, size: -1, brought: true})
}

// giveBackLate waits a moment for who writes into what was moved away, and gives back what they have changed or still have
// open.
func (n *change) giveBackLate() error {
	if err := n.fault("late"); err != nil {
		return fileError("", err)
	}
	return n.lookAgain()
}

func (n *change) lookAgain() error {
	deadline := time.Now().Add(lateTime)
	f := n.finder()
	defer f.close()
	for len(n.moved) > 0 { // what is given back may take something out
		m := n.moved[0]
		n.moved = n.moved[1:]
		reason := n.late(&m, deadline)
		if reason == "" {
			continue
		}
		if err := n.giveBack(f, m, reason); err != nil {
			return fileError(n.Steps[m.step].Path, err)
		}
	}
	return nil
}

// late returns why a file that was moved away is its user's still, "" if it is not.
func (n *change) late(m *moved, deadline time.Time) string {
	fd, err := openFile(n.dir, m.name)
	if err != nil {
		return "" // not ours to look at: nor could the step
	}
	defer closeFd(fd)
	for writers(fd) {
		if m.seen = true; time.Now().After(deadline) {
			return openMeanwhile
		}
		time.Sleep(lateTick)
	}
	st, err := statFile(fd)
	same := err == nil && st.size == m.size && st.mtime == m.mtime && !m.seen
	if same || matches(n.dir, m.name, m.is) {
		return ""
	}
	return changedMeanwhile
}
