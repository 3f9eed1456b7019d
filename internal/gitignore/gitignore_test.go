package gitignore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAsGit compares with git itself.
func TestAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	files := map[string]string{
		".gitignore": strings.Join([]string{
			"# comment", "*.o", "!keep.o", "/root-only", "build/", "a/**/z", "docs/**", "!docs/x", "**/deep", `\#hash`, `\!bang`,
			"sp\\ ", "trailing   ", "[!q]uux", "{a,b}", "mid/dle", "**foo", "cr\r", "", "/", "*.log", "cache/*", "!cache/keep",
		}, "\n"),
		"sub/.gitignore":       "only-here\n/anchored\n!*.log\n*.tmp",
		"sub/more/.gitignore":  "!x.tmp\n",
		"w{e}[i]rd/.gitignore": "inner\n",
	}
	paths := []string{
		"a.o", "keep.o", "x/keep.o", "x/a.o", "root-only", "x/root-only", "build/", "x/build/", "y/build", "a/z", "a/b/z", "a/b/c/z", "b/a/z",
		"docs/", "docs/x", "docs/y", "docs/d/y", "other/deep", "x/y/deep", "#hash", "!bang", "sp ", "sp", "trailing", "quux", "uux", "xuux", "{a,b}", "a2", "b",
		"mid/dle", "x/mid/dle", "barfoo", "cr", "x.log", "sub/x.log", "sub/only-here", "only-here", "sub/anchored", "sub/q/anchored",
		"sub/x.tmp", "sub/more/x.tmp", "sub/more/y.tmp", "cache/a", "cache/keep", "cache/", "w{e}[i]rd/inner", "inner",
	}
	dir := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", dir).Run())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, p := range paths { // git looks what they are
		at := filepath.Join(dir, p)
		if strings.HasSuffix(p, "/") {
			require.NoError(t, os.MkdirAll(at, 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		if _, err := os.Lstat(at); err != nil {
			require.NoError(t, os.WriteFile(at, nil, 0o600))
		}
	}
	for _, p := range paths {
		cmd := exec.Command("git", "-C", dir, "-c", "core.excludesFile=/dev/null", "check-ignore", "-q", "--no-index", strings.TrimSuffix(p, "/"))
		want := cmd.Run() == nil
		require.Contains(t, []int{0, 1}, cmd.ProcessState.ExitCode(), p)
		require.Equal(t, want, ignored(files, p), p)
	}
}

// ignored walks down to a path as whoever walks a tree does.
func ignored(files map[string]string, path string) bool {
	isDir := strings.HasSuffix(path, "/")
	names := strings.Split(strings.TrimSuffix(path, "/"), "/")
	var rules Rules
	for i := range names {
		above := strings.Join(names[:i], "/")
		rules = rules.With([]byte(files[strings.TrimPrefix(above+"/.gitignore", "/")]), above)
		last := i == len(names)-1
		if rules.Match(strings.Join(names[:i+1], "/"), isDir || !last) {
			return true
		}
	}
	return false
}

func FuzzRules(f *testing.F) {
	f.Add("a/**/b\n!c\n", "d", "d/a/b")
	f.Fuzz(func(_ *testing.T, text, dir, path string) {
		Rules(nil).With([]byte(text), dir).Match(path, true)
	})
}
