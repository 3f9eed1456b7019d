package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a merge remembers as what it left is made from its plan; when nobody else writes, the disk is just that.
func TestWhatAMergeLeavesIsWhatItPlanned(t *testing.T) {
	for seed := range uint64(25) {
		f := newFork(t, func(dir string) { tend(t, dir, seed, 40) })
		tend(t, f.there, seed+1_000_000, 20)
		tend(t, f.dir, seed+2_000_000, 10)
		pin := Ref{Session: "s", Reason: Undo, Effect: "e", Summary: "before"}
		o := MergeOptions{OnConflict: Mine, Pin: &pin}
		f.merge(o)
		refs, err := f.s.List("s", "")
		require.NoError(t, err)
		require.Len(t, refs, 1)
		require.NotEmpty(t, refs[0].After, "seed %d", seed)

		left := filepath.Join(t.TempDir(), "left")
		require.NoError(t, os.Mkdir(left, 0o755))
		require.NoError(t, f.s.RestoreEmpty(context.Background(), refs[0].After, folder(t, f.s, left), ""))
		require.Equal(t, snapshot(t, f.dir, false), snapshot(t, left, false), "seed %d", seed)
	}
}
