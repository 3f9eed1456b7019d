// This file notices what a command does instead of printing: nothing for long, or waiting for input.

package tools

import (
	"time"

	"sandboxagent/internal/sandbox"
)

// Quiet says that a running command prints nothing.
type Quiet struct {
	Since time.Time // zero: it prints again
	Asks  bool      // it waits for input
}

// silentAfter is how long a command prints nothing until that is told. Each time it was told, the next time takes twice as
// long, so that a command that prints now and then is not told again and again.
const silentAfter = 30 * time.Second

// lull is how quiet a command is. Its zero value is ready for begin.
type lull struct {
	heard   time.Time // when it printed last, as far as is known
	asked   time.Time // since when it is known to wait for input; zero: it does not
	patient time.Duration
	told    Quiet
}

func (l *lull) begin() {
	l.heard, l.asked = time.Now(), time.Time{}
	l.patient = max(l.patient, silentAfter)
}

// slice is how long to wait for output until there is something to tell.
func (l *lull) slice(tells bool) time.Duration {
	left := time.Until(l.heard.Add(l.patient))
	if !tells || left <= 0 {
		return waitSlice
	}
	return min(left, waitSlice)
}

// heed takes a status; before is how much had been printed.
func (l *lull) heed(status sandbox.Status, before sandbox.Offsets, tell func(Quiet)) {
	now := time.Now()
	if status.Total != before {
		l.heard = now
	}
	switch {
	case status.WaitsSince.IsZero():
		l.asked = time.Time{}
	case l.asked.IsZero():
		l.asked = now
	}
	if tell == nil || status.State != sandbox.StateRunning {
		return
	}
	switch quiet := now.Sub(l.heard); {
	case !l.asked.IsZero():
		l.tell(tell, Quiet{Since: earlier(status.WaitsSince, l.asked), Asks: true})
	case l.heard.Equal(now):
		l.tell(tell, Quiet{})
	case quiet >= l.patient:
		l.tell(tell, Quiet{Since: l.heard})
	}
}

// tell tells what was not told before.
func (l *lull) tell(tell func(Quiet), q Quiet) {
	if q.Asks == l.told.Asks && q.Since.Equal(l.told.Since) {
		return
	}
	if !q.Since.IsZero() && !q.Asks {
		l.patient *= 2
	}
	l.told = q
	tell(q)
}

// asksFor reports whether the command has waited for input for that long; a negative time is never over.
func (l *lull) asksFor(d time.Duration) bool {
	return d >= 0 && !l.asked.IsZero() && time.Since(l.asked) >= d
}

// earlier is the first of two times; that of a sandbox may be by another clock.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
