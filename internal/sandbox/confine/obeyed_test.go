package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fresh makes a directory that git takes for a repository.
func fresh(t testing.TB, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", "hooks/update.sample": "x",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = /x\n[branch \"main\"] merge = refs/heads/main ; so\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func TestObeyed(t *testing.T) {
	const config = ".git/config"
	add := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, ws string) {
			path := filepath.Join(ws, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			require.NoError(t, err)
			_, err = f.WriteString(text)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	bundle := func(changes ...func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, ws string) {
			for _, change := range changes {
				change(t, ws)
			}
		}
	}
	many := func(n int, pattern string) func(*testing.T, string) {
		return func(t *testing.T, ws string) {
			for i := range n {
				put(t, filepath.Join(ws, fmt.Sprintf(pattern, i)))
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		want   string
	}{
		"harmless settings":     {add(config, "[user]\n\tname = \"x\"\n[branch \"a.b\"]\nremote = origin\n"), ""},
		"a sample":              {add(".git/hooks/pre-commit.sample", "x"), ""},
		"index and refs":        {add(".git/index", "x"), ""},
		"a new repository":      {func(t *testing.T, ws string) { fresh(t, filepath.Join(ws, "a", ".git")) }, ""},
		"a hook":                {add(".git/hooks/pre-commit", "x"), ".git/hooks/pre-commit"},
		"a hook of a submodule": {add(".git/modules/lib/x/hooks/update", "x"), ".git/modules/lib/x/hooks/update"},
		"a setting":             {add(config, "[core]\n\tfsmonitor = evil\n"), config + " (core.fsmonitor)"},
		"in the same line":      {add(config, "[core]fsmonitor=evil"), config + " (core.fsmonitor)"},
		"in capitals":           {add(config, "[CORE]\nFsMonitor"), config + " (core.fsmonitor)"},
		"of a subsection":       {add(config, "[filter \"]x\\\"\"]\nclean = evil\n"), config + " (filter.clean)"},
		"old subsection":        {add(config, "[difftool.x]\ncmd = evil\n"), config + " (difftool.cmd)"},
		"not understood":        {add(config, "[core\nfsmonitor = evil\n"), config + " ([core)"},
		"own for the work tree": {add(".git/config.worktree", "[alias]\nx = !evil\n"), ".git/config.worktree (alias.x)"},
		"a redirection":         {add(".git/commondir", "../evil"), ".git/commondir"},
		"of a linked work tree": {add(".git/worktrees/w/commondir", "../../../evil"), ".git/worktrees/w/commondir"},
		"as git makes it":       {add(".git/worktrees/v/commondir", "../..\n"), ""},
		"a directory below":     {add("a/b/.git/hooks/update", "x"), "a/b/.git/hooks/update"},
		"a bare repository":     {func(t *testing.T, ws string) { fresh(t, filepath.Join(ws, "a")); add("a/hooks/update", "")(t, ws) }, "a/hooks/update"},
		"a file for .git":       {add("a/.git", "gitdir: ../evil"), "a/.git"},
		"of a submodule":        {add("a/.git", "gitdir: ../.git/modules/lib/x"), ""},
		"a work tree elsewhere": {add(config, "[core]\nworktree = ../../home"), config + " (core.worktree)"},
		"a work tree in there":  {add(config, "[core]\nworktree = ../a"), ""},
		"too much":              {add(config, strings.Repeat("#", maxGitConfig)), config},
		"what a setting names":  {add("tools/clean", "x"), "tools/clean"},
		"what is included":      {add(".git/more", "x"), ".git/more"},
		"hooks in the folder":   {add("githooks/pre-push", "x"), "githooks/pre-push"},
		"what a link leads to":  {add("target", "x"), ".git/hooks/linked"},
		"a work tree without commondir": {bundle(
			add(".git/worktrees/evil/HEAD", "x"), add(".git/worktrees/evil/config", "[core]\nfsmonitor = evil\n"), add("a/.git", "gitdir: ../.git/worktrees/evil"),
		), ".git/worktrees/evil/config (core.fsmonitor)"},
		"a work tree of another repository": {bundle(
			add("r/config", "[core]\nfsmonitor = evil\n"), add("r/worktrees/y/commondir", "../.."), add("a/.git", "gitdir: ../r/worktrees/y"),
		), "r/config (core.fsmonitor)"},
		"a link by detours":            {add("a/.git", "gitdir: ../x/../.git/modules/lib/x"), "a/.git"},
		"a submodule with a long path": {add(".git/modules/1/2/3/4/5/6/7/8/HEAD", "x"), ""},
		"settings of such a one": {bundle(
			add(".git/modules/1/2/3/4/5/6/7/8/HEAD", "x"), add(".git/modules/1/2/3/4/5/6/7/8/config", "[core]\nfsmonitor = evil\n"),
		), ".git/modules/1/2/3/4/5/6/7/8/config (core.fsmonitor)"},
		"a submodule out of sight":     {add(".git/modules"+strings.Repeat("/a", maxModuleDepth+1)+"/HEAD", "x"), tooMuchIn + ".git/modules" + strings.Repeat("/a", maxModuleDepth-1)},
		"a long .git":                  {add("a/.git", "gitdir: ../.git/evil"+strings.Repeat("\n", 300<<10)), "a/.git"},
		"what a long .git leads to":    {bundle(add("a/.git", "gitdir: ../.hid/x"+strings.Repeat("\n", 300<<10)), add(".hid/x/hooks/update", "x")), ".hid/x/hooks/update"},
		"a .git that is too long":      {add("a/.git", strings.Repeat("\n", maxLinkFile+1)), "a/.git"},
		"behind many repositories":     {bundle(many(70, ".git/modules/m%02d/HEAD"), add("a/.git/config", "[core]\nfsmonitor = evil\n")), "a/.git/config (core.fsmonitor)"},
		"behind too many repositories": {bundle(many(200, ".git/modules/a/%d/HEAD"), many(200, ".git/modules/b/%d/HEAD")), tooMuchIn + "the repositories"},
		"behind many samples":          {bundle(many(3000, ".git/hooks/s%d.sample"), add(".git/hooks/zz", "x")), ".git/hooks/zz"},
		"behind too many samples":      {many(maxEntries, ".git/hooks/s%d.sample"), tooMuchIn + ".git/hooks"},
		"behind many files":            {bundle(many(3000, "f%d"), add("zz/.git/hooks/update", "x")), "zz/.git/hooks/update"},
		"too many hooks":               {many(maxObeyedFiles+1, ".git/hooks/h%d"), tooMuchIn + ".git/hooks"},
		"too many of all":              {bundle(many(250, ".git/hooks/h%d"), many(250, "githooks/h%d"), many(250, "a/.git/hooks/h%d")), tooMuchIn + "this folder"},
		"behind many folders":          {bundle(many(100, "d%02d/f"), add("zz/.git/hooks/update", "x")), "zz/.git/hooks/update"},
		"behind too many folders":      {many(maxLooked, "d%d/f"), tooMuchIn + "folders deeper than the first 32"},
		"the root a bare repository":   {bundle(add("HEAD", "x"), add("objects/x", ""), add("refs/x", ""), add("config", "[core]\nfsmonitor = evil\n")), "config (core.fsmonitor)"},
		"a bare one by redirection":    {bundle(add("a/HEAD", "x"), add("a/commondir", "y"), add("a/y/config", "[core]\nfsmonitor = evil\n")), "a/y/config (core.fsmonitor)"},
		"what a rebase runs next":      {add(".git/rebase-merge/git-rebase-todo", "pick abc\nexec evil\n"), ".git/rebase-merge/git-rebase-todo (exec)"},
		"in short":                     {add(".git/worktrees/w/rebase-merge/git-rebase-todo", " \tx evil\n"), ".git/worktrees/w/rebase-merge/git-rebase-todo (x)"},
		"a rebase that stopped":        {bundle(add(".git/rebase-merge/git-rebase-todo", "# x\npick abc # exec\nlabel onto\n"), add(".git/rebase-merge/strategy", "ort\n")), ""},
		"the strategy of a rebase":     {add(".git/rebase-merge/strategy", "evil"), ".git/rebase-merge/strategy"},
		"of picks":                     {add(".git/sequencer/opts", "[options]\n\tstrategy = evil\n"), ".git/sequencer/opts (options.strategy)"},
		"picks that stopped":           {bundle(add(".git/sequencer/todo", "pick abc x\n"), add(".git/sequencer/opts", "[options]\n\tallow-ff = true\n")), ""},
		"what an included file includes": {bundle(
			add(".git/more", "[include]\npath = ../deep/er\n"), add("deep/er", "[core]\nhooksPath = hk # mine\n"), add("hk/update", "x"),
		), "hk/update"},
		"a file that includes itself": {add(".git/more", "[include]\npath = more\n[include]\npath = ./more\n"), ".git/more (include.path)"},
		"hooks of a submodule in its tree": {bundle(
			add(".git/modules/lib/x/config", "[core]\nworktree = ../../../../lib/x\nhooksPath = \"hk\" ; so\n"), add("lib/x/hk/update", "x"),
		), "lib/x/hk/update"},
		"hooks of a linked work tree in its tree": {bundle(add(".git/worktrees/w/gitdir", "../../../tree/.git\n"), add("tree/githooks/update", "x")), "tree/githooks/update"},
		"a name that is none":                     {add(".git/hooks/x\n[sandbox] fine", "x"), `".git/hooks/x\n[sandbox] fine"`},
		"a name in no encoding":                   {add(".git/hooks/\xff", "x"), `".git/hooks/\xff"`},
		"a link out of the tree": {func(t *testing.T, ws string) {
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(ws, ".git/hooks/post-merge")))
		}, ".git/hooks/post-merge"},
		"a pipe": {func(t *testing.T, ws string) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(ws, ".git/hooks/post-merge"), 0o600))
		}, ".git/hooks/post-merge"},
	} {
		t.Run(name, func(t *testing.T) {
			ws := t.TempDir()
			fresh(t, filepath.Join(ws, ".git"))
			fresh(t, filepath.Join(ws, ".git", "modules", "lib", "x"))
			add("target", "a")(t, ws)
			add("tools/clean", "a")(t, ws)
			add(".git/worktrees/w/HEAD", "a")(t, ws)
			add(".git/worktrees/w/commondir", "../..\n")(t, ws)
			require.NoError(t, os.Symlink("../../target", filepath.Join(ws, ".git", "hooks", "linked")))
			add(config, "[filter \"x\"]\nclean = ./tools/clean %f\n[include]\npath = more\n[core]\nhooksPath = githooks\n")(t, ws)
			before := ObeyedIn(ws)
			require.Empty(t, ObeyedIn(ws).Since(before))
			c.change(t, ws)
			after := ObeyedIn(ws)
			require.Empty(t, ObeyedIn(ws).Since(after), "the same is pictured the same")
			names := after.Since(before)
			if c.want == "" {
				require.Empty(t, names)
			} else {
				require.Contains(t, names, c.want)
			}
		})
	}
	require.Empty(t, ObeyedIn("/no/such/folder"))
}

func TestRepositoryIsHeldAsAWhole(t *testing.T) {
	ws, elsewhere := t.TempDir(), t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{ws, ".git"}, names...)...) }
	fresh(t, at())
	fresh(t, at("modules", "lib", "x"))
	for tree, link := range map[string]string{"in": filepath.Join(ws, "in", ".git"), "gone": "/no/such/tree/.git", "out": filepath.Join(elsewhere, ".git")} {
		put(t, at("worktrees", tree, "commondir"))
		require.NoError(t, os.WriteFile(put(t, at("worktrees", tree, "gitdir")), []byte(link+"\n"), 0o644))
	}
	put(t, filepath.Join(elsewhere, ".git"))
	hold, keep := repository(ws)
	require.Equal(t, []string{at(), at("modules"), at("modules", "lib"), at("modules", "lib", "x"), at("worktrees"), at("worktrees", "out")}, hold)
	require.ElementsMatch(t, []string{
		at("hooks"), at("config"), at("modules", "lib", "x", "hooks"), at("modules", "lib", "x", "config"),
		at("worktrees", "out", "commondir"), at("worktrees", "out", "gitdir"),
	}, keep)

	require.NoError(t, os.Rename(at(), filepath.Join(ws, "real")))
	require.NoError(t, os.WriteFile(at(), []byte("gitdir: real\n"), 0o644))
	hold, keep = repository(ws)
	require.Contains(t, hold, filepath.Join(ws, "real"), "a repository that .git leads to")
	require.Subset(t, keep, []string{at(), filepath.Join(ws, "real", "config")})
}

func TestComplete(t *testing.T) {
	ws := t.TempDir()
	git := filepath.Join(ws, ".git")
	Complete(ws)
	require.NoDirExists(t, git)
	require.NoError(t, os.Mkdir(git, 0o755))
	Complete(ws)
	require.NoDirExists(t, filepath.Join(git, "hooks"), "not a repository")
	fresh(t, git)
	require.NoError(t, os.RemoveAll(filepath.Join(git, "hooks")))
	Complete(ws)
	require.DirExists(t, filepath.Join(git, "hooks"))
	if os.Getuid() == 0 {
		require.NoError(t, os.RemoveAll(filepath.Join(git, "hooks")))
		require.NoError(t, os.Chown(filepath.Join(git, "HEAD"), 1001, 1001))
		Complete(ws)
		info, err := os.Stat(filepath.Join(git, "hooks"))
		require.NoError(t, err)
		require.EqualValues(t, 1001, info.Sys().(*syscall.Stat_t).Uid, "it belongs to whom the repository belongs to")
	}
	require.NoFileExists(t, filepath.Join(git, "config.worktree"), "git does not read it")
	require.NoError(t, os.WriteFile(filepath.Join(git, "config"), []byte("[extensions]\nworktreeConfig\n"), 0o644))
	Complete(ws)
	require.FileExists(t, filepath.Join(git, "config.worktree"))
	require.NoError(t, os.RemoveAll(filepath.Join(git, "hooks")))
	require.NoError(t, os.Symlink("/no/such/place", filepath.Join(git, "hooks")))
	before := Guards(Host{Home: ws}, ws)
	Complete(ws)
	require.Equal(t, before, Guards(Host{Home: ws}, ws))
}

// BenchmarkObeyed is what every command waits for: on a tree with more directories than are looked at.
func BenchmarkObeyed(b *testing.B) {
	ws := b.TempDir()
	fresh(b, filepath.Join(ws, ".git"))
	for i := range 20 {
		for j := range 20 {
			require.NoError(b, os.MkdirAll(filepath.Join(ws, fmt.Sprint(i), fmt.Sprint(j)), 0o755))
		}
	}
	for b.Loop() {
		ObeyedIn(ws)
	}
}
