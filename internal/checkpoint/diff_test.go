// This file tests what people are told about the difference of two checkpoints.

package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	k := newTaken(t)
	at := func(name string) string { return filepath.Join(k.dir, name) }
	write(t, k.dir, "same/deep/f", "the same\n")
	write(t, k.dir, "changed", "one\ntwo\nthree\n")
	write(t, k.dir, "binary", "\x00a")
	write(t, k.dir, "mode", "x\n")
	write(t, k.dir, "both", "x\n")
	write(t, k.dir, "moved", "some text to be moved\n")
	write(t, k.dir, "gone/f", "gone\n")
	write(t, k.dir, "typed", "a file\n")
	write(t, k.dir, "latin", "caf\xe9\n")
	require.NoError(t, os.Mkdir(at("void"), 0o755))
	require.NoError(t, os.Symlink("here", at("link")))
	first := k.take()

	write(t, k.dir, "changed", "one\n2\nthree\nfour\n")
	write(t, k.dir, "binary", "\x00b")
	require.NoError(t, os.Chmod(at("mode"), 0o755))
	write(t, k.dir, "both", "y\n")
	require.NoError(t, os.Chmod(at("both"), 0o600))
	require.NoError(t, os.Rename(at("moved"), at("to")))
	require.NoError(t, os.RemoveAll(at("gone")))
	require.NoError(t, os.Remove(at("typed")))
	require.NoError(t, os.Mkdir(at("typed"), 0o755))
	write(t, k.dir, "latin", "the\xe9\n")
	require.NoError(t, os.Remove(at("void")))
	require.NoError(t, os.Remove(at("link")))
	require.NoError(t, os.Symlink("there", at("link")))
	write(t, k.dir, "new", "brand\nnew")
	require.NoError(t, os.Chtimes(at("same/deep/f"), time.Unix(5, 0), time.Unix(5, 0)))
	second := k.take()

	d, err := k.s.Diff(context.Background(), first.ID, second.ID, DiffOptions{Patches: true})
	require.NoError(t, err)
	require.False(t, d.Truncated)
	found := map[string]FileDiff{}
	for _, f := range d.Files {
		found[f.Path] = f
	}
	changed := found["changed"]
	require.Equal(t, []int{2, 1}, []int{changed.Added, changed.Removed})
	require.Equal(t, "diff --git a/changed b/changed\n--- a/changed\n+++ b/changed\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n", changed.Patch)
	require.Equal(t, FileDiff{Path: "binary", Kind: Changed, Binary: true}, found["binary"])
	require.Equal(t, FileDiff{Path: "latin", Kind: Changed, Binary: true}, found["latin"])
	require.Equal(t, FileDiff{Path: "mode", Kind: Mode, Patch: "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"}, found["mode"])
	require.Contains(t, found["both"].Patch, "old mode 100644\nnew mode 100600\n--- a/both\n")
	require.Equal(t, FileDiff{Path: "to", Kind: Renamed, OldPath: "moved"}, found["to"])
	require.NotContains(t, found, "moved")
	require.Equal(t, Removed, found["gone/f"].Kind)
	require.NotContains(t, found, "gone/")
	require.Equal(t, Type, found["typed"].Kind)
	require.Equal(t, FileDiff{Path: "void/", Kind: Removed}, found["void/"])
	require.Contains(t, found["link"].Patch, "-here\n")
	require.Contains(t, found["new"].Patch, "new file mode 100644\n--- /dev/null\n")
	require.Len(t, found, 11)

	d, err = k.s.Diff(context.Background(), second.ID, second.ID, DiffOptions{Patches: true})
	require.NoError(t, err)
	require.Empty(t, d.Files)
	d, err = k.s.Diff(context.Background(), first.ID, second.ID, DiffOptions{Patches: true, MaxFiles: 2, Paths: []string{"changed", "new", "mode"}})
	require.NoError(t, err)
	require.Len(t, d.Files, 2)
	require.True(t, d.Truncated)
	d, err = k.s.Diff(context.Background(), first.ID, second.ID, DiffOptions{Patches: true, MaxBytes: 10, Paths: []string{"changed"}})
	require.NoError(t, err)
	require.Empty(t, d.Files[0].Patch)
	require.True(t, d.Truncated)
}

func TestLargeTextHasNoPatch(t *testing.T) {
	k := newTaken(t)
	first := k.take()
	write(t, k.dir, "large", strings.Repeat("a line of text\n", 10_000))
	write(t, k.dir, "larger", strings.Repeat("a line of text\n", 100_000))
	d, err := k.s.Diff(context.Background(), first.ID, k.take().ID, DiffOptions{Patches: true})
	require.NoError(t, err)
	require.Equal(t, []FileDiff{{Path: "large", Kind: Added, Added: 10_000}, {Path: "larger", Kind: Added}}, d.Files)
	require.True(t, d.Truncated)
}
