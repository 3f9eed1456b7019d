package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	project, state := filepath.Join(home, "project"), filepath.Join(home, "outer", "state")
	require.NoError(t, os.Mkdir(project, 0o700))
	require.NoError(t, os.MkdirAll(state, 0o700))
	file := filepath.Join(home, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(home, "link")
	require.NoError(t, os.Symlink(home, link))

	require.NoError(t, Check(project, state))
	for _, dir := range []string{"relative", "", "/", "/..", home, home + "/.", link, file, os.DevNull, filepath.Dir(state), state} {
		var unfit *Unfit
		require.ErrorAs(t, Check(dir, state), &unfit, dir)
		require.NotEmpty(t, unfit.Message)
	}
	require.ErrorIs(t, Check(filepath.Join(home, "none"), state), fs.ErrNotExist)
}

func TestResolveFollowsLinksAsFarAsTheyExist(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink(home, filepath.Join(home, "link")))
	require.Equal(t, filepath.Join(home, "none", "x"), Resolve(filepath.Join(home, "link", "none", "x")))
}
