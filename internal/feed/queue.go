// This file holds frames for a consumer that is slow, and numbers them for it.

package feed

const (
	queueBytes  = 256 << 10 // of data that waits for the consumer of a subscription
	queueFrames = 1024      // and frames
	trackedKeys = 512       // items and streams whose progress is known
)

type queued struct {
	epoch string // of the hub: another one counts offsets anew
	frame Frame
}

// continues tells whether q goes on where p ends.
func (q queued) continues(p queued) bool {
	return q.epoch == p.epoch && q.frame.Item == p.frame.Item && q.frame.Stream == p.frame.Stream &&
		q.frame.Attempt == p.frame.Attempt && q.frame.Offset == p.frame.Offset+int64(len(p.frame.Data))
}

// queue joins frames that continue the last one and drops the oldest beyond its limits.
type queue struct {
	frames []queued
	bytes  int
}

func (q *queue) push(next queued) {
	q.bytes += len(next.frame.Data)
	if !q.join(next) {
		q.frames = append(q.frames, next)
	}
	for q.bytes > queueBytes || len(q.frames) > queueFrames {
		q.pop()
	}
}

// join appends next to the last frame if it goes on there and both fit one frame.
func (q *queue) join(next queued) bool {
	if len(q.frames) == 0 {
		return false
	}
	last := &q.frames[len(q.frames)-1]
	if !next.continues(*last) || len(last.frame.Data)+len(next.frame.Data) > maxFrameData {
		return false
	}
	last.frame.Data = append(last.frame.Data, next.frame.Data...)
	return true
}

func (q *queue) pop() (queued, bool) {
	if len(q.frames) == 0 {
		return queued{}, false
	}
	first := q.frames[0]
	q.frames[0] = queued{}
	q.frames = q.frames[1:]
	q.bytes -= len(first.frame.Data)
	return first, true
}

// tracker knows how far a consumer has come, so that nothing reaches it twice after a reconnect.
type tracker struct {
	epoch    string
	progress map[trackedKey]progress
}

type trackedKey struct{ item, stream string }

type progress struct {
	seq     int64
	attempt int
	offset  int64 // next one
	n       int64 // next one
}

// accept numbers a frame and cuts what the consumer has already; false: nothing is left of it.
func (t *tracker) accept(q queued) (Frame, bool) {
	if t.progress == nil || q.epoch != t.epoch {
		t.epoch, t.progress = q.epoch, map[trackedKey]progress{}
	}
	f := q.frame
	key := trackedKey{f.Item, f.Stream}
	p, known := t.progress[key]
	if f.Attempt < p.attempt {
		return Frame{}, false
	}
	if !known || f.Attempt > p.attempt {
		t.makeRoom()
		p = progress{seq: f.Seq, attempt: f.Attempt}
	}
	if known := p.offset - f.Offset; known > 0 {
		if known >= int64(len(f.Data)) {
			return Frame{}, false
		}
		f.Data, f.Offset = f.Data[known:], p.offset
	}
	if f.Offset > p.offset {
		p.n++ // something was lost
	}
	f.N = p.n
	p.n++
	p.offset = f.Offset + int64(len(f.Data))
	t.progress[key] = p
	return f, true
}

// makeRoom forgets the oldest item when too many are known.
func (t *tracker) makeRoom() {
	if len(t.progress) < trackedKeys {
		return
	}
	var oldest trackedKey
	found := false
	for key, p := range t.progress {
		if !found || p.seq < t.progress[oldest].seq {
			oldest, found = key, true
		}
	}
	delete(t.progress, oldest)
}
