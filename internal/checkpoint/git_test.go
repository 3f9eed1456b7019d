package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARestoreLeavesGitAlone(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, ".git/refs/heads/main", "1")
	write(t, k.dir, "f", "1")
	first := k.take()
	write(t, k.dir, ".git/refs/heads/main", "2")
	write(t, k.dir, ".git/objects/ab/cd", "committed since")
	write(t, k.dir, "f", "2")
	out := k.back(first.ID, RestoreOptions{})
	require.Equal(t, []string{"f"}, out.Restored)
	require.Len(t, out.Kept, 1)
	require.Equal(t, ".git", out.Kept[0].Path)
	require.Equal(t, "2", k.text(".git/refs/heads/main"))
	require.Equal(t, "committed since", k.text(".git/objects/ab/cd"))
}
