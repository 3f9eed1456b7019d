// This file looks again at what a change has replaced or removed, before that is given up: who had opened a file before
// it was moved away may have written into it since.
//
// What remains: where the file system cannot tell who has a file open for writing (no leases: network file systems, other
// systems than Linux, files of others), a program that keeps one open beyond the change writes into what is gone, as it
// does when an editor saves by renaming.

package worktree

import (
	"time"
)

const (
	lateTime = 2 * time.Second // that writers get to finish
	lateTick = 5 * time.Millisecond

	openMeanwhile = "another program has it open for writing"
)

// moved is a file that a step has moved into the stage, as it was then.
type moved struct {
	step        int
	name        string // in the stage
	size, mtime int64
	seen        bool // somebody had it open
}

// movedAway notes what is at a name of the stage; st is how it was before it was compared with what was expected.
func (n *change) movedAway(step int, name string, st *stat) {
	if st.regular() {
		n.moved = append(n.moved, moved{step: step, name: name, size: st.size, mtime: st.mtime})
	}
}

// giveBackLate waits a moment for who writes into what was moved away, and gives back what they have changed or still have
// open.
func (n *change) giveBackLate() error {
	if err := n.fault("late"); err != nil {
		return fileError("", err)
	}
	deadline := time.Now().Add(lateTime)
	f := n.finder()
	defer f.close()
	for i := range n.moved {
		m := &n.moved[i]
		s := &n.Steps[m.step]
		reason := n.late(m, deadline)
		if reason == "" {
			continue
		}
		if err := n.giveBack(f, s, m.name, reason); err != nil {
			return fileError(s.Path, err)
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
	if same || matches(n.dir, m.name, n.Steps[m.step].Before) {
		return ""
	}
	return changedMeanwhile
}
