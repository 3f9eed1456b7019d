package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckpointsAreVerified(t *testing.T) {
	f := newPlainFolder(t)
	require.Equal(t, outcome{statusDone, "All 0 checkpoints are whole.\n", ""}, f.run("checkpoints", "--verify"))
	f.write("a", "1")
	first := f.id("--summary", "the first")
	f.write("a", "2")
	second := f.id()
	require.Equal(t, outcome{statusDone, "All 2 checkpoints are whole.\n", ""}, f.run("checkpoints", "--verify"))
	require.Equal(t, `{"checkpoints":2,"damaged":[]}`+"\n", f.run("checkpoints", "--verify", "--json").stdout)

	found, err := filepath.Glob(filepath.Join(f.home, ".local/share/sandbox-agent/checkpoints/manifests", first+"*"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, os.Remove(found[0]))
	out := f.run("checkpoints", "--verify")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stdout, brief(first)+"  ")
	require.Contains(t, out.stdout, f.dir+": the first\n")
	require.NotContains(t, out.stdout, brief(second))
	require.Contains(t, out.stderr, "1 damaged or missing, of 1")
	var answer verified
	require.NoError(t, json.Unmarshal([]byte(f.run("checkpoints", "--verify", "--json").stdout), &answer))
	require.Len(t, answer.Damaged, 1)
	require.Equal(t, first, answer.Damaged[0].ID)

	require.Equal(t, statusUsage, f.run("checkpoints", "--verify", "s1").status)
}
