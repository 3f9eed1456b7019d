// This file lets others look into the trees of checkpoints.

package checkpoint

import (
	"errors"

	"sandboxagent/internal/checkpoint/tree"
)

// ReadDir reads a directory of a checkpoint, by its hash; that of the whole is Info.Root.
func (s *Store) ReadDir(h tree.Hash) ([]tree.Entry, error) {
	entries, err := s.dir(h)
	return entries, classed(opRead, err)
}

// errEnough ends reading a file.
var errEnough = errors.New("enough")

// ReadFile reads the beginning of a file of a checkpoint, at most n bytes. Holes are zeros.
func (s *Store) ReadFile(e *tree.Entry, n int) ([]byte, error) {
	b := make([]byte, min(int64(n), e.Size))
	err := s.content(e, func(offset int64, data []byte) error {
		if offset >= int64(len(b)) {
			return errEnough
		}
		copy(b[offset:], data)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return b, classed(opRead, err)
}
