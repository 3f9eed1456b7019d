package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFoldersOfForks(t *testing.T) {
	home := t.TempDir()
	f := Forks{Dir: filepath.Join(home, "forks")}
	require.NoError(t, f.Remove("s1"), "there is nothing yet")
	all, err := f.List()
	require.NoError(t, err)
	require.Empty(t, all)

	dir := filepath.Join(f.Dir, "s1", "project")
	mine := Fork{Session: "s1", Owner: "me", HostID: "h", Realm: "r"}
	require.NoError(t, f.Make(dir, mine))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o400))
	require.NoError(t, f.Make(dir, mine), "again")
	require.FileExists(t, filepath.Join(dir, "file"))
	require.NoError(t, Check(dir, filepath.Join(home, "state")))
	require.NoError(t, os.MkdirAll(filepath.Join(f.Dir, "unknown", "x"), 0o700))
	all, err = f.List()
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.False(t, all[0].Made.IsZero())
	all[0].Made = all[1].Made
	require.Equal(t, []Fork{mine, {Session: "unknown"}}, all)

	for _, dir := range []string{f.Dir, filepath.Join(f.Dir, "s1"), filepath.Join(f.Dir, "s1", "a", "b"), filepath.Join(home, "s1", "x"), filepath.Join(f.Dir, "..", "x", "y"), "", "x/y"} {
		_, ok := f.Of(dir)
		require.False(t, ok, dir)
		require.Error(t, f.Make(dir, mine), dir)
	}
	require.Error(t, f.Make(filepath.Join(f.Dir, "s2", "x"), mine), "of another session")
	require.Error(t, f.Make(filepath.Join(f.Dir, "s1", forkFile), mine))
	_, ok := Forks{}.Of("/a/b")
	require.False(t, ok)
}

func TestOnlyTheFoldersOfForksAreRemoved(t *testing.T) {
	home := t.TempDir()
	f := Forks{Dir: filepath.Join(home, "forks")}
	dir := filepath.Join(f.Dir, "s1", "project")
	require.NoError(t, f.Make(dir, Fork{Session: "s1"}))
	require.NoError(t, f.Make(filepath.Join(f.Dir, "s2", "project"), Fork{Session: "s2"}))
	outside := filepath.Join(home, "outside")
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "kept"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(f.Dir, "s3")))
	locked := filepath.Join(dir, "locked", "deep")
	require.NoError(t, os.MkdirAll(locked, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(locked, "f"), nil, 0o400))
	require.NoError(t, os.Chmod(locked, 0o500))
	require.NoError(t, os.Chmod(filepath.Dir(locked), 0o000))

	for _, session := range []string{"", ".", "..", "../outside", "s1/project"} {
		require.NoError(t, f.Remove(session))
	}
	require.DirExists(t, dir)
	require.NoError(t, f.Remove("s1"))
	require.NoError(t, f.Remove("s1"), "again")
	require.NoError(t, f.Remove("s3"))
	require.NoDirExists(t, filepath.Join(f.Dir, "s1"))
	require.NoFileExists(t, filepath.Join(f.Dir, "s3"))
	require.DirExists(t, filepath.Join(outside, "kept"), "links are not followed")
	require.DirExists(t, filepath.Join(f.Dir, "s2", "project"))
}
