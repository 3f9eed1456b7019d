// This file tests where programs of this product are looked for.

package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOwn(t *testing.T) {
	evil := t.TempDir()
	put(t, filepath.Join(evil, "sh"))
	t.Setenv("PATH", evil+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Chdir(evil)
	self, err := os.Executable()
	require.NoError(t, err)
	system, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	dir := filepath.Dir(self)
	require.Equal(t, []string{filepath.Join(dir, "first"), filepath.Join(dir, "sh"), system}, Own("first", "sh"))
}

func TestExecutable(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	program := put(t, filepath.Join(dir, "program"))
	text := put(t, filepath.Join(dir, "text"))
	require.NoError(t, os.Chmod(text, 0o644))
	require.NoError(t, Executable(program))
	for path, want := range map[string]string{
		"program": "no absolute path", "./program": "no absolute path", "": "no absolute path",
		text: "no executable file", dir: "no executable file", program + "s": "no such file",
	} {
		require.ErrorContains(t, Executable(path), want, path)
	}
}
