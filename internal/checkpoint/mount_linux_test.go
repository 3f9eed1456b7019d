// This file restores to file systems that are full or protected, which takes mounting.

package checkpoint

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

func TestProtectedPathsAreKept(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "guard/hooks/pre-commit", "1")
	write(t, k.dir, "guard/config", "1")
	write(t, k.dir, "f", "1")
	first := k.take()
	write(t, k.dir, "guard/hooks/pre-commit", "2")
	write(t, k.dir, "guard/hooks/new", "2")
	write(t, k.dir, "guard/config", "2")
	write(t, k.dir, "f", "2")
	for _, name := range []string{"guard/hooks", "guard/config"} {
		path := filepath.Join(k.dir, name)
		if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
			t.Skip("nothing can be mounted here:", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
		require.NoError(t, unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	}
	out := k.back(first.ID, RestoreOptions{})
	require.Equal(t, []string{"f"}, out.Restored)
	require.Len(t, out.Kept, 3)
	for _, kept := range out.Kept {
		require.Equal(t, "it may not be changed", kept.Reason)
	}
	require.Equal(t, "1", k.text("f"))
	require.Equal(t, "2", k.text("guard/config"))
}

// small is a directory of few bytes.
func small(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestFullDisk(t *testing.T) {
	k := newTaken(t)
	ctx := context.Background()
	noise := func(seed byte) string {
		b := make([]byte, 600<<10)
		h := tree.Sum([]byte{seed})
		for i := range b {
			if i%32 == 0 {
				h = tree.Sum(h[:])
			}
			b[i] = h[i%32]
		}
		return string(b)
	}
	for i := range 5 {
		write(t, k.dir, string(rune('a'+i)), noise(byte(i)))
	}
	t.Run("of the store", func(t *testing.T) {
		s := openStore(t, filepath.Join(small(t, "2m"), "store"))
		one := t.TempDir()
		write(t, one, "f", noise(9))
		kept := take(t, s, one)
		_, err := s.Take(ctx, folder(t, s, k.dir), TakeOptions{})
		requireClass(t, sandbox.ClassLimit, err)
		require.NoError(t, s.Verify(ctx, kept.ID))
		ids, err := s.ids()
		require.NoError(t, err)
		require.Equal(t, []string{kept.ID}, ids)
		write(t, one, "g", "small enough")
		take(t, s, one)
	})
	t.Run("of the target", func(t *testing.T) {
		first := k.take()
		to := small(t, "2m")
		requireClass(t, sandbox.ClassLimit, k.s.RestoreEmpty(ctx, first.ID, folder(t, k.s, to), ""))
		require.Empty(t, snapshot(t, to, true))
		write(t, to, "mine", noise(7))
		was := snapshot(t, to, true)
		_, err := k.s.RestoreOnto(ctx, first.ID, folder(t, k.s, to), RestoreOptions{EffectID: "e", Pin: &Ref{Folder: to}})
		requireClass(t, sandbox.ClassLimit, err)
		require.ErrorContains(t, err, "about 2 MiB; nothing was changed: free some space on the disk of the workspace")
		require.Equal(t, was, snapshot(t, to, true))
		refs, err := k.s.List("", to)
		require.NoError(t, err)
		require.Empty(t, refs, "there is nothing to undo")
	})
	t.Run("of the reserve", func(t *testing.T) {
		s, err := Open(Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: 1 << 50})
		require.NoError(t, err)
		_, err = s.Take(ctx, folder(t, s, k.dir), TakeOptions{})
		requireClass(t, sandbox.ClassLimit, err)
	})
}
