// This file lets a workspace lie about its tree.

package checkpoint

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

func hashOf(i, j int) tree.Hash {
	return tree.Sum([]byte{byte(i), byte(i >> 8), byte(j), byte(j >> 8)})
}

// liar is a workspace whose picture a test makes up.
type liar struct {
	Workspace
	picture func(store worktree.Store) (worktree.Picture, error)
}

func (l liar) Scan(_ context.Context, _ worktree.ScanOptions, store worktree.Store) error {
	p, err := l.picture(store)
	if err == nil {
		_, err = store.Commit(p)
	}
	return err
}

func putDir(store worktree.Store, entries ...tree.Entry) (tree.Hash, error) {
	object := tree.EncodeDir(entries)
	return tree.Sum(object), store.Put(tree.Sum(object), object)
}

func TestLyingWorkspaces(t *testing.T) {
	file := func(name string, h tree.Hash, size int64) tree.Entry {
		return tree.Entry{Name: name, Kind: tree.File, Mode: 0o644, Size: size, Chunked: size > tree.MaxWhole, Hash: h}
	}
	for name, tt := range map[string]struct {
		class   sandbox.Class
		picture func(s worktree.Store) (tree.Hash, error)
	}{
		"a root that is not there": {sandbox.ClassCorrupt, func(worktree.Store) (tree.Hash, error) { return hashOf(1, 1), nil }},
		"a file that is not there": {sandbox.ClassCorrupt, func(s worktree.Store) (tree.Hash, error) {
			return putDir(s, file("f", hashOf(1, 2), 3))
		}},
		"a piece that is not there": {sandbox.ClassCorrupt, func(s worktree.Store) (tree.Hash, error) {
			list := tree.EncodeExtents([]tree.Extent{{Offset: 0, Size: tree.ChunkSize, Hash: hashOf(1, 3)}})
			if err := s.Put(tree.Sum(list), list); err != nil {
				return tree.Hash{}, err
			}
			return putDir(s, file("f", tree.Sum(list), 9<<20))
		}},
		"a directory that is none": {sandbox.ClassCorrupt, func(s worktree.Store) (tree.Hash, error) {
			b := []byte(strings.Repeat("../", 50))
			if err := s.Put(tree.Sum(b), b); err != nil {
				return tree.Hash{}, err
			}
			return putDir(s, tree.Entry{Name: "d", Kind: tree.Dir, Hash: tree.Sum(b)})
		}},
		"few objects for many paths": {sandbox.ClassLimit, func(s worktree.Store) (tree.Hash, error) {
			h := tree.Empty
			var err error
			for range 64 {
				a, b := tree.Entry{Name: "a", Kind: tree.Dir, Hash: h}, tree.Entry{Name: "b", Kind: tree.Dir, Hash: h}
				if h, err = putDir(s, a, b); err != nil {
					return h, err
				}
			}
			return h, nil
		}},
		"too deep": {sandbox.ClassCorrupt, func(s worktree.Store) (tree.Hash, error) {
			h, err := putDir(s, tree.Entry{Name: "f", Kind: tree.Link, Mode: 0o777, Target: "x"})
			for range tree.MaxDepth + 2 {
				if err != nil {
					break
				}
				h, err = putDir(s, tree.Entry{Name: "d", Kind: tree.Dir, Hash: h})
			}
			return h, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := s.Take(context.Background(), liar{picture: func(store worktree.Store) (worktree.Picture, error) {
				h, err := tt.picture(store)
				return worktree.Picture{Root: h}, err
			}}, TakeOptions{Pin: &Ref{Session: "s1"}})
			requireClass(t, tt.class, err)
			ids, err := s.ids()
			require.NoError(t, err)
			require.Empty(t, ids)
		})
	}
}
