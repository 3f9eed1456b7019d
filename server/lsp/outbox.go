// This file queues what goes to the client: bounded in bytes, written by one goroutine, in order.

package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Bounds of the queue. Beyond the first one only what must not be lost is queued, beyond the second nothing is.
const (
	outboxSoftBytes = 1 << 20
	outboxHardBytes = 8 << 20
)

var errOutboxClosed = errors.New("the connection to the client is closed")

// outbox is a queue of frames for one client.
type outbox struct {
	mu     sync.Mutex
	change *sync.Cond
	frames [][]byte
	bytes  int
	closed bool
	err    error         // of the first write that failed
	done   chan struct{} // closed when nothing will be written any more
}

func newOutbox() *outbox {
	b := &outbox{done: make(chan struct{})}
	b.change = sync.NewCond(&b.mu)
	return b
}

// run writes to out until the box is closed and empty, or writing fails.
func (b *outbox) run(out io.Writer) {
	defer close(b.done)
	for {
		frame, ok := b.take()
		if !ok {
			return
		}
		if _, err := out.Write(frame); err != nil {
			b.fail(fmt.Errorf("writing to the client: %w", err))
			return
		}
		b.written(len(frame))
	}
}

func (b *outbox) take() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && !b.closed {
		b.change.Wait()
	}
	if len(b.frames) == 0 {
		return nil, false
	}
	frame := b.frames[0]
	b.frames[0] = nil
	b.frames = b.frames[1:]
	return frame, true
}

func (b *outbox) written(n int) {
	b.mu.Lock()
	b.bytes -= n
	b.mu.Unlock()
	b.change.Broadcast()
}

func (b *outbox) fail(err error) {
	b.mu.Lock()
	b.err, b.closed, b.frames, b.bytes = err, true, nil, 0
	b.mu.Unlock()
	b.change.Broadcast()
}

// put queues a frame, waiting for room.
func (b *outbox) put(ctx context.Context, frame []byte) error {
	defer context.AfterFunc(ctx, b.wake)()
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes > 0 && b.bytes+len(frame) > outboxHardBytes && !b.closed && ctx.Err() == nil {
		b.change.Wait()
	}
	if b.closed {
		return errors.Join(errOutboxClosed, b.err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.push(frame)
	return nil
}

// wake makes waiting calls look at their contexts again.
func (b *outbox) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change.Broadcast()
}

// offer queues a frame that may be lost, and reports whether it did.
func (b *outbox) offer(frame []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.bytes+len(frame) > outboxSoftBytes {
		return false
	}
	b.push(frame)
	return true
}

func (b *outbox) push(frame []byte) {
	b.frames = append(b.frames, frame)
	b.bytes += len(frame)
	b.change.Broadcast()
}

// close ends the queue and waits until it is written, at most for the given time. It returns why writing failed.
func (b *outbox) close(wait time.Duration) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.change.Broadcast()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
		return errors.New("the client did not read the last messages")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
