// This file tests what only a folder of this host can be: known by two names, and holding sockets.

package local

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestAliasOfTheFolder(t *testing.T) {
	real, alias := t.TempDir(), filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(real, alias))
	write(t, filepath.Join(real, "dir", "f"), "inside")
	sb := open(t, newBackend(t), "s1", alias)
	for _, p := range []string{"dir/f", alias + "/dir/f", real + "/dir/f"} {
		f, err := sb.ReadFile(t.Context(), p, 0, 100)
		require.NoError(t, err, p)
		require.Equal(t, "inside", string(f.Data), p)
	}
	_, err := sb.ReadFile(t.Context(), filepath.Dir(alias)+"/other", 0, 100)
	require.Equal(t, sandbox.ClassDenied, class(err))
}

func TestSocketsAreRefusedAtOnce(t *testing.T) {
	sb, ws := newSandbox(t)
	l, err := net.Listen("unix", filepath.Join(ws, "sock"))
	require.NoError(t, err)
	defer l.Close()
	_, err = sb.ReadFile(t.Context(), "sock", 0, 10)
	require.Equal(t, sandbox.ClassDenied, class(err))
	err = sb.Apply(t.Context(), "e", []sandbox.Edit{{Path: "sock", Before: "*", Content: []byte("x")}})
	require.Equal(t, sandbox.ClassDenied, class(err))
	entry, err := sb.Stat(t.Context(), "sock")
	require.NoError(t, err)
	require.NotZero(t, entry.Mode&os.ModeSocket)
}
