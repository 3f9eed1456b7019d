// This file sets aside what turns out to be damaged, so that it is stored again when somebody has it.

package pack

import (
	"errors"
	"fmt"

	"sandboxagent/internal/checkpoint/tree"
)

// setAside forgets where an object lies, and all that lies in the same frame: from then on they count as missing, unless
// another pack has them, and adding them stores them. It reports whether the object is somewhere else.
func (s *Store) setAside(h tree.Hash, l location, err error) (elsewhere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[l.in.name] = fmt.Errorf("pack %s: %w", l.in.name, err)
	for other, at := range s.index {
		if at.in != l.in || at.at != l.at {
			continue
		}
		delete(s.index, other)
		if second, ok := s.second[other]; ok && second.in != l.in {
			s.index[other] = second
			delete(s.second, other)
			continue
		}
		s.aside[other] = true
	}
	_, elsewhere = s.index[h]
	return elsewhere
}

// want notes that an object was asked for in vain.
func (s *Store) want(h tree.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside[h] = true
}

// Wanting tells whether objects are known to be damaged or missing that nobody has stored again.
func (s *Store) Wanting() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.aside) > 0 || len(s.damaged) > 0
}

// Broken tells what has turned out to be damaged since the store was opened.
func (s *Store) Broken() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all error
	for _, err := range s.broken {
		all = errors.Join(all, err)
	}
	return all
}
