// This file tests that what is written through a descriptor from before a change is not lost by it.

package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

func TestWritesThroughOlderDescriptors(t *testing.T) {
	const was, comes = "as it was\n", "as it comes\n"
	for name, c := range map[string]struct {
		removed bool
		write   string
		close   bool
		want    string // "" for no file
		reason  string
	}{
		"written":          {write: "late\n", close: true, want: was + "late\n", reason: changedMeanwhile},
		"written, removed": {write: "late\n", close: true, removed: true, want: was + "late\n", reason: changedMeanwhile},
		"still open":       {want: was, reason: openMeanwhile},
		"only closed":      {close: true, want: comes},
		"closed, removed":  {close: true, removed: true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "f")
			require.NoError(t, os.WriteFile(path, []byte(was), 0o600))
			require.NoError(t, os.Chmod(path, 0o644))
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			defer f.Close()
			w := New(Options{Root: root, State: t.TempDir(), Fault: func(step string) error {
				if step != "late" {
					return nil
				}
				_, err := f.WriteString(c.write)
				if c.close {
					f.Close()
				}
				return err
			}})
			step := Step{Path: "f", Before: fileOf("f", was), After: fileOf("f", comes)}
			if c.removed {
				step.After = nil
			}
			o, err := Apply(t.Context(), w, Change{ID: "c", Steps: []Step{step}}, func(_ *tree.Entry, put func(int64, []byte) error) error {
				return put(0, []byte(comes))
			}, nil)
			require.NoError(t, err)
			if c.reason == "" {
				require.Empty(t, o.Kept)
			} else {
				require.Equal(t, []Kept{{Path: "f", Reason: c.reason, Conflict: true}}, o.Kept)
			}
			b, err := os.ReadFile(path)
			if c.want == "" {
				require.ErrorIs(t, err, os.ErrNotExist)
			} else {
				require.Equal(t, c.want, string(b))
			}
			left, err := os.ReadDir(root)
			require.NoError(t, err)
			require.LessOrEqual(t, len(left), 1)
		})
	}
}
