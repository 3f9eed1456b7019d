// This file tests where things lie and that two installations never meet.

package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/stretchr/testify/require"
)

// envOf is an environment of NAME, value pairs.
func envOf(pairs ...string) Env {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func testPaths(t testing.TB) Paths {
	t.Helper()
	home := t.TempDir()
	p, err := ResolvePaths(envOf("HOME", home, "XDG_RUNTIME_DIR", filepath.Join(home, "run")))
	require.NoError(t, err)
	return p
}

func TestResolvePaths(t *testing.T) {
	p, err := ResolvePaths(envOf("HOME", "/home/u", "XDG_RUNTIME_DIR", "/run/user/7"))
	require.NoError(t, err)
	require.Equal(t, "/home/u/.config/sandbox-agent/config.toml", p.ConfigFile)
	require.Equal(t, "/home/u/.config/sandbox-agent/.env", p.EnvFile)
	require.Equal(t, "/home/u/.local/state/sandbox-agent/host-id", p.HostIDFile)
	require.Equal(t, "/home/u/.local/state/sandbox-agent/temporal", p.TemporalDir)
	require.Equal(t, "/home/u/.local/share/sandbox-agent/blobs", p.BlobDir)
	require.Equal(t, "/home/u/.local/share/sandbox-agent-forks", p.ForkDir, "not below what commands are shut off from")
	require.Equal(t, "/run/user/7/sandbox-agent", p.RuntimeDir)
	require.Equal(t, p.RuntimeDir, filepath.Dir(p.WorkerSocket))

	p, err = ResolvePaths(envOf("HOME", "/home/u", "XDG_CONFIG_HOME", "/c", "XDG_STATE_HOME", "/s", "XDG_DATA_HOME", "/d"))
	require.NoError(t, err)
	require.Equal(t, []string{"/c/sandbox-agent", "/s/sandbox-agent", "/d/sandbox-agent"}, []string{p.ConfigDir, p.StateDir, p.DataDir})

	p, err = ResolvePaths(envOf("HOME", "/home/u", "XDG_CONFIG_HOME", "relative", "XDG_STATE_HOME", ""))
	require.NoError(t, err)
	require.Equal(t, "/home/u/.config/sandbox-agent", p.ConfigDir)
	require.Equal(t, "/home/u/.local/state/sandbox-agent", p.StateDir)

	_, err = ResolvePaths(envOf("HOME", "relative"))
	require.Error(t, err)
}

func TestTwoInstallationsNeverShareASocket(t *testing.T) {
	sockets := map[string]bool{}
	for _, env := range []Env{
		envOf("HOME", "/a"), envOf("HOME", "/b"),
		envOf("HOME", "/a", "XDG_STATE_HOME", "/c"),
		envOf("HOME", "/a", "XDG_RUNTIME_DIR", "/r"), envOf("HOME", "/b", "XDG_RUNTIME_DIR", "/r"),
		envOf("HOME", "/a", "XDG_RUNTIME_DIR", "/r", "XDG_STATE_HOME", "/c"),
	} {
		p, err := ResolvePaths(env)
		require.NoError(t, err)
		require.False(t, sockets[p.WorkerSocket], p.WorkerSocket)
		sockets[p.WorkerSocket] = true
	}
}

func TestSocketPathStaysShort(t *testing.T) {
	long := "/" + strings.Repeat("x", 90)
	for _, env := range []Env{
		envOf("HOME", long), envOf("HOME", "/a", "XDG_RUNTIME_DIR", long), envOf("HOME", "/a", "TMPDIR", long),
		envOf("HOME", "/a", "TMPDIR", "/var/folders/ab/0123456789abcdefghijklmnopqrst/T"),
	} {
		p, err := ResolvePaths(env)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.WorkerSocket), MaxSocketPath)
	}
}

func TestEnsureMakesAndClosesDirectories(t *testing.T) {
	p := testPaths(t)
	require.NoError(t, os.MkdirAll(p.StateDir, 0o755))
	require.NoError(t, os.MkdirAll(p.RuntimeDir, 0o777))
	require.NoError(t, p.Ensure())
	require.NoError(t, p.Ensure())
	for _, dir := range []string{p.ConfigDir, p.StateDir, p.DataDir, p.RuntimeDir, p.TemporalDir, p.BlobDir, p.SandboxDir, p.LogDir} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
}

func TestEnsureRefusesAForeignRuntimeDirectory(t *testing.T) {
	p := testPaths(t)
	elsewhere := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Dir(p.RuntimeDir), 0o700))
	require.NoError(t, os.Symlink(elsewhere, p.RuntimeDir))
	require.ErrorContains(t, p.Ensure(), "not a directory")
	if os.Getuid() == 0 {
		require.NoError(t, os.Remove(p.RuntimeDir))
		require.NoError(t, os.Mkdir(p.RuntimeDir, 0o700))
		require.NoError(t, os.Chown(p.RuntimeDir, 12345, 12345))
		require.ErrorContains(t, p.Ensure(), "another user")
	}
}

func TestHostIDIsMadeOnce(t *testing.T) {
	p := testPaths(t)
	var mu sync.Mutex
	ids := map[string]bool{}
	var tasks conc.WaitGroup
	for range 16 {
		tasks.Go(func() {
			id, err := HostID(p)
			if err != nil {
				t.Errorf("asking for the host id: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[id] = true
		})
	}
	tasks.Wait()
	require.Len(t, ids, 1)
	entries, err := os.ReadDir(p.StateDir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
	other, err := HostID(testPaths(t))
	require.NoError(t, err)
	require.False(t, ids[other])

	require.NoError(t, os.WriteFile(p.HostIDFile, nil, 0o600))
	_, err = HostID(p)
	require.ErrorContains(t, err, "does not hold a host id")
	require.FileExists(t, p.HostIDFile)
}

func TestWorkerInfo(t *testing.T) {
	p := testPaths(t)
	_, err := ReadWorkerInfo(p)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, p.WorkerSocket, p.DialSocket())
	want := WorkerInfo{PID: 7, Version: "1", StartedAt: time.Unix(1, 0).UTC(), Socket: "/elsewhere/w.sock"}
	require.NoError(t, WriteWorkerInfo(p, want))
	got, err := ReadWorkerInfo(p)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, "/elsewhere/w.sock", p.DialSocket())
	require.NoError(t, os.WriteFile(p.WorkerState, []byte("{"), 0o600))
	require.Equal(t, p.WorkerSocket, p.DialSocket())
}
