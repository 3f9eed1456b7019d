// This file tests packs by themselves: what lies in them is found again, also by others, and damage is told.

package pack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

func newPacks(t testing.TB) *Store {
	t.Helper()
	s, err := Open(Options{Dir: filepath.Join(t.TempDir(), "packs")})
	require.NoError(t, err)
	return s
}

// noise is an object that cannot be compressed.
func noise(seed, size int) []byte {
	var b []byte
	for h := tree.Sum(fmt.Append(nil, seed)); len(b) < size; h = tree.Sum(h[:]) {
		b = append(b, h[:]...)
	}
	return b[:size]
}

func add(t testing.TB, s *Store, objects ...[]byte) {
	t.Helper()
	w, err := s.NewWriter()
	require.NoError(t, err)
	for _, o := range objects {
		require.NoError(t, w.Add(tree.Sum(o), o))
	}
	require.NoError(t, w.Commit())
}

func TestObjects(t *testing.T) {
	s := newPacks(t)
	other, err := Open(s.opts)
	require.NoError(t, err)
	objects := [][]byte{{}, []byte("small"), bytes.Repeat([]byte("text "), 1<<20), noise(1, 9<<20)}
	for i := range 500 {
		objects = append(objects, noise(i+2, i*37))
	}
	w, err := s.NewWriter()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < len(objects); i += 4 {
				if err := w.Add(tree.Sum(objects[i]), objects[i]); err != nil {
					t.Error(err)
				}
				_ = w.Add(tree.Sum(objects[0]), objects[0])
			}
		})
	}
	wg.Wait()
	require.False(t, s.Has(tree.Sum(objects[1])), "not before it is committed")
	require.True(t, w.Has(tree.Sum(objects[1])))
	require.NoError(t, w.Commit())
	for _, from := range []*Store{s, other} {
		for _, o := range objects {
			got, err := from.Get(tree.Sum(o))
			require.NoError(t, err)
			require.True(t, bytes.Equal(o, got))
		}
	}
	_, n := s.Size()
	require.Equal(t, len(objects)-1, n, "noise of no bytes and the empty object are one")
	_, err = s.Get(tree.Sum([]byte("never there")))
	require.ErrorIs(t, err, ErrMissing)
	require.Error(t, func() error { w, _ := s.NewWriter(); return w.Add(tree.Hash{}, make([]byte, tree.MaxObject+1)) }())
}

func TestAbortLeavesNothing(t *testing.T) {
	s := newPacks(t)
	w, err := s.NewWriter()
	require.NoError(t, err)
	for i := range 5 {
		o := noise(i, 1<<20)
		require.NoError(t, w.Add(tree.Sum(o), o))
	}
	w.Abort()
	require.Error(t, w.Commit())
	files, err := os.ReadDir(s.opts.Dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestSweep(t *testing.T) {
	s := newPacks(t)
	other, err := Open(s.opts)
	require.NoError(t, err)
	ctx := context.Background()
	var live, dead [][]byte
	for i := range 40 {
		a, b, c := noise(3*i, 20_000), noise(3*i+1, 20_000), noise(3*i+2, 20_000)
		add(t, s, a, b, c)
		live, dead = append(live, a), append(dead, b, c)
	}
	add(t, s, noise(1000, 100))
	keep := map[tree.Hash]bool{}
	for _, o := range live {
		keep[tree.Sum(o)] = true
	}
	require.NoError(t, other.Refresh())
	out, err := s.Sweep(ctx, func(h tree.Hash) bool { return keep[h] })
	require.NoError(t, err)
	require.Less(t, out.After, out.Before/2)
	require.Equal(t, 40, out.Rewritten)
	require.Equal(t, 1, out.Removed)
	for _, from := range []*Store{s, other} { // the other one looks for packs that are gone
		for _, o := range live {
			got, err := from.Get(tree.Sum(o))
			require.NoError(t, err)
			require.Equal(t, o, got)
		}
		for _, o := range dead {
			_, err := from.Get(tree.Sum(o))
			require.ErrorIs(t, err, ErrMissing)
		}
	}
	again, err := s.Sweep(ctx, func(h tree.Hash) bool { return keep[h] })
	require.NoError(t, err)
	require.Zero(t, again.Rewritten+again.Removed)
}

func TestObjectsInTwoPacks(t *testing.T) {
	s := newPacks(t)
	other, err := Open(s.opts)
	require.NoError(t, err)
	o := noise(1, 1000)
	add(t, s, o, noise(2, 50_000))
	add(t, other, o, noise(3, 10))
	keep := func(h tree.Hash) bool { return h == tree.Sum(o) }
	for _, x := range []*Store{other, s, other} {
		_, err := x.Sweep(context.Background(), keep)
		require.NoError(t, err)
		got, err := x.Get(tree.Sum(o))
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
}

func TestDamagedIndex(t *testing.T) {
	s := newPacks(t)
	o := noise(1, 1000)
	add(t, s, o)
	names, err := filepath.Glob(filepath.Join(s.opts.Dir, "*"+indexSuffix))
	require.NoError(t, err)
	b, err := os.ReadFile(names[0])
	require.NoError(t, err)
	b[20] ^= 1
	require.NoError(t, os.WriteFile(names[0], b, 0o600))
	again, err := Open(s.opts)
	require.NoError(t, err)
	require.ErrorIs(t, again.Damaged(), tree.ErrFormat)
	_, err = again.Get(tree.Sum(o))
	require.ErrorIs(t, err, ErrMissing)
	again.RemoveRubbish()
	b[20] ^= 1
	require.NoError(t, os.WriteFile(names[0], b, 0o600))
	require.NoError(t, again.Refresh())
	require.NoError(t, again.Damaged())
	_, err = again.Get(tree.Sum(o))
	require.NoError(t, err)
}

func FuzzIndex(f *testing.F) {
	f.Add(encodeIndex([]record{{tree.Empty, location{at: 8, packed: 10, raw: 20, offset: 5, objectBytes: 15}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 40 { // the checksum would keep everything else out
			sum := tree.Sum(b[:len(b)-32])
			b = append(b[:len(b)-32:len(b)-32], sum[:]...)
		}
		records, err := decodeIndex(b, 1<<20)
		if err != nil {
			return
		}
		for _, r := range records {
			require.LessOrEqual(t, r.at+int64(r.packed), int64(1<<20))
			require.LessOrEqual(t, r.offset+r.objectBytes, uint32(maxFrame))
		}
		require.Equal(t, b, encodeIndex(records))
	})
}
