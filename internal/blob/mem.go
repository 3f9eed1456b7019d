// This file keeps objects in memory, for tests.

package blob

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// Mem is a Store in memory. It is for tests.
type Mem struct {
	mu      sync.RWMutex
	objects map[Ref][]byte
}

// NewMem makes an empty Mem.
func NewMem() *Mem { return &Mem{objects: map[Ref][]byte{}} }

// Put implements Store.
func (m *Mem) Put(ctx context.Context, data []byte) (Ref, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := checkSize(data); err != nil {
		return "", err
	}
	ref := Sum(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[ref] = bytes.Clone(data)
	return ref, nil
}

// Get implements Store.
func (m *Mem) Get(ctx context.Context, ref Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := ref.digest(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	data, ok := m.objects[ref]
	m.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, ref)
	}
	if err := verify(ref, data); err != nil {
		return nil, err
	}
	return append([]byte{}, data...), nil
}

// Has implements Store.
func (m *Mem) Has(ctx context.Context, ref Ref) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if _, err := ref.digest(); err != nil {
		return false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.objects[ref]
	return ok, nil
}
