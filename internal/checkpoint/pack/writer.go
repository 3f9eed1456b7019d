// This file writes packs.

package pack

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
)

const (
	packSize   = 64 << 20 // bytes on disk, about; a larger amount becomes several packs
	compressed = 2        // frames compressed side by side
)

// Writer adds objects. What it has added is visible after Commit; large amounts in part before. All methods may be called
// concurrently; after the first error all fail.
type Writer struct {
	s    *Store
	enc  *zstd.Encoder
	copy bool // also of what is there: into another pack

	mu      sync.Mutex
	pending map[tree.Hash]bool
	frame   []byte
	inFrame []record
	raw     int64 // bytes added
	err     error

	slots chan struct{}
	wg    sync.WaitGroup

	fileMu    sync.Mutex
	file      *os.File
	at        int64
	records   []record
	written   int64 // bytes of published packs
	published []string
}

// NewWriter returns a writer. It must be committed or aborted.
func (s *Store) NewWriter() (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(compressed), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	return &Writer{s: s, enc: enc, pending: map[tree.Hash]bool{}, slots: make(chan struct{}, compressed)}, nil
}

// Has tells whether an object is in the store or was added.
func (w *Writer) Has(h tree.Hash) bool {
	if w.s.Has(h) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending[h]
}

// Add adds an object unless it is there. The name must be that of its content, which may be used again afterwards.
func (w *Writer) Add(h tree.Hash, object []byte) error {
	if len(object) > tree.MaxObject {
		return fmt.Errorf("an object of %d bytes is too large", len(object))
	}
	if !w.copy && w.s.Has(h) {
		return nil
	}
	w.mu.Lock()
	if w.err != nil || w.pending[h] {
		defer w.mu.Unlock()
		return w.err
	}
	w.pending[h] = true
	w.raw += int64(len(object))
	var full []byte
	var inFull []record
	if len(w.frame) > 0 && len(w.frame)+len(object) > frameSize {
		full, inFull = w.frame, w.inFrame
		w.frame, w.inFrame = nil, nil
	}
	if w.frame == nil {
		w.frame = make([]byte, 0, max(frameSize, len(object)))
	}
	w.inFrame = append(w.inFrame, record{hash: h, location: location{offset: uint32(len(w.frame)), objectBytes: uint32(len(object))}})
	w.frame = append(w.frame, object...)
	w.mu.Unlock()
	if full == nil {
		return nil
	}
	w.slots <- struct{}{}
	w.wg.Go(func() {
		defer func() { <-w.slots }()
		w.fail(w.write(full, inFull))
	})
	return nil
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// write appends a frame to the pack, beginning one where needed.
func (w *Writer) write(frame []byte, records []record) error {
	packed := w.enc.EncodeAll(frame, make([]byte, 0, len(frame)/2))
	w.fileMu.Lock()
	defer w.fileMu.Unlock()
	if w.file == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if err := w.s.space(int64(len(packed))); err != nil {
		return err
	}
	if err := w.s.fault("pack-write"); err != nil {
		return err
	}
	if _, err := w.file.Write(packed); err != nil {
		return writing(err)
	}
	for i := range records {
		records[i].at, records[i].packed, records[i].raw = w.at, uint32(len(packed)), uint32(len(frame))
	}
	w.records = append(w.records, records...)
	w.at += int64(len(packed))
	if w.at < packSize {
		return nil
	}
	return w.publish()
}

func (w *Writer) begin() error {
	f, err := os.CreateTemp(w.s.opts.Dir, tempPrefix+"*"+packSuffix)
	if err != nil {
		return writing(err)
	}
	w.file, w.at, w.records = f, int64(len(packMagic)), nil
	if _, err := f.WriteString(packMagic); err != nil {
		return writing(err)
	}
	return nil
}

// publish makes the pack durable and visible: the pack first, then its index.
func (w *Writer) publish() error {
	if err := w.s.fault("pack-sync"); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return writing(err)
	}
	temp := w.file.Name()
	if err := w.file.Close(); err != nil {
		return writing(err)
	}
	name := newName()
	if err := w.s.fault("pack-rename"); err != nil {
		return err
	}
	if err := os.Rename(temp, w.s.path(name, packSuffix)); err != nil {
		return writing(err)
	}
	w.file = nil
	index := encodeIndex(w.records)
	if err := w.s.writeIndex(name, index); err != nil {
		return err
	}
	w.s.mu.Lock()
	w.s.add(&file{name: name, size: w.at}, w.records)
	w.s.mu.Unlock()
	w.published = append(w.published, name)
	w.written += w.at + int64(len(index))
	return nil
}

func (s *Store) writeIndex(name string, b []byte) error {
	temp := s.path(tempPrefix+name, indexSuffix)
	if err := s.fault("index-write"); err != nil {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return writing(err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.fault("index-rename")
	}
	if err == nil {
		err = os.Rename(temp, s.path(name, indexSuffix))
	}
	if err == nil {
		err = s.fault("dir-sync")
	}
	if err == nil {
		err = syncDir(s.opts.Dir)
	}
	return writing(err)
}

// Commit makes all that was added durable and visible.
func (w *Writer) Commit() error {
	w.wg.Wait()
	w.mu.Lock()
	frame, records, err := w.frame, w.inFrame, w.err
	w.frame, w.inFrame = nil, nil
	w.mu.Unlock()
	if err == nil && len(records) > 0 {
		err = w.write(frame, records)
	}
	if err == nil && w.file != nil {
		err = w.publish()
	}
	if err != nil {
		w.Abort()
	}
	return err
}

// Abort gives up what was not published yet. After Commit it does nothing.
func (w *Writer) Abort() {
	w.fail(errors.New("the writer was given up"))
	w.wg.Wait()
	w.fileMu.Lock()
	defer w.fileMu.Unlock()
	if w.file != nil {
		_ = w.file.Close()
		os.Remove(w.file.Name())
		w.file = nil
	}
}

// Added is how many bytes of objects were added, and how many the packs of them take on disk.
func (w *Writer) Added() (objects, disk int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fileMu.Lock()
	defer w.fileMu.Unlock()
	return w.raw, w.written
}

func (s *Store) fault(step string) error {
	if s.opts.Fault == nil {
		return nil
	}
	return s.opts.Fault(step)
}

// space fails when writing n bytes would leave too few.
func (s *Store) space(n int64) error {
	if s.opts.Reserve <= 0 {
		return nil
	}
	free, err := Free(s.opts.Dir)
	if err == nil && free-n < s.opts.Reserve {
		return fmt.Errorf("%w: %d MiB", ErrFull, free>>20)
	}
	return nil
}

// Free is how many bytes a user may still write to the file system of a directory.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("look for free disk space: %w", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the types differ between systems
}

// writing classifies an error of writing.
func writing(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

func newName() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
