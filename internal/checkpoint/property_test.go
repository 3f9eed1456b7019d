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
