// This file feeds a command's standard input from a bounded queue, so that a command that does not read blocks nobody.

package engine

import (
	"os"
	"sync"

	"sandboxagent/internal/sandbox"
)

const (
	maxInput = 1 << 20 // bytes queued
	opInput  = "write input"
	ttyEOF   = 0x04 // what a terminal takes for the end of input
)

type feeder struct {
	file *os.File
	tty  bool

	mu     sync.Mutex
	cond   *sync.Cond
	queue  []byte
	eof    bool
	closed bool // no more is taken
}

func newFeeder(f *os.File, tty bool) *feeder {
	w := &feeder{file: f, tty: tty}
	w.cond = sync.NewCond(&w.mu)
	go w.feed()
	return w
}

// put queues data; eof closes the input behind it.
func (w *feeder) put(data []byte, eof bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.eof {
		return sandbox.Errorf(sandbox.ClassInvalid, opInput, "the command takes no more input")
	}
	if len(w.queue)+len(data) > maxInput {
		return sandbox.Errorf(sandbox.ClassLimit, opInput, "the command has %d bytes of input still to read", len(w.queue))
	}
	w.queue = append(w.queue, data...)
	if eof && w.tty {
		w.queue = append(w.queue, ttyEOF)
	}
	w.eof = eof && !w.tty
	w.cond.Signal()
	return nil
}

func (w *feeder) feed() {
	for {
		data, more := w.next()
		if len(data) > 0 {
			if _, err := w.file.Write(data); err != nil {
				break
			}
		}
		if !more {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.queue = true, nil
	if !w.tty { // a terminal's end is closed by who reads from it
		_ = w.file.Close()
	}
}

// next waits for input and takes a piece of it; more is false behind the last one.
func (w *feeder) next() (data []byte, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.eof && !w.closed {
		w.cond.Wait()
	}
	if w.closed {
		return nil, false
	}
	n := min(len(w.queue), 32<<10)
	data, w.queue = w.queue[:n:n], w.queue[n:]
	return data, len(w.queue) > 0 || !w.eof
}

// close ends the feeding; it unblocks a write that nobody reads.
func (w *feeder) close() {
	w.mu.Lock()
	w.closed = true
	w.cond.Signal()
	w.mu.Unlock()
	_ = w.file.Close()
}
