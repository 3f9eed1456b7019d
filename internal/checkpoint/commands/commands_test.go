// This file answers restores of folders that the agent and the user worked on.

package commands

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
)

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

type desk struct {
	t   *testing.T
	dir string
	s   Subject
	n   int
}

func newDesk(t *testing.T, session string) *desk {
	t.Helper()
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	d := &desk{t: t, dir: t.TempDir()}
	d.s = Subject{Store: store, Session: session, Open: func(context.Context) (checkpoint.Workspace, error) { return store.Folder(d.dir) }}
	if session == "" {
		d.s.Folder = d.dir
	}
	return d
}

func (d *desk) write(path, text string) {
	d.t.Helper()
	path = filepath.Join(d.dir, path)
	require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(d.t, os.WriteFile(path, []byte(text), 0o600))
}

func (d *desk) text(path string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, path))
	require.NoError(d.t, err)
	return string(b)
}

// turn ends a turn of the agent.
func (d *desk) turn() string {
	d.t.Helper()
	d.n++
	ref := d.s.ref(checkpoint.Turn, "turn")
	ref.Turn, ref.Item = d.n, "i"
	_, err := d.s.take(context.Background(), &ref)
	require.NoError(d.t, err)
	return ref.Checkpoint
}

func (d *desk) restore(p editors.RestoreParams) editors.RestoreResult {
	d.t.Helper()
	out, err := d.s.Restore(context.Background(), p)
	require.NoError(d.t, err)
	return out
}

func TestRestoreTellsWhatBecameOfEachFile(t *testing.T) {
	d := newDesk(t, "s1")
	d.write("f", ten)
	d.write("gone", "1")
	first := d.turn()
	d.write("f", strings.Replace(ten, "1\n", "one\n", 1))
	d.write("new", "1")
	require.NoError(t, os.Remove(filepath.Join(d.dir, "gone")))
	d.write("g", "1")
	d.turn()
	d.write("f", strings.Replace(d.text("f"), "10\n", "ten\n", 1))
	d.write("g", "mine")
	p := editors.RestoreParams{CheckpointID: first, RequestID: "r1"}
	out := d.restore(p)
	require.Equal(t, []editors.FileChange{{Path: "f", Kind: "merged"}, {Path: "gone", Kind: "added"}, {Path: "new", Kind: "removed"}}, out.Files)
	require.Equal(t, []string{"f", "gone", "new"}, out.Restored)
	require.Equal(t, []string{"g"}, out.Conflicts)
	require.NotEmpty(t, out.Reasons["g"])
	require.Equal(t, strings.Replace(ten, "10\n", "ten\n", 1), d.text("f"))
	require.Equal(t, out, d.restore(p), "repeated")
}

func TestUndoKeepsWhatWasSavedSince(t *testing.T) {
	d := newDesk(t, "s1")
	d.write("f", ten)
	d.write("g", "1")
	first := d.turn()
	d.write("f", strings.Replace(ten, "5\n", "five\n", 1))
	d.write("g", "2")
	d.turn()
	d.write("mine", "saved before")
	was := strings.Replace(d.text("f"), "1\n", "one\n", 1)
	d.write("f", was)
	out := d.restore(editors.RestoreParams{CheckpointID: first})
	require.Equal(t, "1", d.text("g"))
	d.write("mine", "saved since")
	d.write("f", d.text("f")+"11\n")
	back := d.restore(editors.RestoreParams{CheckpointID: out.Undo})
	require.Empty(t, back.Conflicts)
	require.Contains(t, back.Kept, "mine")
	require.Equal(t, "saved since", d.text("mine"))
	require.Equal(t, was+"11\n", d.text("f"))
	require.Equal(t, "2", d.text("g"))

	forth := d.restore(editors.RestoreParams{CheckpointID: first})
	require.Empty(t, forth.Conflicts)
	require.Equal(t, "1", d.text("g"))
	require.Equal(t, "saved since", d.text("mine"))
}

// What is saved between the picture before a restore and its end is nobody's but the user's.
func TestUndoKeepsWhatWasSavedDuringTheRestore(t *testing.T) {
	d := newDesk(t, "s1")
	var save func()
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1, Fault: func(step string) error {
		if do := save; do != nil && step == "ref-write" { // the picture is taken and kept
			save = nil
			do()
		}
		return nil
	}})
	require.NoError(t, err)
	d.s.Store = store
	d.s.Open = func(context.Context) (checkpoint.Workspace, error) { return store.Folder(d.dir) }
	d.write("mine", "before\n")
	d.write("theirs", "one\n")
	id := d.turn()
	d.write("theirs", "two\n")
	d.write("new/file", "new\n")
	d.turn()

	save = func() { d.write("mine", "saved\n") }
	back := d.restore(editors.RestoreParams{CheckpointID: id})
	require.Nil(t, save, "it was saved meanwhile")
	require.Equal(t, "one\n", d.text("theirs"))
	require.NoFileExists(t, filepath.Join(d.dir, "new", "file"))
	d.restore(editors.RestoreParams{CheckpointID: back.Undo})
	require.Equal(t, "two\n", d.text("theirs"))
	require.Equal(t, "new\n", d.text("new/file"))
	require.Equal(t, "saved\n", d.text("mine"))
}

func TestAfterRestoresOfSomePaths(t *testing.T) {
	d := newDesk(t, "s1")
	for _, path := range []string{"a/b/c", "d", "e"} {
		d.write(path, "1")
	}
	first := d.turn()
	for _, path := range []string{"a/b/c", "a/new/x", "d", "e"} {
		d.write(path, "2")
	}
	second := d.turn()
	d.restore(editors.RestoreParams{CheckpointID: first, Paths: []string{"a/b", "a/new/x"}})
	d.restore(editors.RestoreParams{CheckpointID: first, Paths: []string{"d"}})
	d.write("d", "mine")
	out := d.restore(editors.RestoreParams{CheckpointID: second})
	require.Equal(t, []editors.FileChange{{Path: "a/b/c", Kind: "changed"}, {Path: "a/new/x", Kind: "added"}}, out.Files)
	require.Equal(t, []string{"d"}, out.Conflicts, "it was restored, and changed since")
	require.Empty(t, out.Kept)
	out = d.restore(editors.RestoreParams{CheckpointID: first})
	require.Equal(t, []string{"d"}, out.Conflicts)
	require.Equal(t, "1", d.text("e"))
	require.Equal(t, "1", d.text("a/b/c"))
}

func TestAPlainFolderIsRestoredWhole(t *testing.T) {
	d := newDesk(t, "")
	d.write("f", "1")
	first, err := d.s.Take(context.Background(), editors.CheckpointParams{})
	require.NoError(t, err)
	for range 2 {
		d.write("f", "2")
		out := d.restore(editors.RestoreParams{CheckpointID: first.Checkpoint.ID, Paths: []string{filepath.Join(d.dir, "f")}})
		require.Equal(t, []string{"f"}, out.Restored)
		require.Equal(t, "1", d.text("f"))
	}
}

func TestPathsThatAreNone(t *testing.T) {
	d := newDesk(t, "")
	d.write("f", "1")
	first, err := d.s.Take(context.Background(), editors.CheckpointParams{})
	require.NoError(t, err)
	d.write("new", "1")
	for path, code := range map[string]editors.Code{
		"nowhere": editors.CodeNotFound, "f/x": editors.CodeNotFound, "../x": editors.CodeInvalidParams, "/etc/passwd": editors.CodeInvalidParams,
		filepath.Dir(d.dir): editors.CodeInvalidParams,
	} {
		_, err := d.s.Restore(context.Background(), editors.RestoreParams{CheckpointID: first.Checkpoint.ID, Paths: []string{"f", path}, RequestID: "r"})
		var e *editors.Error
		require.ErrorAs(t, err, &e, path)
		require.Equal(t, code, e.Code, path)
		require.Contains(t, e.Message, path)
	}
	list, err := d.s.List(context.Background(), editors.SessionParams{})
	require.NoError(t, err)
	require.Len(t, list.Checkpoints, 1, "nothing was done that could be undone")
	out := d.restore(editors.RestoreParams{CheckpointID: first.Checkpoint.ID, Paths: []string{"new"}})
	require.Equal(t, []editors.FileChange{{Path: "new", Kind: "removed"}}, out.Files)
}

func TestHeldPaths(t *testing.T) {
	d := newDesk(t, "s1")
	d.write("f", "1")
	first := d.turn()
	d.write("f", "2")
	d.turn()
	d.s.Held = map[string]string{"f": "it has unsaved changes"}
	out := d.restore(editors.RestoreParams{CheckpointID: first})
	require.Equal(t, []string{"f"}, out.Conflicts)
	require.Equal(t, "it has unsaved changes", out.Reasons["f"])
	require.Equal(t, "2", d.text("f"))
}
