package confine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuardsChangeWhenWhatIsCoveredIsReplaced(t *testing.T) {
	home, work := t.TempDir(), filepath.Join(t.TempDir(), "work")
	at := filepath.Join
	require.NoError(t, os.MkdirAll(at(work, ".git", "hooks"), 0o755))
	require.NoError(t, os.WriteFile(at(work, ".git", "config"), []byte("a"), 0o644))
	require.NoError(t, os.WriteFile(at(home, ".npmrc"), []byte("a"), 0o600))
	h := Host{Home: home}
	replace := func(path string) func() {
		return func() {
			require.NoError(t, os.WriteFile(path+".new", []byte("b"), 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		}
	}
	last := Guards(h, work)
	for name, change := range map[string]func(){
		"git replaces its configuration": replace(at(work, ".git", "config")),
		"a secret is replaced":           replace(at(home, ".npmrc")),
		"a secret appears":               func() { require.NoError(t, os.Mkdir(at(home, ".ssh"), 0o700)) },
		"hooks are made anew": func() {
			require.NoError(t, os.Rename(at(work, ".git", "hooks"), at(work, "old")))
			require.NoError(t, os.Mkdir(at(work, ".git", "hooks"), 0o755))
		},
	} {
		change()
		now := Guards(h, work)
		require.NotEqual(t, last, now, name)
		last = now
	}
	require.NoError(t, os.WriteFile(at(work, ".git", "config"), []byte("written in place"), 0o644))
	require.Equal(t, last, Guards(h, work), "the same file with another content stays covered")
	require.NoError(t, os.Remove(at(home, ".npmrc")))
	require.NotEqual(t, last, Guards(h, work))
	last = Guards(h, work)
	require.NoError(t, os.Rename(work, work+".old"))
	require.NoError(t, os.Mkdir(work, 0o755))
	require.NotEqual(t, last, Guards(h, work))
}
