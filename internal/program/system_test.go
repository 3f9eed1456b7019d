// This file tests that no program is taken that a command may have written.

package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSystem(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "sh"))
	linked := t.TempDir()
	require.NoError(t, os.Symlink("/bin/sh", filepath.Join(linked, "sh")))
	system, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		dirs      []string
		workspace string
		want      string
	}{
		"of the system":                  {[]string{"/bin"}, "/home", system},
		"through no workspace":           {[]string{"/bin"}, "", system},
		"in the workspace":               {[]string{"/bin", "/usr/bin"}, "/usr", ""},
		"where others may write":         {[]string{dir}, "/home", ""},
		"a link where others may write":  {[]string{linked}, "/home", ""},
		"the next that may be taken":     {[]string{dir, linked, "/bin"}, dir, system},
		"a relative directory":           {[]string{"bin", ".", ""}, "/home", ""},
		"a directory that is not there":  {[]string{"/no/such/dir"}, "/home", ""},
		"below a file":                   {[]string{"/etc/passwd"}, "/home", ""},
		"a directory of that name":       {[]string{"/"}, "/home", ""},
		"a file that cannot be executed": {[]string{"/etc"}, "/home", ""},
	} {
		t.Run(name, func(t *testing.T) {
			program := map[string]string{"a directory of that name": "usr", "a file that cannot be executed": "passwd"}[name]
			if program == "" {
				program = "sh"
			}
			got, err := programIn(c.dirs, program, c.workspace)
			require.Equal(t, c.want, got)
			if c.want == "" {
				require.ErrorContains(t, err, "package manager")
			}
		})
	}
}

func TestSystemIgnoresPath(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "evil"))
	_, err := System("evil", "", []string{"PATH=" + dir})
	require.Error(t, err)
}

func put(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o755))
	return path
}
