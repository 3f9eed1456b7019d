// This file takes checkpoints of a real sandbox through its helper, and brings it back to them.

package checkpoint_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/local"
)

// TestMain makes the test binary a helper where it is started as one.
func TestMain(m *testing.M) {
	switch {
	case helper.Invoked(os.Args):
		os.Exit(helper.Main(os.Args[1:]))
	case os.Getenv("SANDBOX_DOOM") != "":
		checkpoint.Doomed()
	}
	os.Exit(m.Run())
}

func newBackend(t testing.TB) *local.Backend {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := local.New(local.Options{StateDir: filepath.Join(t.TempDir(), "state"), HelperBinary: self, HostID: "host"})
	require.NoError(t, err)
	return b
}

// open opens a sandbox that is destroyed at the end of the test.
func open(t testing.TB, b *local.Backend, id, workspace string) sandbox.Sandbox {
	t.Helper()
	sb, err := b.Open(t.Context(), sandbox.Spec{ID: id, Workspace: workspace})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = sb.Close()
		require.NoError(t, b.Destroy(context.Background(), sb.Ref()))
	})
	return sb
}

func newSandbox(t testing.TB) (sandbox.Sandbox, string) {
	t.Helper()
	ws := t.TempDir()
	return open(t, newBackend(t), "s1", ws), ws
}

func newCheckpoints(t testing.TB) *checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "checkpoints"), Reserve: -1})
	require.NoError(t, err)
	return s
}

func workspaceOf(t testing.TB, sb sandbox.Sandbox) checkpoint.Workspace {
	t.Helper()
	w, err := checkpoint.Of(sb)
	require.NoError(t, err)
	return w
}

func put(t testing.TB, ws, path string, data []byte) {
	t.Helper()
	path = filepath.Join(ws, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func read(t testing.TB, ws, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(ws, path))
	require.NoError(t, err)
	return string(b)
}

func TestCheckpointsThroughTheHelper(t *testing.T) {
	sb, ws := newSandbox(t)
	s, w, ctx := newCheckpoints(t), workspaceOf(t, sb), context.Background()
	noise := make([]byte, 20<<20)
	_, err := rand.Read(noise)
	require.NoError(t, err)
	put(t, ws, "large", noise)
	put(t, ws, "whole", noise[:7<<20])
	put(t, ws, "bad\xffname", []byte("odd"))
	for i := range 300 {
		put(t, ws, filepath.Join("src", strings.Repeat("x", i%40+1), "f"), bytes.Repeat([]byte{byte('a' + i%20)}, i*10))
	}
	require.NoError(t, os.Symlink("whole", filepath.Join(ws, "link")))
	require.NoError(t, os.Link(filepath.Join(ws, "whole"), filepath.Join(ws, "hard")))

	first, err := s.Take(ctx, w, checkpoint.TakeOptions{Pin: &checkpoint.Ref{Session: "s1"}})
	require.NoError(t, err)
	require.NoError(t, s.Verify(ctx, first.ID))
	again, err := s.Take(ctx, w, checkpoint.TakeOptions{Parent: first.ID})
	require.NoError(t, err)
	require.True(t, again.Reused)

	folder, err := s.Folder(ws) // the same tree, looked at from here
	require.NoError(t, err)
	direct, err := s.Take(ctx, folder, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Equal(t, first.Root, direct.Root)
	require.Zero(t, direct.Grown)

	put(t, ws, "large", noise[1:])
	put(t, ws, "new", []byte("new"))
	require.NoError(t, os.RemoveAll(filepath.Join(ws, "src")))
	out, err := s.RestoreOnto(ctx, first.ID, w, checkpoint.RestoreOptions{EffectID: "e1", Pin: &checkpoint.Ref{Session: "s1"}})
	require.NoError(t, err)
	require.Empty(t, out.Kept)
	require.NoFileExists(t, filepath.Join(ws, "new"))
	require.Equal(t, string(noise), read(t, ws, "large"))
	back, err := s.Take(ctx, w, checkpoint.TakeOptions{})
	require.NoError(t, err)
	diff, err := s.Diff(ctx, first.ID, back.ID, checkpoint.DiffOptions{})
	require.NoError(t, err)
	require.Empty(t, diff.Files)

	repeated, err := s.RestoreOnto(ctx, first.ID, w, checkpoint.RestoreOptions{EffectID: "e1", Pin: &checkpoint.Ref{Session: "s1"}})
	require.NoError(t, err)
	require.Equal(t, out, repeated)

	undone, err := s.RestoreOnto(ctx, out.Undo, w, checkpoint.RestoreOptions{})
	require.NoError(t, err)
	require.Empty(t, undone.Kept)
	require.Equal(t, string(noise[1:]), read(t, ws, "large"))
	require.NoDirExists(t, filepath.Join(ws, "src"))
}

func TestRestoreToAnEmptySandbox(t *testing.T) {
	b, s, ctx := newBackend(t), newCheckpoints(t), context.Background()
	from, to := t.TempDir(), t.TempDir()
	put(t, from, "a/b/c", []byte("deep"))
	put(t, from, "top", []byte("top"))
	require.NoError(t, os.Chmod(filepath.Join(from, "a"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(from, "a"), 0o755) })
	taken, err := s.Take(ctx, workspaceOf(t, open(t, b, "s1", from)), checkpoint.TakeOptions{})
	require.NoError(t, err)
	w := workspaceOf(t, open(t, b, "s2", to))
	require.NoError(t, s.RestoreEmpty(ctx, taken.ID, w, "e1"))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(to, "a"), 0o755) })
	again, err := s.Take(ctx, w, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Equal(t, taken.Root, again.Root)
	require.NoError(t, s.RestoreEmpty(ctx, taken.ID, w, "e1"), "the same effect again")
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(s.RestoreEmpty(ctx, taken.ID, w, "e2")))
}

func TestCheckpointIsCanceled(t *testing.T) {
	sb, ws := newSandbox(t)
	s := newCheckpoints(t)
	for i := range 50 {
		put(t, ws, filepath.Join("d", string(rune('a'+i%26)), "f", string(rune('a'+i/26))), make([]byte, i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := stopping{workspaceOf(t, sb), cancel}
	_, err := s.Take(ctx, w, checkpoint.TakeOptions{})
	require.Equal(t, sandbox.ClassCanceled, sandbox.ClassOf(err), "%v", err)
	info, err := s.Take(context.Background(), workspaceOf(t, sb), checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Verify(context.Background(), info.ID))
}

// stopping cancels its caller's context at the first object.
type stopping struct {
	checkpoint.Workspace
	cancel context.CancelFunc
}

func (s stopping) Scan(ctx context.Context, o worktree.ScanOptions, store worktree.Store) error {
	return s.Workspace.Scan(ctx, o, stoppingStore{store, s.cancel})
}

type stoppingStore struct {
	worktree.Store
	cancel context.CancelFunc
}

func (s stoppingStore) Has(h tree.Hash) bool {
	s.cancel()
	return s.Store.Has(h)
}

func BenchmarkTakeThroughTheHelper(b *testing.B) {
	ws, s, ctx := b.TempDir(), newCheckpoints(b), context.Background()
	checkpoint.Project(b, ws, checkpoint.BenchFiles())
	w := workspaceOf(b, open(b, newBackend(b), "s1", ws))
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			_, err := newCheckpoints(b).Take(ctx, w, checkpoint.TakeOptions{})
			require.NoError(b, err)
		}
	})
	last, err := s.Take(ctx, w, checkpoint.TakeOptions{})
	require.NoError(b, err)
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			last, err = s.Take(ctx, w, checkpoint.TakeOptions{Parent: last.ID})
			require.NoError(b, err)
		}
	})
	b.Run("10 changed", func(b *testing.B) {
		n := byte(0)
		for b.Loop() {
			for i := range 10 {
				n++
				put(b, ws, filepath.Join("d0/e0", string(rune('0'+i))), []byte{n})
			}
			_, err = s.Take(ctx, w, checkpoint.TakeOptions{Parent: last.ID})
			require.NoError(b, err)
		}
	})
	b.Run("restore to empty", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, s.RestoreEmpty(ctx, last.ID, workspaceOf(b, open(b, newBackend(b), "s2", b.TempDir())), ""))
		}
	})
}
