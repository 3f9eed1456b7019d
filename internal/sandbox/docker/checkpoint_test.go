// This file takes checkpoints in a container and carries them to the host and back.

package docker

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/sandbox"
)

func TestCheckpointsInAContainer(t *testing.T) {
	t.Parallel()
	b, ctx := newBackend(t), context.Background()
	s := open(t, b, sandbox.Spec{})
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	w, err := checkpoint.Of(s)
	require.NoError(t, err)
	out, st := run(t, s, `mkdir -p d/e locked && echo one > d/e/f && ln d/e/f hard && ln -s /no/where dangling && echo x > "odd
name" && chmod 755 hard && echo y > locked/f && chmod 555 locked && mkfifo pipe`)
	require.Zero(t, st.ExitCode, out)
	first, err := store.Take(ctx, w, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Len(t, first.Notes, 1)

	out, st = run(t, s, `echo two > d/e/f; rm dangling; chmod 755 locked; echo z > locked/g; mkdir new; echo n > new/n`)
	require.Zero(t, st.ExitCode, out)
	back, err := store.RestoreOnto(ctx, first.ID, w, checkpoint.RestoreOptions{})
	require.NoError(t, err)
	require.Empty(t, back.Kept)
	now, err := store.Take(ctx, w, checkpoint.TakeOptions{Parent: first.ID})
	require.NoError(t, err)
	diff, err := store.Diff(ctx, first.ID, now.ID, checkpoint.DiffOptions{})
	require.NoError(t, err)
	require.Empty(t, diff.Files)

	here := t.TempDir()
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(here, "locked"), 0o755) })
	folder, err := store.Folder(here)
	require.NoError(t, err)
	require.NoError(t, store.RestoreEmpty(ctx, now.ID, folder, ""))
	there := open(t, b, sandbox.Spec{ID: "other"})
	other, err := checkpoint.Of(there)
	require.NoError(t, err)
	again, err := store.Take(ctx, folder, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Equal(t, now.Root, again.Root)
	require.NoError(t, store.RestoreEmpty(ctx, again.ID, other, ""))
	once, err := store.Take(ctx, other, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Equal(t, now.Root, once.Root, "container, host, container")
}
