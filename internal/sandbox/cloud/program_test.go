// This file tests which helper program is taken.

package cloud

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestHelperForAnotherProcessor(t *testing.T) {
	script := filepath.Join(t.TempDir(), HelperName)
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	_, err := FindProgram("open sandbox", "E2B", script, "arm64")
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "no helper program for E2B's sandboxes: install sandbox-helper-linux-arm64")
	require.NotContains(t, err.Error(), script)
}
