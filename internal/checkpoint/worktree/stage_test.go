package worktree

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

// fileOf is a small file as a tree has it.
func fileOf(name, text string) *tree.Entry {
	return &tree.Entry{Name: name, Kind: tree.File, Mode: 0o644, Size: int64(len(text)), Hash: tree.Sum([]byte(text))}
}

// Files are as long as they shall be, also those that end with a hole.
func TestFilesThatEndWithZeros(t *testing.T) {
	full, zeros := bytes.Repeat([]byte("x"), zeroBlock), make([]byte, 2*zeroBlock)
	for _, content := range [][]byte{
		{},
		[]byte("short"), zeros[:10], full, zeros[:zeroBlock], append(full[:zeroBlock:zeroBlock], zeros[:904]...),
		append(full[:zeroBlock:zeroBlock], zeros...), append(zeros[:zeroBlock:zeroBlock], 'x'),
	} {
		root := t.TempDir()
		after := fileOf("f", string(content))
		_, err := Apply(t.Context(), New(Options{Root: root, State: t.TempDir()}), Change{ID: "c", Fresh: true, Steps: []Step{{Path: "f", After: after}}},
			func(_ *tree.Entry, put func(int64, []byte) error) error {
				if len(content) == 0 {
					return nil
				}
				return put(0, content)
			}, nil)
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(root, "f"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, b), "%d bytes instead of %d", len(b), len(content))
	}
}
