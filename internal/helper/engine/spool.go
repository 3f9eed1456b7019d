// This file keeps the output of one stream on disk, bounded: the first half of the allowance and a ring of the last.

package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

const (
	trailerSize = 8
	readChunk   = 64 << 10 // bytes of one read from a command's pipe
)

// spool is a file of which [0, head) holds the first bytes of the stream and [head, limit) a ring of the last ones. Once
// the ring wraps, the 8 bytes behind it hold the count of all bytes, so that a spool can be read after a crash.
type spool struct {
	path  string
	limit int64
	head  int64

	mu     sync.Mutex
	file   *os.File // nil until needed
	total  int64    // bytes produced
	stored int64    // bytes stored before storing failed; otherwise total
	low    int64    // first byte of the ring that is still there
	failed error    // why storing stopped
	done   bool     // nothing more will be written: keep no file open
}

// newSpool makes the spool of a command that starts now; limit is in bytes.
func newSpool(path string, limit int64) *spool {
	return &spool{path: path, limit: limit, head: limit / 2, low: limit / 2}
}

// loadSpool opens the spool of a command that an earlier helper ran. A spool that was dropped reads as skipped.
func loadSpool(path string, limit, recorded int64) (*spool, error) {
	s := newSpool(path, limit)
	s.done = true
	defer s.closeIfDone()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		s.total = recorded
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s.total, s.stored = info.Size(), info.Size()
	if info.Size() > limit {
		if err := s.loadTrailer(recorded); err != nil {
			return nil, err
		}
	}
	s.total = max(s.total, recorded)
	return s, nil
}

func (s *spool) loadTrailer(recorded int64) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	var b [trailerSize]byte
	if _, err := f.ReadAt(b[:], s.limit); err != nil {
		return fmt.Errorf("read the length of the spool: %w", err)
	}
	n := int64(binary.BigEndian.Uint64(b[:]))
	if n < s.limit {
		return fmt.Errorf("the spool counts %d bytes but holds more", n)
	}
	s.total, s.stored, s.low = n, n, n-(s.limit-s.head)
	if n != recorded { // the helper may have died between counting a chunk and storing it
		s.low = min(n, s.low+readChunk)
	}
	return nil
}

// finish says that nothing more will be written.
func (s *spool) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.closeIfDone()
}

func (s *spool) closeIfDone() {
	if s.done && s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// state returns the bytes produced so far and why storing them stopped, if it did.
func (s *spool) state() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.failed
}

// drop deletes what is stored; the counts stay.
func (s *spool) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.closeIfDone()
	s.stored, s.low, s.head = 0, 0, 0
	_ = os.Remove(s.path)
}

func (s *spool) open() (*os.File, error) {
	if s.file != nil {
		return s.file, nil
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s.file = f
	return f, nil
}

// write takes all of b. A failure to store it is remembered and never stops the command.
func (s *spool) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.total
	s.total += int64(len(b))
	if s.failed != nil {
		return
	}
	if err := s.store(b, at); err != nil {
		s.failed = err
		return
	}
	s.stored = s.total
}

func (s *spool) store(b []byte, at int64) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	ring := s.limit - s.head
	if end := at + int64(len(b)); end > s.limit {
		var count [trailerSize]byte
		binary.BigEndian.PutUint64(count[:], uint64(end))
		if _, err := f.WriteAt(count[:], s.limit); err != nil {
			return fmt.Errorf("write spool: %w", err)
		}
		s.low = max(s.low, end-ring)
	}
	for len(b) > 0 {
		pos, room := s.place(at)
		n := int(min(int64(len(b)), room))
		if _, err := f.WriteAt(b[:n], pos); err != nil {
			return fmt.Errorf("write spool: %w", err)
		}
		at += int64(n)
		b = b[n:]
	}
	return nil
}

// place returns where the byte at offset at lies in the file, and how many follow it there in a row.
func (s *spool) place(at int64) (pos, room int64) {
	if at < s.head {
		return at, s.head - at
	}
	ring := s.limit - s.head
	pos = s.head + (at-s.head)%ring
	return pos, s.limit - pos
}

// read returns up to n bytes from offset, or from the next byte that is still there, and where they begin.
func (s *spool) read(offset int64, n int) (data []byte, at, total int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = max(offset, 0)
	if at >= s.head && at < s.low {
		at = s.low
	}
	end := s.stored
	if at < s.head {
		end = min(end, s.head)
	}
	if at >= s.stored { // nothing there yet, or what was there could not be stored
		return nil, max(at, s.total), s.total, nil
	}
	data = make([]byte, min(int64(n), end-at))
	f, err := s.open()
	defer s.closeIfDone()
	if err != nil {
		return nil, at, s.total, err
	}
	for got := 0; got < len(data); {
		pos, room := s.place(at + int64(got))
		m := min(len(data)-got, int(room))
		if _, err := f.ReadAt(data[got:got+m], pos); err != nil {
			return nil, at, s.total, fmt.Errorf("read spool: %w", err)
		}
		got += m
	}
	return data, at, s.total, nil
}
