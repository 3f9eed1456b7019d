// This file tests that nothing of the workspace runs outside of the sandbox, whatever PATH says.

package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

func TestProgramsOfTheWorkspaceStayInside(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			base := outside(t)
			ws, bin, escaped := filepath.Join(base, "ws"), filepath.Join(base, "ws", ".venv", "bin"), filepath.Join(base, "escaped")
			require.NoError(t, os.MkdirAll(bin, 0o755))
			t.Setenv("PATH", bin+":.venv/bin:.:"+os.Getenv("PATH"))
			t.Setenv("LD_LIBRARY_PATH", bin)
			t.Chdir(ws)
			b := newBackendWith(t, confine.DefaultLevel, way)
			sb, err := b.Open(t.Context(), sandbox.Spec{ID: "first", Workspace: ws})
			require.NoError(t, err)
			_, out := script(t, sb, "a", `for p in git bwrap sandbox-helper true; do printf '#!/bin/sh\nprintf x >> `+escaped+`; exec /usr/bin/%s "$@"\n' $p > .venv/bin/$p; chmod +x .venv/bin/$p; done 2>&1`)
			require.Empty(t, out)
			require.NoError(t, sb.Close())
			for _, id := range []string{"second", "third"} {
				sb := open(t, newBackendWith(t, confine.DefaultLevel, way), id, ws)
				st, out := script(t, sb, "a", `echo $LD_LIBRARY_PATH; /bin/true`)
				require.Equal(t, 0, st.ExitCode)
				require.Equal(t, bin+"\n", out, "what runs inside gets it")
				_, _ = script(t, sb, "b", "true; git status")
			}
			require.NoFileExists(t, escaped)
		})
	}
	if os.Getuid() == 0 {
		t.Run("as an ordinary user", func(t *testing.T) { again(t, "^TestProgramsOfTheWorkspaceStayInside$") })
	}
}
