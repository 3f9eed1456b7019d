// This file keeps the newest durable events of a session, so that all attachments read them once.

package core

import (
	"sandboxagent/editors"
)

const (
	maxLogEvents = 1024
	maxLogBytes  = 4 << 20
)

// eventLog holds the events after base without a gap: base+1, base+2, …
type eventLog struct {
	base   int64
	events []editors.EventMessage
	bytes  int
}

// last is the seq of the newest event, base when there is none.
func (l *eventLog) last() int64 { return l.base + int64(len(l.events)) }

// reset forgets all events; the next one must be seq+1.
func (l *eventLog) reset(seq int64) { *l = eventLog{base: seq} }

// append adds the event after the last one and drops the oldest when there are too many. It tells whether it was that one.
func (l *eventLog) append(m editors.EventMessage) bool {
	if m.Seq != l.last()+1 {
		return false
	}
	l.events = append(l.events, m)
	l.bytes += weight(m)
	drop := 0
	for len(l.events)-drop > maxLogEvents || l.bytes > maxLogBytes && len(l.events)-drop > 1 {
		l.bytes -= weight(l.events[drop])
		drop++
	}
	if drop > 0 {
		l.events = append([]editors.EventMessage(nil), l.events[drop:]...)
		l.base += int64(drop)
	}
	return true
}

// after returns the event that follows seq; known is false when it was dropped.
func (l *eventLog) after(seq int64) (m editors.EventMessage, there, known bool) {
	if seq < l.base {
		return m, false, false
	}
	if seq >= l.last() {
		return m, false, true
	}
	return l.events[seq-l.base], true, true
}

// weight is about how much memory an event takes.
func weight(m editors.EventMessage) int {
	const fixed = 1 << 10
	if m.Event.Item == nil {
		return fixed
	}
	return fixed + len(m.Event.Item.Text) + len(m.Event.Item.Diff) + len(m.Event.Item.Arguments)
}
