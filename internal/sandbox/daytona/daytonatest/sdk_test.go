//go:build linux

// This file lets Daytona's own SDK use the stand-in, so that it stays like the cloud.

package daytonatest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox/cloud/cloudtest"
)

func TestMain(m *testing.M) {
	if Invoked() {
		os.Exit(Daemon())
	}
	os.Exit(m.Run())
}

// installSDK installs the SDK and returns the directory with the script that uses it.
func installSDK(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("Daytona's SDK cannot be tried against the stand-in: %s is not installed", program)
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "sdk"))))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	out, err := install.CombinedOutput()
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("Daytona's SDK cannot be tried against the stand-in: npm cannot install it: %v: %s", err, out)
	}
	require.NoError(t, err, string(out))
	return dir
}

func TestSDK(t *testing.T) {
	dir := installSDK(t)
	s := New(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "node", "sdk.mjs")
	run.Dir = dir
	run.Env = append(os.Environ(), "DAYTONA_API_KEY="+DefaultKey, "DAYTONA_API_URL="+s.URL, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "all is as with the cloud")
	require.Empty(t, s.Sandboxes(), "nothing is left")
	require.Empty(t, cloudtest.Matching("sleep 600.25"), "stopping ends processes")
	require.Equal(t, 1, s.Created())
}
