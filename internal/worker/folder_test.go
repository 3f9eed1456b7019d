// This file tests that a folder is whole before a session works in it.

package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// TestAFolderIsHealedBeforeASessionWorksInIt of what a restore without session has left.
func TestAFolderIsHealedBeforeASessionWorksInIt(t *testing.T) {
	a := newActivities(t)
	dir := t.TempDir()
	left := filepath.Join(dir, ".sandbox-restore-left")
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "0"), []byte("staged"), 0o600))
	for _, kind := range []editors.BackendKind{editors.Docker, editors.Local} {
		require.DirExists(t, left)
		sb, err := a.open(t.Context(), agent.Sandbox{SessionID: "s", Folder: dir, Backend: editors.Backend{Kind: kind}}, func(string) {})
		require.NoError(t, err)
		require.NoError(t, sb.Close())
	}
	require.NoDirExists(t, left)
}
