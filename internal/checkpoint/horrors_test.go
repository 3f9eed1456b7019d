// This file saves and restores trees of every kind.

package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

func TestTreeOfHorrors(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	left := horrors(t, dir)
	first := take(t, s, dir)
	var noted []string
	for _, n := range first.Notes {
		require.Contains(t, []tree.Reason{tree.Pipe, tree.Socket}, n.Reason)
		noted = append(noted, n.Path)
	}
	require.Equal(t, left, noted)
	require.False(t, first.Partial)
	require.NoError(t, s.Verify(context.Background(), first.ID))

	to := t.TempDir()
	require.NoError(t, s.RestoreEmpty(context.Background(), first.ID, folder(t, s, to), ""))
	again := take(t, s, to)
	require.Equal(t, first.Root, again.Root)
	diff, err := s.Diff(context.Background(), first.ID, again.ID, DiffOptions{})
	require.NoError(t, err)
	require.Empty(t, diff.Files)

	var used int64
	for _, name := range []string{"sparse", "large"} {
		info, err := os.Stat(filepath.Join(to, name))
		require.NoError(t, err)
		used += allocated(info)
	}
	require.Less(t, used, int64(32<<20), "holes stay holes")
	entries, err := os.ReadDir(to)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), ".sandbox")
	}
}

func TestUnchangedIsTheSameCheckpoint(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	horrors(t, dir)
	w := folder(t, s, dir)
	first, err := s.Take(context.Background(), w, TakeOptions{})
	require.NoError(t, err)
	second, err := s.Take(context.Background(), w, TakeOptions{Parent: first.ID})
	require.NoError(t, err)
	require.True(t, second.Reused)
	require.Equal(t, first.ID, second.ID)
	require.Zero(t, second.Grown)
	write(t, dir, "plain", "PLAIN")
	third, err := s.Take(context.Background(), w, TakeOptions{Parent: first.ID})
	require.NoError(t, err)
	require.NotEqual(t, first.Root, third.Root)
	require.Equal(t, first.ID, third.Parent)
	require.Less(t, third.Grown, int64(16<<10))
	cold, err := s.Take(context.Background(), w, TakeOptions{Parent: first.ID, Rehash: true})
	require.NoError(t, err)
	require.Equal(t, third.ID, cold.ID, "with or without cache")
}
