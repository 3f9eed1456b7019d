// This file is what a subscriber holds: frames in order and the latest bell, whatever its connection does.

package feed

import "sync"

// Subscription brings the frames and bells of one session. The consumer must read Frames or Close it; while it is slow,
// frames are joined, and when too much waits the oldest are dropped.
type Subscription struct {
	session string
	frames  chan Frame
	bells   chan int64
	closed  chan struct{} // by Close
	wake    chan struct{} // holds a token when the queue has something new or has ended
	leave   func()        // takes the subscription from its owner

	mu    sync.Mutex
	queue queue
	ended bool // nothing more comes
	done  bool // Close was called
}

func newSubscription(session string, leave func(*Subscription)) *Subscription {
	s := &Subscription{
		session: session, frames: make(chan Frame), bells: make(chan int64, 1),
		closed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	s.leave = func() { leave(s) }
	go s.pump()
	return s
}

// Frames brings frames, in order per item, attempt and stream. It is closed by Close and when its Client or Watcher is
// closed; after the connection of a Client died it still brings what waits and is closed then.
func (s *Subscription) Frames() <-chan Frame { return s.frames }

// Bells brings the latest seq that was rung, when there is a new one: durable events up to it may be there. It is closed
// no later than Frames is.
func (s *Subscription) Bells() <-chan int64 { return s.bells }

// Close ends the subscription; what waits is dropped. It may be called more than once.
func (s *Subscription) Close() {
	if s.abandon() {
		s.leave()
	}
}

// abandon ends the subscription without telling its owner; false: it was done before.
func (s *Subscription) abandon() bool {
	s.mu.Lock()
	first := !s.done
	s.done = true
	s.mu.Unlock()
	if first {
		close(s.closed)
		s.end()
	}
	return first
}

// end says that nothing more comes; what waits is still delivered.
func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	close(s.bells)
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// deliver takes a frame from the hub with the given epoch. It never blocks.
func (s *Subscription) deliver(epoch string, f Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.queue.push(queued{epoch, f})
	s.signal()
}

// ring takes a bell. It never blocks.
func (s *Subscription) ring(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	select {
	case <-s.bells:
	default:
	}
	s.bells <- seq // has room: nobody else sends
}

// pump hands the queue to the consumer.
func (s *Subscription) pump() {
	defer close(s.frames)
	var seen tracker
	for {
		q, ok := s.pop()
		if !ok {
			return
		}
		f, ok := seen.accept(q)
		if !ok {
			continue
		}
		select {
		case s.frames <- f:
		case <-s.closed:
			return
		}
	}
}

// pop waits for the next frame; false: there is none and none will come.
func (s *Subscription) pop() (queued, bool) {
	for {
		s.mu.Lock()
		q, ok := s.queue.pop()
		ended := s.ended
		s.mu.Unlock()
		if ok || ended {
			return q, ok
		}
		<-s.wake
	}
}
