// This file holds what is known of repositories to real ones, and to hostile bytes.

package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	for _, name := range []string{".git", ".GIT", ".Git", "git~1", "GIT~1", ".git.", ".git ", ".git . ", ".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git"} {
		require.True(t, Is(name), name)
	}
	for _, name := range []string{"git", ".gitignore", ".github", ".gitmodules", "a.git", ".git-x", "git~12", "", "."} {
		require.False(t, Is(name), name)
	}
	for path, want := range map[string]string{
		".git": ".git", ".git/HEAD": ".git", "a/.git/refs/heads/x": "a/.git", "a/.git/modules/.git/x": "a/.git", "a/.GIT/x": "a/.GIT",
		"a/b": "", ".gitignore": "", "a.git/x": "", ".github/w": "", "a": "",
	} {
		git, ok := Of(path)
		require.Equal(t, want, git, path)
		require.Equal(t, want != "", ok, path)
	}
}

func TestParts(t *testing.T) {
	long := strings.Repeat("0", 38)
	for path, want := range map[string]Part{
		"HEAD": State, "index": State, "packed-refs": State, "refs/heads/a": State, "refs/stash": State, "refs/tags/a/b": State, "logs/HEAD": State,
		"info/exclude": State, "shallow": State, "refs/remotes/o/HEAD": Trace, "logs/refs/remotes/o/a": Trace, "FETCH_HEAD": Trace, "ORIG_HEAD": Trace,
		"objects/aa/" + long: Object, "objects/aa/" + strings.Repeat("0", 62): Object, "objects/pack/pack-1.idx": Object,
		"objects/pack/multi-pack-index": Cache, "objects/info/packs": Cache, "objects/info/commit-graph": Cache, "objects/info/commit-graphs/x": Cache,

		"config": Foreign, "hooks/pre-commit": Foreign, "info/attributes": Foreign, "info/exclude/x": Foreign, "objects/info/alternates": Foreign,
		"objects/info/Alternates": Foreign, "objects/info/commit-graph/x": Foreign, "objects/aa/x": Foreign, "objects/aa": Foreign, "objects/x": Foreign,
		"objects/pack/a/b": Foreign, "HEAD/x": Foreign, "head": Foreign, "refs": Foreign, "refs/heads/.git/config": Foreign, "modules/x/HEAD": Foreign,
		"worktrees/w/HEAD": Foreign, "commondir": Foreign, "unknown": Foreign, "": Foreign, "rebase-merge/done": Foreign,
	} {
		require.Equal(t, want, PartOf(path, false), path)
	}
	for path, want := range map[string]Part{
		"objects": Object, "objects/aa": Object, "objects/pack": Object, "objects/info": Object, "objects/info/commit-graphs": Cache, "refs": State,
		"refs/heads": State, "refs/remotes": Trace, "logs": State, "info": State,
		"objects/aaa": Foreign, "objects/AA": Foreign, "HEAD": Foreign, "hooks": Foreign, "info/exclude": Foreign, "objects/pack/x": Foreign, "modules": Foreign,
	} {
		require.Equal(t, want, PartOf(path, true), path)
	}
}

func TestRefs(t *testing.T) {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 64)
	r := Refs{}
	r.AddPacked([]byte("# pack-refs with: peeled\n" + one + " refs/heads/a\n^" + two + "\n" + two + " refs/tags/v1\r\n" + one + " refs/remotes/o/a\n" +
		one + " refs/heads/../../hooks/x\n" + one + " /etc/x\n" + one + " refs/heads/.git/x\n" + one + " refs/heads/a.lock\nshort refs/heads/b\n" + one + "\n" +
		one + " refs/sandbox-agent/x/heads/a\n" + one + " refs/heads/\x01\n" + one + " refs/heads//x\n" + one + " refs/" + strings.Repeat("x", 600) + "\n" + one + " refs/heads/a b\n"))
	r.Add("refs/heads/a", []byte(two+"\n"))
	r.Add("refs/heads/symbolic", []byte("ref: refs/heads/a\n"))
	r.Add("HEAD", []byte(one+"\n"))
	r.Add("FETCH_HEAD", []byte(one))
	require.Equal(t, Refs{"refs/heads/a": two, "refs/tags/v1": two, "HEAD": one}, r)
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
}

func TestIndexOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	for name, c := range map[string]struct{ init, prepare []string }{
		"version 2": {prepare: []string{"update-index", "--index-version", "2"}},
		"version 4": {prepare: []string{"update-index", "--index-version", "4"}},
		"extended":  {prepare: []string{"update-index", "--skip-worktree", "d/f1"}},
		"sha256":    {init: []string{"--object-format=sha256"}, prepare: []string{"update-index", "--index-version", "4"}},
		"untracked": {prepare: []string{"update-index", "--force-untracked-cache"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			git(t, dir, append([]string{"init", "-q"}, c.init...)...)
			files := []string{"a", "d/f1", "d/f2", "d/g/long-" + strings.Repeat("x", 200), "z"}
			for _, f := range files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, f), []byte(f), 0o600))
			}
			git(t, dir, "add", ".")
			git(t, dir, c.prepare...)
			index := func() []byte {
				b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
				require.NoError(t, err)
				return b
			}
			before := index()
			require.NoError(t, os.Chtimes(filepath.Join(dir, "a"), time.Unix(1, 0), time.Unix(1, 0)))
			git(t, dir, "update-index", "--refresh")
			refreshed := index()
			require.NotEqual(t, before, refreshed)
			require.True(t, SameIndex(before, refreshed))
			require.NoError(t, os.Chmod(filepath.Join(dir, "z"), 0o700))
			git(t, dir, "add", "z")
			moded := index()
			require.False(t, SameIndex(before, moded))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("b"), 0o600))
			git(t, dir, "add", "a")
			require.False(t, SameIndex(moded, index()))
			staged := index()
			git(t, dir, "rm", "-q", "--cached", "d/f2")
			require.False(t, SameIndex(staged, index()))
			git(t, dir, "update-index", "--assume-unchanged", "z")
			require.False(t, SameIndex(staged, index()))
		})
	}
}

func TestIndexThatCannotBeRead(t *testing.T) {
	require.True(t, SameIndex([]byte("x"), []byte("x")))
	require.False(t, SameIndex([]byte("x"), []byte("y")))
	require.False(t, SameIndex([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff"+strings.Repeat("\x00", 64)), nil))
}

func FuzzSameIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"+strings.Repeat("\x00", 62)+"\x00a\x00"+strings.Repeat("\x00", 20)), []byte("DIRC"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		require.True(t, SameIndex(a, a))
		require.Equal(t, SameIndex(a, b), SameIndex(b, a))
	})
}
