// This file tests that work with git goes on in every confinement, and that what it would run is told when it changes.

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// gitWork is what must go well, in this order, and change nothing that git runs.
var gitWork = []struct{ name, script string }{
	{"commit", `echo a > a && git add a && git commit -qm a && git status --short`},
	{"branch and merge", `git checkout -qb topic && echo b > b && git add b && git commit -qm b && git checkout -q - && git merge -q --no-ff -m m topic && git branch -d topic`},
	{"rebase", `git checkout -qb other HEAD~1 && echo c > c && git add c && git commit -qm c && git rebase -q main && git checkout -q main && git merge -q other`},
	{"stash and tag", `echo x >> a && git stash -q && git stash pop -q && git checkout -q a && git tag v1 && git gc -q && git fsck --strict`},
	{"submodule", `cd module && echo a > a && git add a && git commit -qm a && cd .. && git add module && git commit -qm module && git submodule status`},
	{"work tree of the user", `cd tree && echo t > t && git add t && git commit -qm t && git log --oneline`},
	{"own work tree", `git worktree add -q new && cd new && echo n > n && git add n && git commit -qm n && cd .. && git worktree remove new && git branch -D new`},
	{"own repository", `git init -q fresh && cd fresh && git remote add origin /x && git config user.email me@example.org && echo f > f && git add f && git commit -qm f`},
	{"clone", `git clone -q . copy && cd copy && git branch -q mine && rm -rf ../copy`},
	{"look", `git diff HEAD~1 --stat && git log -3 --oneline && git blame a && git worktree list && git remote -v`},
}

// userRepository makes a repository with a submodule and work trees in it and outside.
func userRepository(t *testing.T) (ws string) {
	t.Helper()
	base := outside(t)
	ws, source := filepath.Join(base, "ws"), filepath.Join(base, "source")
	as := []string{"-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always"}
	for _, dir := range []string{source, ws} {
		require.NoError(t, os.Mkdir(dir, 0o755))
		git(t, dir, "init", "-q", "-b", "main")
		git(t, dir, append(as, "commit", "-q", "--allow-empty", "-m", "first")...)
	}
	git(t, ws, append(as, "submodule", "--quiet", "add", source, "module")...)
	git(t, ws, "worktree", "add", "-q", "tree")
	git(t, ws, "worktree", "add", "-q", filepath.Join(base, "elsewhere"))
	write(t, filepath.Join(ws, ".gitignore"), "tree\nnew\nfresh\ncopy\n")
	return ws
}

func TestGitGoesOn(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Me\n\temail = me@example.org\n")
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			ws := userRepository(t)
			t.Setenv("HOME", home)
			b := newBackendWith(t, confine.DefaultLevel, way)
			for _, w := range gitWork { // each with a helper of its own, which has covered what is there
				sb, err := b.Open(t.Context(), sandbox.Spec{ID: w.name, Workspace: ws})
				require.NoError(t, err)
				st, out := script(t, sb, "a", "{ "+w.script+"\n} 2>&1")
				require.Equal(t, 0, st.ExitCode, "%s: %s", w.name, out)
				require.NotContains(t, read(t, sb, "a", sandbox.Stderr), "[sandbox]", w.name)
				require.NoError(t, sb.Close())
				require.NoError(t, b.Destroy(t.Context(), sb.Ref()))
			}
			git(t, filepath.Join(filepath.Dir(ws), "elsewhere"), "status")
		})
	}
	if os.Getuid() == 0 {
		t.Run("as an ordinary user", func(t *testing.T) { again(t, "^TestGitGoesOn$") })
	}
}

func TestRefusedSettingsAreExplained(t *testing.T) {
	for _, way := range ways {
		if !way.Strong() {
			continue
		}
		t.Run(string(way), func(t *testing.T) {
			ws := userRepository(t)
			sb := open(t, newBackendWith(t, confine.DefaultLevel, way), "s1", ws)
			for id, text := range map[string]string{
				"remote": "git remote add x /x", "config": "git config core.pager evil; true", "both": "git config core.pager evil 2>&1",
				"module": "git -C module config core.pager evil",
			} {
				_, out := script(t, sb, id, text)
				require.Contains(t, read(t, sb, id, sandbox.Stderr), "ask the user", "%s: %s", id, out)
			}
			_, _ = script(t, sb, "fine", "git status; echo nothing is busy >&2; false")
			require.NotContains(t, read(t, sb, "fine", sandbox.Stderr), "[sandbox]")
		})
	}
}

func TestChangesOfWhatGitRunsAreTold(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			ws := userRepository(t)
			git(t, ws, "config", "core.hooksPath", ".husky/_")
			write(t, filepath.Join(ws, ".husky", "_", "h"), "sh ../$1")
			b := newBackendWith(t, confine.DefaultLevel, way)
			sb := open(t, b, "s1", ws)
			said := func(id, text string) string {
				_, _ = script(t, sb, id, text)
				return read(t, sb, id, sandbox.Stderr)
			}
			require.Empty(t, said("first", "true"))
			require.Contains(t, said("hook", "echo evil > .husky/pre-commit"), ".husky/pre-commit")
			require.Empty(t, said("next", "true"), "it is told once")
			require.Contains(t, said("link", "echo x >&2; ln -s /x/evil lib; git init -q sub; ln -s ../../.husky sub/.git/hooks/post-merge"), "sub/.git/hooks/post-merge")
			require.Contains(t, said("linked tree", "echo ../../../evil > .git/worktrees/tree/commondir"), ".git/worktrees/tree/commondir")
			require.Contains(t, said("bare", "git init -q --bare bare; git -C bare config core.fsmonitor evil"), "bare/config (core.fsmonitor)")

			// whoever reads it, in whichever pieces
			again, err := b.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: ws})
			require.NoError(t, err)
			defer again.Close()
			whole := read(t, sb, "link", sandbox.Stderr)
			require.True(t, strings.HasPrefix(whole, "x\n[sandbox] "), whole)
			require.Equal(t, whole, read(t, again, "link", sandbox.Stderr))
			st := await(t, again, "link")
			require.EqualValues(t, len(whole), st.Total.Stderr)
			for at := range st.Total.Stderr {
				c, err := again.Output(t.Context(), "link", sandbox.Stderr, at, 1)
				require.NoError(t, err)
				require.Equal(t, whole[at:at+1], string(c.Data))
				require.Equal(t, at == st.Total.Stderr-1, c.EOF, at)
			}
			require.NoError(t, again.Start(t.Context(), "tty", sandbox.Command{Script: "echo evil > .husky/post-commit", TTY: true}))
			_ = await(t, again, "tty")
			require.Contains(t, read(t, again, "tty", sandbox.Stdout), ".husky/post-commit")
		})
	}
}

// TestOutputAfterTheNote tests that what a command left running prints comes behind the note.
func TestOutputAfterTheNote(t *testing.T) {
	ws := userRepository(t)
	sb := open(t, newBackend(t), "s1", ws)
	_, _ = script(t, sb, "a", "echo first >&2; git init -q sub; echo evil > sub/.git/hooks/update; (until test -e go; do sleep 0.01; done; echo later >&2) & exit 0")
	before := read(t, sb, "a", sandbox.Stderr)
	require.Contains(t, before, "sub/.git/hooks/update")
	write(t, filepath.Join(ws, "go"), "")
	eventually(t, func() bool { return await(t, sb, "a").Left == 0 })
	require.Equal(t, before+"later\n", read(t, sb, "a", sandbox.Stderr))
}

// TestChangesAfterTheLastCommandAreTold tests that what a process changes after its command ended is told with the next
// command, be it of another session.
func TestChangesAfterTheLastCommandAreTold(t *testing.T) {
	ws := userRepository(t)
	b := newBackend(t)
	sb := open(t, b, "s1", ws)
	_, _ = script(t, sb, "a", "(until test -e go; do sleep 0.01; done; git init -q sub; echo evil > sub/.git/hooks/update; touch gone) >/dev/null 2>&1 & exit 0")
	require.NotContains(t, read(t, sb, "a", sandbox.Stderr), "[sandbox]")
	write(t, filepath.Join(ws, "go"), "")
	eventually(t, func() bool { _, err := os.Stat(filepath.Join(ws, "gone")); return err == nil })
	other := open(t, b, "s2", ws)
	for _, next := range []sandbox.Sandbox{other, sb} {
		_, _ = script(t, next, "b", "true")
		require.Contains(t, read(t, next, "b", sandbox.Stderr), "sub/.git/hooks/update")
		_, _ = script(t, next, "c", "true")
		require.Empty(t, read(t, next, "c", sandbox.Stderr), "it is told once")
	}
}
