// This file keeps what commands print, within their limit, and feeds them input.

package fake

import (
	"io"
	"slices"
	"sync"

	"sandboxagent/internal/sandbox"
)

const (
	maxOutput  = 1 << 20 // bytes of one Output
	maxInput   = 1 << 20 // bytes not yet read
	defaultCap = 64 << 20
)

// stream is one output stream of a command. All of it is kept, but what the limit would have dropped cannot be read.
type stream struct {
	data    []byte
	limit   int64
	dropped int64 // bytes of the beginning that a test dropped
}

// read returns up to n bytes from offset, or from the next byte that is still there, and where they begin.
func (s *stream) read(offset int64, n int) ([]byte, int64) {
	total, head := int64(len(s.data)), s.limit/2
	at, end := max(offset, s.dropped), total
	if total > s.limit {
		low := total - (s.limit - head)
		if at >= head {
			at = max(at, low)
		} else {
			end = head
		}
	}
	if at >= total {
		return nil, max(offset, total)
	}
	return slices.Clone(s.data[at:min(end, at+int64(min(n, maxOutput)))]), at
}

// queue is the input of a command: what is written waits there, bounded, until it is read.
type queue struct {
	mu   sync.Mutex
	cond *sync.Cond
	data []byte
	eof  bool
}

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *queue) put(data []byte, eof bool) error {
	const op = "write input"
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.eof:
		return sandbox.Errorf(sandbox.ClassInvalid, op, "the command takes no more input")
	case len(q.data)+len(data) > maxInput:
		return sandbox.Errorf(sandbox.ClassLimit, op, "the command has %d bytes of input still to read", len(q.data))
	}
	q.data, q.eof = append(q.data, data...), eof
	q.cond.Broadcast()
	return nil
}

// close ends the input; what was not read is gone.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.data, q.eof = nil, true
	q.cond.Broadcast()
}

// Read implements io.Reader; it waits for data.
func (q *queue) Read(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.data) == 0 && !q.eof {
		q.cond.Wait()
	}
	if len(q.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b, q.data)
	q.data = q.data[n:]
	return n, nil
}
