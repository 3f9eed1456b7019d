// This file finds out that a command waits for input. Nobody looks at one that has just printed something, so that it costs
// nothing where it cannot be of use.

package engine

import (
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	lookFirst   = time.Second            // of silence, after which a command is looked at
	lookConfirm = 500 * time.Millisecond // until the second look, which must find the same
	lookLast    = 5 * time.Second        // at most between two looks
)

// watchInput looks, while the command runs, whether all its processes sleep until there is input.
func (c *command) watchInput(in inputFile) {
	var seen activity
	var since time.Time
	pause := lookFirst
	for c.lives(pause) {
		supervisor, now := c.active()
		switch {
		case supervisor == 0:
			return
		case now != seen:
			seen, since, pause = now, time.Time{}, lookFirst
		case !asleep(supervisor, in):
			c.asks(now, time.Time{})
			since, pause = time.Time{}, min(2*pause, lookLast)
		case since.IsZero():
			since, pause = time.Now(), lookConfirm
		default:
			c.asks(now, since)
			pause = lookFirst
		}
	}
}

// lives waits, and reports whether a process of the command may be left after that.
func (c *command) lives(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.gone:
		return false
	}
}

// activity is what a command has printed and was given so far.
type activity struct {
	printed sandbox.Offsets
	inputs  int
}

// active returns what the command has done so far, and the process above it, 0 when it no longer runs.
func (c *command) active() (supervisor int, a activity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.snapshotLocked()
	if st.State != sandbox.StateRunning || c.worker == nil {
		return 0, a
	}
	return c.worker.cmd.Process.Pid, activity{st.Total, c.inputs}
}

// asks notes since when the command waits for input, or, with a zero time, that it does not, unless something has happened.
func (c *command) asks(seen activity, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshotLocked().Total != seen.printed || c.inputs != seen.inputs || c.status.WaitsSince.Equal(since) {
		return
	}
	c.status.WaitsSince = since
	c.notifyLocked()
}

// given notes that the command was given input: it no longer waits, as far as is known.
func (c *command) given() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inputs++
	c.status.WaitsSince = time.Time{}
}
