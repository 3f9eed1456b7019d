// This file builds the helper program for tests of backends whose sandboxes need one.

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
)

// helperDir is where the helper was built, once it was.
var helperDir string

// buildHelper builds it once: a test's own program may need libraries that a sandbox does not have, and is large.
var buildHelper = sync.OnceValues(func() (file string, err error) {
	if helperDir, err = os.MkdirTemp("", "sandbox-helper-"); err != nil {
		return "", err
	}
	file = filepath.Join(helperDir, helper.Name)
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "sandboxagent/cmd/sandbox-helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the helper: %w: %s", err, out)
	}
	return file, nil
})

// Helper returns the path of a helper program for sandboxes. Its package runs its tests by Main.
func Helper(t testing.TB) string {
	t.Helper()
	file, err := buildHelper()
	require.NoError(t, err)
	return file
}

// Main runs a package's tests, removes what Helper has built, and returns the exit status.
func Main(m *testing.M) int {
	code := m.Run()
	if helperDir != "" {
		_ = os.RemoveAll(helperDir)
	}
	return code
}
