// This file keeps what a hub knows about sessions: their bells, their items and who has read how far.

package feed

import (
	"container/list"
	"slices"
)

const (
	maxBytes     = 32 << 20 // of all items; the item that was silent longest goes first
	maxItems     = 1024
	maxTopics    = 4096 // sessions without subscribers and items whose bell is remembered
	maxForgotten = 32   // completed items of a session whose stragglers are recognised
)

// topics is the state of a hub. Its owner serialises the calls.
type topics struct {
	sessions map[string]*topic
	recent   list.List // of *item, the one that was silent longest in front
	places   map[*item]*list.Element
	bytes    int64
}

// topic is one session.
type topic struct {
	session   string
	bell      int64   // latest seq, 0 before the first
	items     []*item // in the order they began
	subs      map[*sub]struct{}
	forgotten []forgotten
}

type forgotten struct {
	item    string
	attempt int
}

// sub is one subscription of one connection.
type sub struct {
	id     uint64
	topic  *topic
	wake   func()
	bell   bool            // the latest bell was not sent yet
	cursor map[*item]int64 // position up to which an item was sent; absent: nothing
}

func newTopics() *topics {
	return &topics{sessions: map[string]*topic{}, places: map[*item]*list.Element{}}
}

func (t *topics) topic(session string) *topic {
	tp := t.sessions[session]
	if tp == nil {
		t.evictTopic()
		tp = &topic{session: session, subs: map[*sub]struct{}{}}
		t.sessions[session] = tp
	}
	return tp
}

// evictTopic makes room for another session.
func (t *topics) evictTopic() {
	if len(t.sessions) < maxTopics {
		return
	}
	for session, tp := range t.sessions {
		if len(tp.subs) == 0 && len(tp.items) == 0 {
			delete(t.sessions, session)
			return
		}
	}
}

// publish adds the data of f to its item, unless that is complete or has come to a higher attempt.
func (t *topics) publish(f Frame) {
	tp := t.topic(f.Session)
	it := t.itemFor(tp, f)
	if it == nil {
		return
	}
	before := it.size()
	it.append(f.Stream, f.Data)
	t.bytes += it.size() - before
	t.recent.MoveToBack(t.places[it])
	for t.bytes > maxBytes || t.recent.Len() > maxItems {
		oldest, _ := t.recent.Front().Value.(*item)
		t.remove(oldest)
	}
	for s := range tp.subs {
		s.wake()
	}
}

func (t *topics) itemFor(tp *topic, f Frame) *item {
	if slices.ContainsFunc(tp.forgotten, func(g forgotten) bool { return g.item == f.Item && f.Attempt <= g.attempt }) {
		return nil
	}
	if old := tp.find(f.Item); old != nil {
		if f.Attempt == old.attempt && !old.done {
			return old
		}
		if f.Attempt <= old.attempt {
			return nil
		}
		t.remove(old)
	}
	it := &item{topic: tp, id: f.Item, seq: f.Seq, attempt: f.Attempt, offsets: map[string]int64{}}
	tp.items = append(tp.items, it)
	t.places[it] = t.recent.PushBack(it)
	return it
}

func (tp *topic) find(id string) *item {
	if i := slices.IndexFunc(tp.items, func(it *item) bool { return it.id == id }); i >= 0 {
		return tp.items[i]
	}
	return nil
}

// remove drops an item, read or not.
func (t *topics) remove(it *item) {
	tp := it.topic
	tp.items = slices.DeleteFunc(tp.items, func(other *item) bool { return other == it })
	for s := range tp.subs {
		delete(s.cursor, it)
	}
	t.recent.Remove(t.places[it])
	delete(t.places, it)
	t.bytes -= it.size()
}

// forget says that an item is complete: late subscribers do not get it, stragglers are ignored.
func (t *topics) forget(session, id string) {
	tp := t.sessions[session]
	if tp == nil {
		return
	}
	it := tp.find(id)
	if it == nil || it.done {
		return
	}
	it.done = true
	if len(tp.forgotten) == maxForgotten {
		tp.forgotten = slices.Delete(tp.forgotten, 0, 1)
	}
	tp.forgotten = append(tp.forgotten, forgotten{it.id, it.attempt})
	t.release(it)
}

// release drops a complete item once everybody has read it, and tells whether it did.
func (t *topics) release(it *item) bool {
	if !it.done {
		return false
	}
	for s := range it.topic.subs {
		if s.cursor[it] < it.end {
			return false
		}
	}
	t.remove(it)
	return true
}

// ring remembers the latest seq.
func (t *topics) ring(session string, seq int64) {
	tp := t.topic(session)
	if seq <= tp.bell {
		return
	}
	tp.bell = seq
	for s := range tp.subs {
		s.bell = true
		s.wake()
	}
}

// subscribe adds a subscription that begins with what is there of the items in the making.
func (t *topics) subscribe(session string, id uint64, wake func()) *sub {
	tp := t.topic(session)
	s := &sub{id: id, topic: tp, wake: wake, bell: tp.bell > 0, cursor: map[*item]int64{}}
	for _, it := range tp.items {
		if it.done {
			s.cursor[it] = it.end
		}
	}
	tp.subs[s] = struct{}{}
	wake()
	return s
}

func (t *topics) unsubscribe(s *sub) {
	delete(s.topic.subs, s)
	for _, it := range slices.Clone(s.topic.items) {
		t.release(it)
	}
}

// collect appends what s has not sent yet to out, about budget bytes of data at most, and returns what is left of the
// budget.
func (t *topics) collect(s *sub, out []message, budget int) ([]message, int) {
	if s.bell {
		s.bell = false
		out = append(out, message{kind: kindBell, header: header{ID: s.id, Seq: s.topic.bell}})
	}
	for i := 0; i < len(s.topic.items); {
		it := s.topic.items[i]
		for budget > 0 && s.cursor[it] < it.end {
			run, after := it.next(s.cursor[it])
			s.cursor[it] = after
			budget -= len(run.data)
			out = append(out, message{kind: kindFrame, body: run.data, header: header{
				ID: s.id, Item: it.id, Seq: it.seq, Attempt: it.attempt, Stream: run.stream, Offset: run.offset,
			}})
		}
		if !t.release(it) {
			i++
		}
	}
	return out, budget
}
