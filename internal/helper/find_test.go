// This file tests which helper program is taken.

package helper

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestHelperForAnotherProcessor(t *testing.T) {
	script := filepath.Join(t.TempDir(), Name)
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	_, err := ForLinux("open sandbox", "E2B's sandboxes", script, "arm64")
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "no helper program for E2B's sandboxes, which run linux/arm64: install sandbox-helper-linux-arm64")
	require.NotContains(t, err.Error(), script)
}

func TestNoHelperOfAWorkspaceIsTaken(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	t.Chdir(dir)
	copied := filepath.Join(dir, Name)
	require.NoError(t, os.Symlink(self, copied))
	t.Setenv("PATH", dir)
	_, err = Here("open sandbox", "")
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), "neither by PATH")
	t.Setenv(variable, Name)
	_, err = Here("open sandbox", "")
	require.Error(t, err, "nor by where one stands")

	t.Setenv(variable, copied)
	found, err := Here("open sandbox", "")
	require.NoError(t, err)
	require.Equal(t, copied, found)
	if runtime.GOOS != "linux" {
		return
	}
	linux, err := ForLinux("open sandbox", "sandboxes", "", runtime.GOARCH)
	require.NoError(t, err)
	require.Equal(t, copied, linux.File)
	require.NotEmpty(t, linux.Build)
}
