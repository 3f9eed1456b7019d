// This file merges repositories that real git has made, changed and reads afterwards.

package checkpoint

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func commit(t testing.TB, dir, path, text string) string {
	t.Helper()
	write(t, dir, path, text)
	git(t, dir, "add", path)
	git(t, dir, "commit", "-qm", "change "+path)
	return git(t, dir, "rev-parse", "HEAD")
}

// newRepository is a fork of a repository, without what stays here.
func newRepository(t *testing.T) *fork {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	return newFork(t, func(dir string) {
		git(t, dir, "init", "-q", "-b", "main")
		write(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
		chmod(t, dir, ".git/hooks/pre-commit", 0o755)
		for _, path := range []string{"a", "b", "d/c"} {
			commit(t, dir, path, ten)
		}
	})
}

// carry merges what is there, as it would come from a sandbox.
func (f *fork) carry(on OnConflict) Merged {
	f.t.Helper()
	theirs, _ := f.derive(f.theirs().ID, DeriveOptions{GitFrom: &f.base.ID})
	out := f.merge(MergeOptions{Base: f.base.ID, Theirs: theirs.ID, Git: GitMerge, OnConflict: on})
	if out.Applied {
		git(f.t, f.dir, "fsck", "--strict", "--no-dangling")
	}
	return out
}

func (f *fork) status() string { f.t.Helper(); return git(f.t, f.dir, "status", "--porcelain") }

func TestOnlyTheyCommitted(t *testing.T) {
	f := newRepository(t)
	id := commit(t, f.there, "a", ten+"11\n")
	git(t, f.there, "tag", "v1")
	git(t, f.there, "gc", "-q")
	write(t, f.there, "b", "0\n"+ten)
	git(t, f.there, "add", "b")
	write(t, f.dir, "d/c", "0\n"+ten)
	write(t, f.dir, "b", ten+"11\n")
	git(t, f.dir, "status") // which refreshes the index
	out := f.carry(Fail)
	require.Empty(t, out.Conflicts)
	require.Empty(t, out.Kept)
	require.Equal(t, id, git(t, f.dir, "rev-parse", "HEAD"))
	require.Equal(t, id, git(t, f.dir, "rev-parse", "v1"))
	require.Equal(t, "MM b\n M d/c", f.status())
	require.Equal(t, "0\n"+ten+"11\n", f.text("b"))
}

func TestOnlyWeCommitted(t *testing.T) {
	f := newRepository(t)
	id := commit(t, f.dir, "a", ten+"11\n")
	require.NoError(t, os.Chtimes(filepath.Join(f.there, "a"), time.Unix(1, 0), time.Unix(1, 0)))
	git(t, f.there, "status")
	write(t, f.there, "b", "0\n"+ten)
	write(t, f.there, "new", "n")
	require.Equal(t, "changed b, added new", brief(f.carry(Fail)))
	require.Equal(t, id, git(t, f.dir, "rev-parse", "HEAD"))
	require.Equal(t, "M b\n?? new", f.status())
}

func TestFetchingIsNobodysWork(t *testing.T) {
	f := newRepository(t)
	origin := t.TempDir()
	git(t, origin, "clone", "-q", f.dir, ".")
	fetched := commit(t, origin, "a", "elsewhere\n")
	git(t, f.dir, "fetch", "-q", origin, "main:refs/remotes/origin/main")
	id := commit(t, f.there, "b", "0\n"+ten)
	out := f.carry(Fail)
	require.Empty(t, out.Conflicts)
	require.Equal(t, id, git(t, f.dir, "rev-parse", "HEAD"))
	require.Equal(t, fetched, git(t, f.dir, "rev-parse", "origin/main"))
	require.Empty(t, f.status())
}

func TestBothCommitted(t *testing.T) {
	f := newRepository(t)
	ours := commit(t, f.dir, "a", "0\n"+ten)
	theirs := commit(t, f.there, "b", ten+"11\n")
	git(t, f.there, "checkout", "-qb", "topic/x")
	topic := commit(t, f.there, "d/c", ten+"12\n")
	was := snapshot(t, f.dir, true)
	out := f.carry(Fail)
	require.False(t, out.Applied)
	require.Len(t, out.Conflicts, 1)
	require.Equal(t, ".git", out.Conflicts[0].Path)
	require.Equal(t, was, snapshot(t, f.dir, true))

	for _, on := range []OnConflict{Mine, Theirs} { // commits are never given up
		out = f.carry(on)
		require.Len(t, out.Conflicts, 1)
		require.Equal(t, ours, git(t, f.dir, "rev-parse", "main"))
		_, merge, ok := strings.Cut(out.Conflicts[0].Reason, "git merge ")
		require.True(t, ok, out.Conflicts[0].Reason)
		require.Equal(t, topic, git(t, f.dir, "rev-parse", merge), "the branch that is checked out there")
		require.Equal(t, theirs, git(t, f.dir, "rev-parse", strings.Replace(merge, "heads/topic/x", "heads/main", 1)))
		require.Equal(t, "M b\n M d/c", f.status())
		if on == Mine {
			require.NotEmpty(t, out.Files)
		} else {
			require.Empty(t, out.Files, "all of it is here")
		}
	}
	_, merge, _ := strings.Cut(out.Conflicts[0].Reason, "git merge ")
	git(t, f.dir, "stash", "-q")
	git(t, f.dir, "merge", "-q", "--no-edit", merge)
	require.Equal(t, "0\n"+ten, f.text("a"))
	require.Equal(t, ten+"12\n", f.text("d/c"))
}

// TestTheToldGitCommandsWork does word for word what the conflict says, in a folder whose files are joined already.
func TestTheToldGitCommandsWork(t *testing.T) {
	f := newRepository(t)
	ours := commit(t, f.dir, "a", "0\n"+ten)
	commit(t, f.there, "a", ten+"11\n")
	theirs := commit(t, f.there, "new/file", "made there\n")
	write(t, f.there, "b", "0\n"+ten) // not committed
	out := f.carry(Mine)
	require.True(t, out.Applied)
	require.Equal(t, "0\n"+ten+"11\n", f.text("a"))
	_, commands, ok := strings.Cut(out.Conflicts[0].Reason, "already: ")
	require.True(t, ok, out.Conflicts[0].Reason)
	commands = strings.Replace(commands, "git merge", "git merge --no-edit", 1)
	cmd := exec.Command("sh", "-ec", commands)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	told, err := cmd.CombinedOutput()
	require.NoError(t, err, string(told))
	require.Empty(t, f.status())
	for _, id := range []string{ours, theirs} {
		git(t, f.dir, "merge-base", "--is-ancestor", id, "HEAD")
	}
	require.Equal(t, "0\n"+ten+"11\n", f.text("a"))
	require.Equal(t, "made there\n", f.text("new/file"))
	require.Equal(t, "0\n"+ten, f.text("b"))
}

func TestBothStaged(t *testing.T) {
	f := newRepository(t)
	write(t, f.dir, "a", "0\n"+ten)
	git(t, f.dir, "add", "a")
	write(t, f.there, "b", "0\n"+ten)
	git(t, f.there, "add", "b")
	out := f.carry(Fail)
	require.Empty(t, out.Conflicts)
	require.Equal(t, ".git", out.Kept[0].Path)
	require.Equal(t, "M  a\n M b", f.status())
}

func TestARepositoryThatIsNewOrGone(t *testing.T) {
	f := newRepository(t)
	git(t, f.there, "init", "-q", "-b", "main", "new")
	write(t, f.there, "new/.git/hooks/post-checkout", "#!/bin/sh\ntouch hacked\n")
	id := commit(t, filepath.Join(f.there, "new"), "x", "x")
	git(t, filepath.Join(f.there, "new"), "pack-refs", "--all")
	out := f.carry(Fail)
	require.Empty(t, out.Conflicts)
	require.Equal(t, id, git(t, filepath.Join(f.dir, "new"), "rev-parse", "HEAD"))
	require.NoFileExists(t, filepath.Join(f.dir, "new/.git/hooks"))
	require.NoFileExists(t, filepath.Join(f.dir, "new/.git/config"))
	require.Empty(t, git(t, filepath.Join(f.dir, "new"), "status", "--porcelain"))

	rm(t, f.there, ".git")
	out = f.carry(Theirs)
	require.Equal(t, ".git", out.Kept[0].Path)
	git(t, f.dir, "log")

	f = newRepository(t)
	commit(t, f.there, "a", "0\n"+ten)
	rm(t, f.dir, ".git")
	theirs, _ := f.derive(f.theirs().ID, DeriveOptions{GitFrom: &f.base.ID})
	out = f.merge(MergeOptions{Base: f.base.ID, Theirs: theirs.ID, Git: GitMerge, OnConflict: Theirs})
	require.Equal(t, "changed a, conflict .git", brief(out))
	require.NoDirExists(t, filepath.Join(f.dir, ".git"))
}

func TestHostileGitNeverComes(t *testing.T) {
	f := newRepository(t)
	id := commit(t, f.there, "a", ten+"11\n")
	evil := "#!/bin/sh\ntouch \"$OLDPWD/hacked\"\n"
	for _, path := range []string{"hooks/pre-commit", "hooks/post-checkout", "config", "info/attributes", "objects/info/alternates", "commondir", "modules/m/config", "config.worktree"} {
		write(t, f.there, ".git/"+path, evil)
	}
	rm(t, f.there, ".git/refs/heads/main")
	require.NoError(t, os.Symlink("../../../evil", filepath.Join(f.there, ".git/refs/heads/main")))
	write(t, f.there, "evil", id+"\n")
	for _, raw := range []bool{true, false} { // also where nobody derived anything
		theirs := f.theirs()
		if !raw {
			theirs, _ = f.derive(theirs.ID, DeriveOptions{GitFrom: &f.base.ID})
		}
		was := snapshot(t, f.dir, false)
		out := f.merge(MergeOptions{Base: f.base.ID, Theirs: theirs.ID, Git: GitMerge, OnConflict: Theirs})
		for _, file := range out.Files {
			require.NotContains(t, file.Path, ".git/hooks")
		}
		now := snapshot(t, f.dir, false)
		for _, path := range []string{"hooks", "hooks/pre-commit", "config", "info/attributes", "commondir", "modules", "objects/info/alternates", "hooks/post-checkout", "config.worktree"} {
			require.Equal(t, was[".git/"+path], now[".git/"+path], path)
		}
		require.False(t, strings.HasPrefix(now[".git/refs/heads/main"], "L"))
	}
}

func TestAPackThatIsNotInTheCheckpoint(t *testing.T) {
	f := newRepository(t)
	commit(t, f.there, "a", ten+"11\n")
	git(t, f.there, "gc", "-q")
	theirs, err := f.s.Take(context.Background(), folder(t, f.s, f.there), TakeOptions{Excludes: []string{"*.pack"}})
	require.NoError(t, err)
	out := f.merge(MergeOptions{Base: f.base.ID, Theirs: theirs.ID, Git: GitMerge})
	require.Contains(t, out.Kept[0].Reason, "not whole")
	require.Equal(t, "M a", f.status())
	git(t, f.dir, "fsck", "--strict")
}

// TestAMergeTakenBack goes back in git too, by a merge in the other direction.
func TestAMergeTakenBack(t *testing.T) {
	f := newRepository(t)
	was := git(t, f.dir, "rev-parse", "HEAD")
	id := commit(t, f.there, "a", ten+"11\n")
	out := f.carry(Fail)
	after := f.take()
	back := f.merge(MergeOptions{Base: after.ID, Theirs: out.Undo, Git: GitMerge})
	require.Empty(t, back.Conflicts)
	require.Equal(t, was, git(t, f.dir, "rev-parse", "HEAD"))
	require.Empty(t, f.status())
	require.Equal(t, "commit", git(t, f.dir, "cat-file", "-t", id), "objects stay")
}
