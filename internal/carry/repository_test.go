// This file tests with git itself that a copy of a linked work tree or a submodule has a repository of its own.

package carry

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
)

func (s *scene) git(dir string, args ...string) string {
	s.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(s, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (s *scene) repository(names ...string) string {
	s.Helper()
	dir := s.mkdir(names...)
	s.git(dir, "init", "-q", "-b", "main")
	s.write(dir, map[string]string{"f": "1\n"})
	s.git(dir, "add", ".")
	s.git(dir, "commit", "-qm", "first")
	return dir
}

func TestForkOfALinkedWorkTree(t *testing.T) {
	s := newScene(t)
	main := s.repository("main")
	s.git(main, "config", "remote.origin.url", "https://example.com/x")
	s.home = filepath.Join(s.dir, "linked")
	s.git(main, "worktree", "add", "-q", "-b", "topic", s.home)
	s.write(s.home, map[string]string{"f": "2\n", "g": "staged\n"})
	s.git(s.home, "commit", "-qam", "second")
	s.git(s.home, "add", "g")
	s.git(main, "pack-refs", "--all")
	before := s.git(s.home, "status", "--porcelain=v2", "--branch")

	o := s.opening(s.forkPlace())
	for try := range 2 {
		out, err := s.Open(t.Context(), o)
		require.NoError(t, err, "try %d", try)
		require.Equal(t, ".git", out.Carry.Skipped[0].Path)
		require.Len(t, out.Notes, 1)
		require.Contains(t, out.Notes[0], "repository of its own")
	}
	fork := o.To.Spec.Workspace
	require.Equal(t, before, s.git(fork, "status", "--porcelain=v2", "--branch"), "what is checked out and staged is as it was")
	require.Equal(t, s.git(s.home, "log", "--oneline"), s.git(fork, "log", "--oneline"))
	require.Equal(t, "https://example.com/x", s.git(fork, "config", "remote.origin.url"))
	s.git(fork, "fsck", "--strict")

	s.git(fork, "commit", "-qm", "in the fork")
	s.git(fork, "checkout", "-q", "main")
	require.Equal(t, before, s.git(s.home, "status", "--porcelain=v2", "--branch"), "the original knows nothing of it")
	require.NotContains(t, s.git(main, "log", "--all", "--oneline"), "in the fork")
	require.Equal(t, "topic", s.git(s.home, "rev-parse", "--abbrev-ref", "HEAD"))

	back, err := s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "home", s.home), From: Origin{Local: true, Folder: fork}, Base: o.Checkpoint, Theirs: s.picture(o.To),
		Session: checkpoint.Ref{Session: "s", Effect: "adopt"},
	})
	require.NoError(t, err)
	require.True(t, back.Applied, "%v", back.Carry.Conflicts)
	require.NotEmpty(t, back.Notes)
	require.Equal(t, "1\n", s.files(s.home)["f"], "the files come")
	require.Equal(t, "topic", s.git(s.home, "rev-parse", "--abbrev-ref", "HEAD"), "and what is checked out stays")
	require.NotContains(t, s.git(main, "log", "--all", "--oneline"), "in the fork")
}

// The branch of a linked work tree can be checked out in a copy of the repository, which knows nothing of that tree.
func TestForkOfARepositoryWithLinkedWorkTrees(t *testing.T) {
	s := newScene(t)
	s.home = s.repository("main")
	linked := filepath.Join(s.dir, "linked")
	s.git(s.home, "worktree", "add", "-q", "-b", "topic", linked)
	o := s.opening(s.forkPlace())
	out, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, ".git/worktrees", out.Carry.Skipped[0].Path)
	fork := o.To.Spec.Workspace
	s.git(fork, "checkout", "-q", "topic")
	require.Empty(t, s.git(fork, "status", "--porcelain"))

	back, err := s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "home", s.home), From: Origin{Local: true, Folder: fork}, Base: out.Base, Theirs: s.picture(o.To),
		Session: checkpoint.Ref{Session: "s", Effect: "adopt"},
	})
	require.NoError(t, err)
	require.True(t, back.Applied, "%v", back.Carry.Conflicts)
	require.Empty(t, s.git(linked, "status", "--porcelain"), "the linked tree is as it was")
	require.Contains(t, s.git(s.home, "worktree", "list"), linked)
}

func TestForkOfASubmodule(t *testing.T) {
	s := newScene(t)
	library, super := s.repository("library"), s.repository("super")
	s.git(super, "submodule", "--quiet", "add", library, "lib")
	s.home = filepath.Join(super, "lib")
	o := s.opening(s.forkPlace())
	_, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	fork := o.To.Spec.Workspace
	require.Empty(t, s.git(fork, "status", "--porcelain"))
	require.Equal(t, fork, s.git(fork, "rev-parse", "--show-toplevel"))
	require.Contains(t, s.git(fork, "log", "--oneline"), "first")

	s.home = super // a submodule below comes along with what its .git file names
	whole := s.opening(s.place(s.folders, "t.1", filepath.Join(s.Forks.Dir, "t", "super")))
	out, err := s.Open(t.Context(), whole)
	require.NoError(t, err)
	require.Empty(t, out.Carry.Skipped)
	require.Empty(t, s.git(filepath.Join(whole.To.Spec.Workspace, "lib"), "status", "--porcelain"))
}

func TestWorkTreeOfNothing(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{".git": "gitdir: /nowhere/.git/worktrees/x\n", "f": "1"})
	o := s.opening(s.forkPlace())
	out, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"f": "1"}, s.files(o.To.Spec.Workspace))
	require.Contains(t, out.Notes[0], "is no git repository")

	box := s.opening(s.place(s.boxes, "s.2", s.home))
	box.Session.Effect = "box"
	_, err = s.Open(t.Context(), box)
	require.NoError(t, err)
	require.Equal(t, s.files(s.home), s.files(s.boxes.root(box.To.Spec)), "a container has it as it is, and so it comes back")
}

// What a fork of a linked work tree has committed cannot come by files; it is said how it comes.
func TestCommitsOfAForkOfALinkedTree(t *testing.T) {
	s := newScene(t)
	s.git(s.home, "init", "-q", "-b", "main")
	s.write(s.home, map[string]string{"f": "1\n"})
	s.git(s.home, "add", "-A")
	s.git(s.home, "commit", "-qm", "one")
	linked := filepath.Join(s.dir, "linked")
	s.git(s.home, "worktree", "add", "-q", "-b", "topic", linked)
	s.home = linked
	o := s.opening(s.forkPlace())
	opened, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	fork := o.To.Spec.Workspace
	s.write(fork, map[string]string{"f": "2\n"})
	s.git(fork, "commit", "-qam", "two")
	back, err := s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "home", linked), From: Origin{Local: true, Folder: fork}, Base: opened.Base, Theirs: s.picture(o.To),
		Session: checkpoint.Ref{Session: "s", Effect: "adopt"},
	})
	require.NoError(t, err)
	require.True(t, back.Applied)
	require.Equal(t, "2\n", s.files(linked)["f"])
	why := "commits made elsewhere did not come, since the folder's repository is another folder's too: git fetch " + fork + " HEAD brings them"
	require.Equal(t, []editors.Skipped{{Path: ".git", Reason: why}}, back.Carry.Skipped)
	require.Equal(t, []string{"C" + why[1:] + "."}, back.Notes)
	s.git(linked, "fetch", "-q", fork, "HEAD")
	require.Equal(t, s.git(fork, "rev-parse", "HEAD"), s.git(linked, "rev-parse", "FETCH_HEAD"))
}
