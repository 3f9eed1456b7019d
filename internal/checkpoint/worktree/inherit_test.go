// This file tests what a replaced file leaves to the one that replaces it, and what a crash must not take along.

package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	userAttribute = "user.sandbox-test"
	aclAttribute  = "system.posix_acl_access"
)

// acl lets user 12345 read and write, besides an owner who may, a group and others who may read.
var acl = []byte{
	2, 0, 0, 0,
	1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	2, 0, 6, 0, 0x39, 0x30, 0, 0,
	4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
	0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	0x20, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
}

func attribute(t *testing.T, path, name string) []byte {
	t.Helper()
	b := make([]byte, 1000)
	n, err := unix.Getxattr(path, name, b)
	if errors.Is(err, noAttribute) {
		return nil
	}
	require.NoError(t, err)
	return b[:n]
}

func setAttribute(t *testing.T, path, name string, value []byte) {
	t.Helper()
	err := unix.Setxattr(path, name, value, 0)
	if notPermitted(err) {
		t.Skipf("the file system of the test has no %s", name)
	}
	require.NoError(t, err)
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Lstat(path, &st))
	return st.Ino
}

func apply(t *testing.T, w *Tree) {
	t.Helper()
	o, err := Apply(t.Context(), w, changeTo("new"), versionContent("new"), nil)
	require.NoError(t, err)
	require.Empty(t, o.Kept)
}

func TestAReplacedFileLeavesItsAttributes(t *testing.T) {
	root := makeScene(t)
	path := filepath.Join(root, "d0/f0")
	setAttribute(t, path, userAttribute, []byte("the user's"))
	plain := filepath.Join(root, "d1/f1")
	apply(t, New(Options{Root: root, State: t.TempDir()}))
	require.Equal(t, "the user's", string(attribute(t, path, userAttribute)))
	require.Nil(t, attribute(t, plain, userAttribute))
	whole(t, root, "new")
}

func TestAReplacedFileLeavesItsAccessControlList(t *testing.T) {
	root := makeScene(t)
	path := filepath.Join(root, "d0/f0")
	setAttribute(t, path, aclAttribute, acl)
	require.NoError(t, os.Chmod(path, 0o640)) // the mask of the list is the group's permissions by now
	c := Change{ID: "e", Steps: []Step{{Path: "d0/f0", Before: versionEntry("f0", versionOld, 0o640), After: versionEntry("f0", "new", 0o660)}}}
	o, err := Apply(t.Context(), New(Options{Root: root, State: t.TempDir()}), c, versionContent("new"), nil)
	require.NoError(t, err)
	require.Empty(t, o.Kept)
	want := append([]byte(nil), acl...)
	want[len(want)-8+2] = 0 // what others may do
	require.Equal(t, want, attribute(t, path, aclAttribute))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode())
}

func TestAReplacedFileLeavesItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const user, group = 12345, 23456
	root := makeScene(t)
	require.NoError(t, os.Chown(filepath.Join(root, "d0/f0"), user, group))
	require.NoError(t, os.Lchown(filepath.Join(root, "link"), user, group))
	require.NoError(t, os.Chown(root, user, group))
	apply(t, New(Options{Root: root, State: t.TempDir()}))
	for path, want := range map[string]owner{
		"d0/f0": {user, group}, "link": {user, group}, "d1/f1": {0, 0},
		"typed": {user, group}, "typed/new": {user, group}, // new, and so the directory's
	} {
		is, err := ownerAt(unix.AT_FDCWD, filepath.Join(root, path))
		require.NoError(t, err)
		require.Equal(t, want, is, path)
	}
}

func TestPermissionsAloneLeaveTheFile(t *testing.T) {
	root := makeScene(t)
	path := filepath.Join(root, "mode")
	before := inodeOf(t, path)
	require.NoError(t, os.Chmod(path, 0o644|os.ModeSetuid))
	apply(t, New(Options{Root: root, State: t.TempDir()}))
	require.Equal(t, before, inodeOf(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode(), "setuid goes")
}

// TestTheUsersFileSurvivesACrash: the user has changed files in the moment between a look and a move, and then the
// process died before it looked at what it had moved.
func TestTheUsersFileSurvivesACrash(t *testing.T) {
	const users = "the user's own"
	c := Change{ID: "e", Steps: []Step{
		{Path: "typed", Before: versionEntry("typed", versionOld, 0o644)},
		{Path: "d0/f0", Before: versionEntry("f0", versionOld, 0o644), After: versionEntry("f0", "new", 0o644)},
		{Path: "emptied/gone", Before: versionEntry("gone", versionOld, 0o644), After: versionEntry("gone", "new", 0o644)},
	}}
	Sort(c.Steps)
	state, root := t.TempDir(), makeScene(t)
	w := New(Options{Root: root, State: state})
	_, err := w.Begin(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, putAll(t.Context(), w, &c, versionContent("new")))
	n := w.current
	require.NoError(t, n.ready(t.Context()))
	for _, s := range c.Steps {
		require.NoError(t, os.WriteFile(filepath.Join(root, s.Path), []byte(users), 0o644))
	}
	require.NoError(t, n.at("typed", func(dir int, name string) error { return moveNew(dir, name, n.dir, oldPrefix+"0") }))
	require.NoError(t, n.at("d0/f0", func(dir int, name string) error { return exchange(n.dir, "1", dir, name) }))
	require.NoError(t, n.at("emptied/gone", func(dir int, name string) error { return moveNew(dir, name, n.dir, "2~") }))
	require.NoError(t, os.RemoveAll(filepath.Join(root, "emptied")))
	n.close()
	unlock(n.lock)

	next := New(Options{Root: root, State: state})
	o, err := Apply(t.Context(), next, c, versionContent("new"), nil)
	require.NoError(t, err)
	require.Len(t, o.Kept, 4)
	for _, k := range o.Kept {
		require.True(t, k.Conflict)
		if k.Reason == besideIt {
			require.Equal(t, users, string(mustRead(t, filepath.Join(root, k.Path))))
		}
	}
	for _, path := range []string{"typed", "d0/f0", "gone.*"} { // its directory is gone, and the name taken at the top
		found, err := filepath.Glob(filepath.Join(root, path))
		require.NoError(t, err)
		require.Len(t, found, 1, path)
		require.Equal(t, users, string(mustRead(t, found[0])), path)
	}
	require.Empty(t, stagesOf(t, root))
	require.Equal(t, version(versionOld), mustRead(t, filepath.Join(root, "gone")))
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}
