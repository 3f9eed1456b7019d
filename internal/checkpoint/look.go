// This file lets others look into the trees of checkpoints.

package checkpoint

import (
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// ReadDir reads a directory of a checkpoint, by its hash; that of the whole is Info.Root.
func (s *Store) ReadDir(h tree.Hash) ([]tree.Entry, error) {
	entries, err := s.dir(h)
	return entries, classed(opRead, err)
}

// Lookup returns what is at a path of a checkpoint, slash-separated and relative to the workspace. It fails with ClassNotFound.
func (s *Store) Lookup(id, path string) (*tree.Entry, error) {
	info, err := s.Stat(id)
	if err != nil {
		return nil, err
	}
	e, err := s.lookup(info.Root, path)
	if err != nil {
		return nil, classed(opRead, err)
	}
	if e == nil {
		return nil, &sandbox.Error{Class: sandbox.ClassNotFound, Op: opRead, Path: path, Message: "checkpoint " + short(id) + " has no such file"}
	}
	return e, nil
}

// ReadFile reads the beginning of a file of a checkpoint, at most n bytes. Holes are zeros.
func (s *Store) ReadFile(e *tree.Entry, n int) ([]byte, error) { return s.ReadRange(e, 0, n) }

// ReadRange reads at most n bytes of a file of a checkpoint, less at its end. Holes are zeros. Only the pieces of the file that
// the range needs are read.
func (s *Store) ReadRange(e *tree.Entry, offset int64, n int) ([]byte, error) {
	offset = min(offset, e.Size)
	b := make([]byte, min(int64(n), e.Size-offset))
	put := func(at int64, data []byte) {
		if skip := offset - at; skip > 0 {
			at, data = offset, data[min(skip, int64(len(data))):]
		}
		if at-offset < int64(len(b)) {
			copy(b[at-offset:], data)
		}
	}
	if !e.Chunked {
		data, err := s.whole(e)
		put(0, data)
		return b, err
	}
	extents, err := s.extents(e)
	if err != nil {
		return nil, classed(opRead, err)
	}
	for _, x := range extents {
		if x.Offset+int64(x.Size) <= offset || x.Offset >= offset+int64(len(b)) {
			continue
		}
		data, err := s.piece(x)
		if err != nil {
			return nil, err
		}
		put(x.Offset, data)
	}
	return b, nil
}
