// This file reads the content of files into objects.

package worktree

import (
	"errors"

	"sandboxagent/internal/checkpoint/tree"
)

// errIO says that a file cannot be read.
var errIO = errors.New("reading failed")

// readContent reads a file of about size bytes into the store and describes it in e.
func (w *worker) readContent(fd int, e *tree.Entry, size int64) error {
	w.hashed.Add(1)
	if size > tree.MaxWhole {
		return w.readLarge(fd, e, size)
	}
	if need := int(size) + 1; cap(w.content) < need {
		w.content = make([]byte, max(need, min(2*cap(w.content), tree.MaxWhole+1)))
	}
	b := w.content[:size+1] // one more byte tells whether it has grown
	n, err := readAt(fd, b, 0)
	if err != nil {
		return errIO
	}
	w.read.Add(int64(n))
	if n > int(size) {
		n = int(size)
	}
	e.Size, e.Chunked, e.Hash = int64(n), false, tree.Sum(b[:n])
	return w.store.Put(e.Hash, b[:n])
}

func (w *worker) readLarge(fd int, e *tree.Entry, size int64) error {
	if cap(w.content) < tree.ChunkSize {
		w.content = make([]byte, tree.ChunkSize)
	}
	extents, err := extentsOf(fd, size, w.content[:tree.ChunkSize], func(h tree.Hash, b []byte) error {
		if w.ctx.Err() != nil {
			return canceled(w.ctx, opScan)
		}
		w.read.Add(int64(len(b)))
		return w.store.Put(h, b)
	})
	if err != nil {
		return err
	}
	object := tree.EncodeExtents(extents)
	e.Size, e.Chunked, e.Hash = size, true, tree.Sum(object)
	return w.store.Put(e.Hash, object)
}

// extentsOf reads a large file piece by piece into buf, passing over holes.
func extentsOf(fd int, size int64, buf []byte, put func(tree.Hash, []byte) error) ([]tree.Extent, error) {
	var extents []tree.Extent
	for offset := int64(0); offset < size; offset += tree.ChunkSize {
		data := nextData(fd, offset, size)
		if data >= size {
			break
		}
		offset = data - data%tree.ChunkSize
		b := buf[:min(tree.ChunkSize, size-offset)]
		n, err := readAt(fd, b, offset)
		if err != nil {
			return nil, errIO
		}
		clear(b[n:]) // it has shrunk, which the times tell
		if tree.IsZero(b) {
			continue
		}
		h := tree.Sum(b)
		if err := put(h, b); err != nil {
			return nil, err
		}
		extents = append(extents, tree.Extent{Offset: offset, Size: len(b), Hash: h})
	}
	return extents, nil
}

// hashFile describes the content of an open file without storing it.
func hashFile(fd int, size int64) (e tree.Entry, err error) {
	e = tree.Entry{Kind: tree.File, Size: size}
	if size > tree.MaxWhole {
		extents, err := extentsOf(fd, size, make([]byte, tree.ChunkSize), func(tree.Hash, []byte) error { return nil })
		e.Chunked, e.Hash = true, tree.Sum(tree.EncodeExtents(extents))
		return e, err
	}
	b := make([]byte, size+1)
	n, err := readAt(fd, b, 0)
	if err != nil {
		return e, errIO
	}
	e.Size, e.Hash = int64(n), tree.Sum(b[:n])
	return e, nil
}
