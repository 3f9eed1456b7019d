// This file tests that what is written through a descriptor from before a change is not lost by it.

package worktree

import (
	"os"
	"path/filepath"
	"syscall"
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

// opened is a file with what a change has brought, opened by somebody at the time of a step.
type opened struct {
	*os.File
	path string
}

func (o *opened) open(t *testing.T) {
	t.Helper()
	var err error
	o.File, err = os.OpenFile(o.path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	t.Cleanup(func() { o.Close() })
}

func holdsText(t *testing.T, path, want string) bool {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b) == want
}

// requireBeside writes into the opened file, and checks that this is in a file beside its path, and what is at that.
func (o *opened) requireBeside(t *testing.T, was, brought string) {
	t.Helper()
	_, err := o.WriteString("later\n")
	require.NoError(t, err)
	b, err := os.ReadFile(o.path)
	require.NoError(t, err)
	require.Equal(t, was, string(b))
	beside, err := filepath.Glob(o.path + ".*")
	require.NoError(t, err)
	require.Len(t, beside, 1)
	b, err = os.ReadFile(beside[0])
	require.NoError(t, err)
	require.Equal(t, brought+"later\n", string(b))
}

func TestWritesIntoWhatIsTakenOutAgain(t *testing.T) {
	const was, comes = "as it was\n", "as it comes\n"
	comingTo := func(_ *tree.Entry, put func(int64, []byte) error) error { return put(0, []byte(comes)) }
	for name, failing := range map[string]bool{"to give back what was there": false, "since the change failed": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			o := opened{path: filepath.Join(root, "f")}
			require.NoError(t, os.WriteFile(o.path, []byte(was), 0o600))
			require.NoError(t, os.Chmod(o.path, 0o644))
			older, err := os.OpenFile(o.path, os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			defer older.Close()
			w := New(Options{Root: root, State: t.TempDir(), Fault: func(step string) error {
				switch {
				case step == "sync" && failing && holdsText(t, o.path, comes):
					o.open(t)
					return syscall.EIO
				case step == "late":
					o.open(t)
					_, err := older.WriteString("late\n")
					older.Close()
					return err
				}
				return nil
			}})
			step := Step{Path: "f", Before: fileOf("f", was), After: fileOf("f", comes)}
			done, err := Apply(t.Context(), w, Change{ID: "c", Steps: []Step{step}}, comingTo, nil)
			if failing {
				require.ErrorIs(t, err, syscall.EIO)
				o.requireBeside(t, was, comes)
				return
			}
			require.NoError(t, err)
			require.Len(t, done.Kept, 2)
			require.Equal(t, Kept{Path: "f", Reason: changedMeanwhile, Conflict: true}, done.Kept[0])
			require.FileExists(t, filepath.Join(root, done.Kept[1].Path))
			o.requireBeside(t, was+"late\n", comes)
		})
	}
}
