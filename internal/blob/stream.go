// This file stores content of any length as chunks and a manifest, so that neither side holds it in memory.

package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ChunkSize is the length in bytes of every chunk but the last of a long content. Up to one chunk there is no manifest.
const ChunkSize = 1 << 20

// A manifest is the magic, the total length (8 bytes, big endian) and the SHA-256 digests of the chunks. A Writer never
// makes a plain object that begins with the magic: such content gets a manifest however short it is.
const (
	manifestMagic  = "\x8b\xd1blob-chunks-1\n\x00"
	manifestHeader = len(manifestMagic) + 8

	maxChunks = (MaxObject - manifestHeader) / sha256.Size
)

// MaxContent is the most bytes a Writer takes: almost 256 GiB.
const MaxContent = int64(maxChunks) * ChunkSize

// Writer stores what is written to it. It buffers at most one chunk. It is not safe for concurrent use.
type Writer struct {
	ctx     context.Context
	store   Store
	buf     []byte
	size    int64
	digests []byte
	err     error
	closed  bool
}

// NewWriter returns a Writer into s. Its calls to s use ctx. Nothing needs to be done to abandon it.
func NewWriter(ctx context.Context, s Store) *Writer { return &Writer{ctx: ctx, store: s} }

// Write implements io.Writer. Once it has failed it fails for ever, and so does Close. It fails with ErrTooLarge above
// MaxContent.
func (w *Writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errors.New("write to a closed blob writer")
	}
	written := 0
	for len(p) > 0 && w.err == nil {
		if len(w.buf) == ChunkSize {
			w.err = w.flush()
			continue
		}
		n := min(len(p), ChunkSize-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		w.size += int64(n)
		p, written = p[n:], written+n
	}
	return written, w.err
}

// flush stores the buffer as a chunk.
func (w *Writer) flush() error {
	if len(w.digests)/sha256.Size == maxChunks {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxContent)
	}
	ref, err := w.store.Put(w.ctx, w.buf)
	if err != nil {
		return err
	}
	digits, err := ref.digest()
	if err != nil {
		return err
	}
	w.buf = w.buf[:0]
	w.digests, err = hex.AppendDecode(w.digests, []byte(digits))
	return err
}

// Size returns how many bytes were written so far.
func (w *Writer) Size() int64 { return w.size }

// Close stores what is left and returns the Ref of the whole content.
func (w *Writer) Close() (Ref, error) {
	if w.err != nil {
		return "", w.err
	}
	if w.closed {
		return "", errors.New("blob writer closed twice")
	}
	w.closed = true
	if len(w.digests) == 0 && !isManifest(w.buf) {
		return w.store.Put(w.ctx, w.buf)
	}
	if len(w.buf) > 0 {
		if err := w.flush(); err != nil {
			return "", err
		}
	}
	manifest := binary.BigEndian.AppendUint64([]byte(manifestMagic), uint64(w.size))
	return w.store.Put(w.ctx, append(manifest, w.digests...))
}

func isManifest(data []byte) bool { return bytes.HasPrefix(data, []byte(manifestMagic)) }

// Reader reads content of any length by range. It is safe for concurrent use and keeps one chunk in memory.
type Reader struct {
	ctx     context.Context
	store   Store
	size    int64
	digests []byte // of the chunks; nil when the content is one plain object

	mu    sync.Mutex
	index int    // of chunk, -1 for none
	chunk []byte // the chunk read last, or the plain object
}

// Open returns a Reader of the content that ref names. Its calls to s use ctx. Use io.NewSectionReader(r, 0, r.Size())
// to read it in sequence. Content of a plain Put that happens to begin like a manifest must be read with Get.
func Open(ctx context.Context, s Store, ref Ref) (*Reader, error) {
	data, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !isManifest(data) {
		return &Reader{ctx: ctx, size: int64(len(data)), chunk: data}, nil
	}
	size, digests, err := parseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("reading the chunk list %s: %w", ref, err)
	}
	return &Reader{ctx: ctx, store: s, size: size, digests: digests, index: -1}, nil
}

func parseManifest(data []byte) (size int64, digests []byte, err error) {
	if len(data) < manifestHeader {
		return 0, nil, fmt.Errorf("%w: it is cut", ErrCorrupt)
	}
	total := binary.BigEndian.Uint64(data[len(manifestMagic):])
	digests = data[manifestHeader:]
	chunks := (total + ChunkSize - 1) / ChunkSize
	if total > uint64(MaxContent) || chunks == 0 || uint64(len(digests)) != chunks*sha256.Size {
		return 0, nil, fmt.Errorf("%w: %d bytes of digests for %d bytes of content", ErrCorrupt, len(digests), total)
	}
	return int64(total), digests, nil
}

// Size returns the length of the content in bytes.
func (r *Reader) Size() int64 { return r.size }

// ReadAt implements io.ReaderAt. Besides io.EOF it fails like Store.Get.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("reading a blob at the negative offset %d", off)
	}
	n := 0
	for n < len(p) {
		if off >= r.size {
			return n, io.EOF
		}
		rest, err := r.chunkFrom(off)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], rest)
		n, off = n+copied, off+int64(copied)
	}
	return n, nil
}

// chunkFrom returns what the chunk that holds the byte at off has from there on.
func (r *Reader) chunkFrom(off int64) ([]byte, error) {
	if r.digests == nil {
		return r.chunk[off:], nil
	}
	index := int(off / ChunkSize)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == index {
		return r.chunk[off%ChunkSize:], nil
	}
	ref := refOf(r.digests[index*sha256.Size : (index+1)*sha256.Size])
	chunk, err := r.store.Get(r.ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("reading chunk %d: %w", index, err)
	}
	if want := min(ChunkSize, r.size-int64(index)*ChunkSize); int64(len(chunk)) != want {
		return nil, fmt.Errorf("%w: chunk %d has %d bytes instead of %d", ErrCorrupt, index, len(chunk), want)
	}
	r.index, r.chunk = index, chunk
	return chunk[off%ChunkSize:], nil
}

// PutAll stores data of any length, as a Writer does.
func PutAll(ctx context.Context, s Store, data []byte) (Ref, error) {
	w := NewWriter(ctx, s)
	if _, err := w.Write(data); err != nil {
		return "", err
	}
	return w.Close()
}

// ReadAll returns the whole content that ref names, of at most limit bytes; more is ErrTooLarge.
func ReadAll(ctx context.Context, s Store, ref Ref, limit int64) ([]byte, error) {
	r, err := Open(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	if r.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are wanted", ErrTooLarge, r.Size(), limit)
	}
	data := make([]byte, r.Size())
	if _, err := r.ReadAt(data, 0); err != nil {
		return nil, err
	}
	return data, nil
}
