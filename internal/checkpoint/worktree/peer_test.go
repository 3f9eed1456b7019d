// This file tests who may go on with a change, and when it makes room.

package worktree

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func putAllOf(t *testing.T, w *Tree, v string) {
	t.Helper()
	c := changeTo(v)
	require.NoError(t, putAll(t.Context(), w, &c, versionContent(v)))
}

func TestAChangeOfWhoIsGoneMakesRoom(t *testing.T) {
	w := New(Options{Root: makeScene(t), State: t.TempDir()})
	ctx := By(t.Context(), "first")
	_, err := w.Begin(ctx, changeTo("new"))
	require.NoError(t, err)
	w.Gone("somebody else")
	_, err = w.Begin(By(t.Context(), "second"), changeTo("other"))
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "the first one is there")
	w.Gone("first")
	_, err = w.Begin(By(t.Context(), "second"), changeTo("other"))
	require.NoError(t, err)
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(w.Put(ctx, "to new", nil)))
	require.Len(t, stagesOf(t, w.opts.Root), 1)
	w.Close()
	require.Empty(t, stagesOf(t, w.opts.Root))
}

func TestAChangeIsResumedOverAnotherConnection(t *testing.T) {
	w := New(Options{Root: makeScene(t), State: t.TempDir()})
	_, err := w.Begin(By(t.Context(), "first"), changeTo("new"))
	require.NoError(t, err)
	putAllOf(t, w, "new")
	w.Gone("first")
	_, err = w.Begin(By(t.Context(), "second"), changeTo("new"))
	require.NoError(t, err)
	w.Gone("first")
	require.Empty(t, take(t, w).picture.Notes)
	o, err := w.Commit(By(t.Context(), "second"), "to new")
	require.NoError(t, err, "its content has stayed")
	require.Empty(t, o.Kept)
	require.Equal(t, "new", whole(t, w.opts.Root, "new"))
}

func TestAResumedChangeHasItsStage(t *testing.T) {
	w := New(Options{Root: makeScene(t), State: t.TempDir()})
	_, err := w.Begin(t.Context(), changeTo("new"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(stagesOf(t, w.opts.Root)[0]))
	o, err := Apply(t.Context(), w, changeTo("new"), versionContent("new"), nil)
	require.NoError(t, err)
	require.Empty(t, o.Kept)
	require.Equal(t, "new", whole(t, w.opts.Root, "new"))
}

func TestAPictureClearsAwayWhatIsNobodys(t *testing.T) {
	w := New(Options{Root: makeScene(t), State: t.TempDir()})
	_, err := w.Begin(By(t.Context(), "first"), changeTo("new"))
	require.NoError(t, err)
	take(t, w)
	require.Len(t, stagesOf(t, w.opts.Root), 1)
	w.Gone("first")
	take(t, w)
	require.Empty(t, stagesOf(t, w.opts.Root))
}

func TestWhatIsNobodysGoesByItself(t *testing.T) {
	w := New(Options{Root: makeScene(t), State: t.TempDir()})
	_, err := w.Begin(By(t.Context(), "first"), changeTo("new"))
	require.NoError(t, err)
	w.Gone("first")
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(w.opts.Root, stagePrefix+"*"))
		return err == nil && len(left) == 0
	}, 6*orphanTime, 20*time.Millisecond)
}
