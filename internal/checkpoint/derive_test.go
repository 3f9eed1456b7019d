// This file derives checkpoints from others: with paths left out, and made safe for git.

package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

func (k *taken) derive(id string, o DeriveOptions) (Info, []Left) {
	k.t.Helper()
	info, left, err := k.s.Derive(context.Background(), id, o)
	require.NoError(k.t, err)
	require.NoError(k.t, k.s.Verify(context.Background(), info.ID))
	again, _, err := k.s.Derive(context.Background(), id, o)
	require.NoError(k.t, err)
	require.Equal(k.t, info.ID, again.ID, "the same again")
	return info, left
}

// unpack restores a checkpoint to a folder of its own.
func (k *taken) unpack(id string) string {
	k.t.Helper()
	dir := k.t.TempDir()
	require.NoError(k.t, k.s.RestoreEmpty(context.Background(), id, folder(k.t, k.s, dir), ""))
	return dir
}

func TestDerive(t *testing.T) {
	k := newTaken(t)
	horrors(t, k.dir)
	write(t, k.dir, "secrets/.env", "1")
	write(t, k.dir, "secrets/deep/er/key", "1")
	write(t, k.dir, "src/.env", "1")
	write(t, k.dir, "src/main", "1")
	require.NoError(t, os.Link(filepath.Join(k.dir, "src/main"), filepath.Join(k.dir, "secrets/main")))
	require.NoError(t, os.Link(filepath.Join(k.dir, "src/main"), filepath.Join(k.dir, "src/main2")))
	source := k.take()
	same, left := k.derive(source.ID, DeriveOptions{})
	require.Equal(t, source.ID, same.ID)
	require.Empty(t, left)

	var asked []string
	drop := func(path string, e *tree.Entry) string {
		asked = append(asked, path)
		switch {
		case path == "secrets" && e.Kind == tree.Dir:
			return "it is secret"
		case e.Name == ".env":
			return "it has settings"
		}
		return ""
	}
	pin := &Ref{Session: "s1"}
	info, left, err := k.s.Derive(context.Background(), source.ID, DeriveOptions{Drop: drop, Pin: pin})
	require.NoError(t, err)
	require.Equal(t, []Left{{"secrets", "it is secret"}, {"src/.env", "it has settings"}}, left)
	require.NotContains(t, asked, "secrets/.env", "what is below is not read")
	require.Equal(t, info.ID, pin.Checkpoint)
	require.Equal(t, source.ID, info.Parent)
	require.Equal(t, &tree.Note{Path: "secrets", Reason: tree.Excluded}, covering(info.Notes, "secrets/deep/er/key"))
	require.Len(t, info.Notes, len(source.Notes)+2)

	dir := k.unpack(info.ID)
	again := take(t, k.s, dir)
	require.Equal(t, info.Root, again.Root, "what is brought out is what was derived, hard links too")
	require.Equal(t, [4]int64{int64(again.Files), int64(again.Dirs), int64(again.Links), again.Bytes}, [4]int64{int64(info.Files), int64(info.Dirs), int64(info.Links), info.Bytes})
	require.NoDirExists(t, filepath.Join(dir, "secrets"))

	rm(t, dir, "src/main2")
	write(t, dir, "src/.env", "the agent's")
	out, err := k.s.Merge(context.Background(), k.w, MergeOptions{Base: info.ID, Theirs: take(t, k.s, dir).ID, OnConflict: Theirs})
	require.NoError(t, err)
	require.Equal(t, "removed src/main2, kept src/.env", brief(out))
	require.Equal(t, "1", k.text("secrets/deep/er/key"))
	require.Equal(t, "1", k.text("src/.env"))

	_, _, err = k.s.Derive(context.Background(), tree.Empty.String(), DeriveOptions{})
	requireClass(t, sandbox.ClassNotFound, err)
}

func TestDeriveForGit(t *testing.T) {
	k := newTaken(t)
	trusted := map[string]string{
		"config": "ours", "config.worktree": "ours", "hooks/pre-commit": "ours", "info/attributes": "ours", "info/exclude": "ours", "HEAD": "ours",
		"objects/aa/" + strings.Repeat("0", 38): "ours", "objects/info/alternates": "ours", "logs/HEAD": "ours", "modules/m/config": "ours", "description": "ours",
	}
	for path, text := range trusted {
		write(t, k.dir, ".git/"+path, text)
		write(t, k.dir, "sub/.git/"+path, text)
	}
	write(t, k.dir, "linked/.git", "gitdir: ../ours")
	ours := k.take()

	there := t.TempDir()
	hostile := []string{
		"config", "config.worktree", "config.lock", "hooks/pre-commit", "hooks/post-checkout", "info/attributes", "info/grafts", "info/sparse-checkout", "modules/m/config", "modules/n/config",
		"worktrees/w/gitdir", "commondir", "gitdir", "objects/info/alternates", "objects/info/ALTERNATES", "objects/info/http-alternates", "objects/aa/x", "objects/aaa/x",
		"rebase-merge/git-rebase-todo", "rebase-apply/applying", "sequencer/todo", "reftable/x", "refs/heads/.git/config", "remotes/x", "branches/x", "Config", "HEAD/x/y", "BISECT_RUN", "shallow.lock",
	}
	harmless := []string{
		"objects/ab/" + strings.Repeat("1", 38), "objects/pack/pack-1.pack", "objects/pack/multi-pack-index", "objects/info/commit-graphs/x", "objects/info/packs", "refs/heads/a/b",
		"packed-refs", "logs/refs/heads/a/b", "index", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE",
		"CHERRY_PICK_HEAD", "REVERT_HEAD", "shallow", "description", "info/exclude",
	}
	repositories := []string{".git", "sub/.git", "new/.git", "new/.GIT", "mac/.g\u200cit", "windows/git~1", "dots/.git. "}
	for _, git := range repositories {
		for _, path := range slices.Concat(hostile, harmless) {
			write(t, there, git+"/"+path, "theirs")
		}
		require.NoError(t, os.Symlink("../../evil", filepath.Join(there, git, "refs/tags")))
	}
	write(t, there, "linked/.git/config", "theirs") // a repository in place of a link to one
	write(t, there, "link/.git", "gitdir: ../evil")
	write(t, there, "evil/config", "theirs")
	require.NoError(t, os.Mkdir(filepath.Join(there, "symlink"), 0o755))
	require.NoError(t, os.Symlink("../evil", filepath.Join(there, "symlink/.git")))
	theirs := take(t, k.s, there)

	info, left := k.derive(theirs.ID, DeriveOptions{GitFrom: &ours.ID})
	dir := k.unpack(info.ID)
	require.Equal(t, info.Root, take(t, k.s, dir).Root)
	for at, is := range snapshot(t, dir, false) {
		git, rest, ok := strings.Cut(at, ".git/")
		if !ok || strings.HasPrefix(is, "d") {
			continue
		}
		require.False(t, strings.HasPrefix(is, "L"), "%s is a link", at)
		b, err := os.ReadFile(filepath.Join(dir, at))
		require.NoError(t, err)
		if slices.Contains(hostile, rest) {
			require.Equal(t, "ours", string(b), at)
			require.Contains(t, trusted, rest, at)
			require.NotEqual(t, "new/", git)
		} else if string(b) == "theirs" {
			require.Contains(t, harmless, rest, at)
		}
	}
	for _, git := range repositories[:2] {
		for _, path := range harmless {
			require.Equal(t, "theirs", textAt(t, dir, git+"/"+path))
		}
		for _, path := range []string{"config", "config.worktree", "hooks/pre-commit", "info/attributes", "objects/info/alternates", "modules/m/config"} {
			require.Equal(t, "ours", textAt(t, dir, git+"/"+path))
		}
		require.NoFileExists(t, filepath.Join(dir, git, "hooks/post-checkout"))
		require.NoFileExists(t, filepath.Join(dir, git, "logs/HEAD"), "they removed it")
		require.Equal(t, "ours", textAt(t, dir, git+"/HEAD"), "a directory for a file is nothing that comes")
	}
	require.NoDirExists(t, filepath.Join(dir, "new/.git/hooks"))
	require.Equal(t, "gitdir: ../ours", textAt(t, dir, "linked/.git"))
	for _, path := range []string{"link/.git", "symlink/.git", "new/.git/config", "new/.GIT/hooks", "mac/.g\u200cit/config", "windows/git~1/config", "dots/.git. /config"} {
		_, err := os.Lstat(filepath.Join(dir, path))
		require.ErrorIs(t, err, os.ErrNotExist, path)
		require.Contains(t, left, Left{path, gitsOwn})
		require.NotNil(t, covering(info.Notes, path))
	}

	none := ""
	info, _ = k.derive(theirs.ID, DeriveOptions{GitFrom: &none})
	dir = k.unpack(info.ID)
	for _, path := range []string{".git/config", ".git/hooks", "sub/.git/info/attributes", "linked/.git/config", ".git/HEAD"} {
		require.NoFileExists(t, filepath.Join(dir, path))
	}
	require.Equal(t, "theirs", textAt(t, dir, "sub/.git/index"))

	// what they removed altogether is not theirs to remove
	rm(t, there, ".git/info")
	rm(t, there, ".git/hooks")
	rm(t, there, ".git/objects/info")
	rm(t, there, "sub/.git")
	info, _ = k.derive(take(t, k.s, there).ID, DeriveOptions{GitFrom: &ours.ID})
	dir = k.unpack(info.ID)
	require.Equal(t, "ours", textAt(t, dir, ".git/info/attributes"))
	require.NoFileExists(t, filepath.Join(dir, ".git/info/exclude"))
	require.Equal(t, "ours", textAt(t, dir, ".git/hooks/pre-commit"))
	require.Equal(t, "ours", textAt(t, dir, ".git/objects/info/alternates"))
	require.NoDirExists(t, filepath.Join(dir, "sub/.git"))
}

func textAt(t testing.TB, dir, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, path))
	require.NoError(t, err)
	return string(b)
}

func TestDeriveIsBounded(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "d/f", "1")
	write(t, k.dir, "g", "1")
	source := k.take()
	ctx, cancel := context.WithCancel(context.Background())
	_, _, err := k.s.Derive(ctx, source.ID, DeriveOptions{Drop: func(string, *tree.Entry) string { cancel(); return "" }})
	requireClass(t, sandbox.ClassCanceled, err)
	full, err := Open(Options{Dir: k.s.opts.Dir, Reserve: 1 << 60})
	require.NoError(t, err)
	_, _, err = full.Derive(context.Background(), source.ID, DeriveOptions{Drop: func(path string, _ *tree.Entry) string { return strings.Repeat("x", len(path)-1) }})
	requireClass(t, sandbox.ClassLimit, err)
}
