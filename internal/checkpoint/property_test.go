// This file changes trees at random and brings them back.

package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// gardener changes a tree at random.
type gardener struct {
	t   testing.TB
	r   *rand.Rand
	dir string
}

var names = []string{"a", "b", "c", "d", "e", "bad\xff", "new\nline"}

func (g *gardener) path() string {
	p := g.dir
	for range 1 + g.r.IntN(4) {
		p = filepath.Join(p, names[g.r.IntN(len(names))])
	}
	return p
}

// existing returns a random path that is there.
func (g *gardener) existing() string {
	var all []string
	_ = filepath.WalkDir(g.dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != g.dir {
			all = append(all, path)
		}
		return nil
	})
	if len(all) == 0 {
		return g.path()
	}
	slices.Sort(all)
	return all[g.r.IntN(len(all))]
}

func (g *gardener) text() []byte {
	if g.r.IntN(20) == 0 {
		return make([]byte, 9<<20+g.r.IntN(1<<20)) // large and empty
	}
	return fmt.Appendf(nil, "%d", g.r.IntN(5))
}

// edit makes one change; what is not possible is not made.
func (g *gardener) edit() {
	at := g.existing()
	if g.r.IntN(2) == 0 {
		at = g.path()
	}
	switch g.r.IntN(9) {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.WriteFile(at, g.text(), 0o644)
	case 3:
		_ = os.MkdirAll(at, 0o755)
	case 4:
		_ = os.RemoveAll(at)
	case 5:
		_ = os.Symlink(names[g.r.IntN(len(names))], at)
	case 6:
		_ = os.Link(g.existing(), at)
	case 7:
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chmod(at, []fs.FileMode{0o755, 0o700, 0o644, 0o711}[g.r.IntN(4)])
		}
	case 8:
		_ = os.Rename(g.existing(), at)
	}
}

func TestRandomTreesComeBack(t *testing.T) {
	rounds := 25
	if os.Getenv("SANDBOX_TEST_FULL") == "1" {
		rounds = 1000
	}
	s, ctx := newStore(t), context.Background()
	for seed := range uint64(rounds) {
		dir := t.TempDir()
		g := &gardener{t: t, r: rand.New(rand.NewPCG(seed, 1)), dir: dir}
		w := folder(t, s, dir)
		for range 40 {
			g.edit()
		}
		was := snapshot(t, dir, false)
		a, err := s.Take(ctx, w, TakeOptions{Pin: &Ref{Folder: dir}})
		require.NoError(t, err)
		for range 1 + g.r.IntN(30) {
			g.edit()
		}
		became := snapshot(t, dir, false)
		back, err := s.RestoreOnto(ctx, a.ID, w, RestoreOptions{Take: TakeOptions{Parent: a.ID}, Pin: &Ref{Folder: dir}})
		require.NoError(t, err, "seed %d", seed)
		require.Empty(t, back.Kept, "seed %d", seed)
		require.Equal(t, was, snapshot(t, dir, false), "seed %d", seed)
		now, err := s.Take(ctx, w, TakeOptions{Parent: a.ID})
		require.NoError(t, err)
		diff, err := s.Diff(ctx, a.ID, now.ID, DiffOptions{})
		require.NoError(t, err)
		require.Empty(t, diff.Files, "seed %d", seed)

		forth, err := s.RestoreOnto(ctx, back.Undo, w, RestoreOptions{})
		require.NoError(t, err, "seed %d", seed)
		require.Empty(t, forth.Kept, "seed %d", seed)
		require.Equal(t, became, snapshot(t, dir, false), "seed %d", seed)

		fresh := t.TempDir()
		require.NoError(t, s.RestoreEmpty(ctx, a.ID, folder(t, s, fresh), ""))
		again := take(t, s, fresh)
		require.Equal(t, a.Root, again.Root, "seed %d", seed)
	}
	_, err := s.GC(ctx, GCOptions{All: true})
	require.NoError(t, err)
}

// tend makes n random changes below a folder.
func tend(t *testing.T, dir string, seed uint64, n int) {
	t.Helper()
	g := &gardener{t: t, r: rand.New(rand.NewPCG(seed, 3)), dir: dir}
	for range n {
		g.edit()
	}
}

// TestRandomTreesMerge merges trees of every shape: what only one side changed comes whole, and what has come does not come
// again.
func TestRandomTreesMerge(t *testing.T) {
	rounds := 25
	if os.Getenv("SANDBOX_TEST_FULL") == "1" {
		rounds = 1000
	}
	for seed := range uint64(rounds) {
		mergeRandomTrees(t, seed)
	}
}

// In these a file was to be one with another that stayed, and was told as changed again and again.
func TestRandomTreesMergeOnce(t *testing.T) {
	for _, seed := range []uint64{190} {
		mergeRandomTrees(t, seed)
	}
}

func mergeRandomTrees(t *testing.T, seed uint64) {
	t.Helper()
	f := newFork(t, func(dir string) { tend(t, dir, seed, 40) })
	tend(t, f.there, seed+1_000_000, 20)
	was := snapshot(t, f.dir, false)
	theirs := f.theirs()
	out := f.merge(MergeOptions{})
	require.Empty(t, append(out.Kept, out.Conflicts...), "seed %d", seed)
	require.Equal(t, snapshot(t, f.there, false), snapshot(t, f.dir, false), "seed %d", seed)
	f.back(out.Undo, RestoreOptions{})
	require.Equal(t, was, snapshot(t, f.dir, false), "seed %d, undone", seed)

	tend(t, f.dir, seed+2_000_000, 20)
	was = snapshot(t, f.dir, false)
	require.Empty(t, f.merge(MergeOptions{Base: f.base.ID, Theirs: f.base.ID}).Files, "seed %d", seed)
	for _, on := range []OnConflict{Mine, Theirs} {
		o := MergeOptions{Base: f.base.ID, Theirs: theirs.ID, OnConflict: on}
		out := f.merge(o)
		again := f.merge(o)
		require.Empty(t, again.Files, "seed %d, %s: %s", seed, on, brief(out))
		require.Equal(t, out.Conflicts, again.Conflicts, "seed %d, %s", seed, on)
		f.back(out.Undo, RestoreOptions{})
		require.Equal(t, was, snapshot(t, f.dir, false), "seed %d, %s, undone", seed, on)
	}
}
