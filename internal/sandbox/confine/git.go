// This file finds what git executes or obeys in the workspace's repository, which commands must not change: it would run
// later with all the rights of the user.
//
// What it names can be held in place by mounts, which need something to lie on. What is missing is made where that means
// nothing to git (Complete); what else commands can do to a repository is told afterwards (see obeyed.go).

package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	maxModules     = 64 // repositories of submodules, and linked work trees, that are protected
	maxModuleDepth = 32
	maxModuleDirs  = 1024    // directories between theirs
	maxGitFile     = 4 << 10 // bytes of a .git that is a file
)

// guarded are the names in a git directory that decide which programs git runs. So does commondir, but that belongs to
// linked work trees: in another place it is an attack, and must not be kept.
var guarded = []string{"hooks", "config", "config.worktree"}

// guardedLinks are those in the directory of a linked work tree.
var guardedLinks = []string{"commondir", "gitdir", "config.worktree"}

// repository returns the directories to be held in place and the paths in them that must stay as they are. A .git that is a
// file must itself stay; what it points to is protected if it lies in the workspace, and is read-only anyway if not.
func repository(workspace string) (hold, keep []string) {
	git := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(git); err == nil && info.Mode().IsRegular() {
		keep = append(keep, git)
	}
	if git = gitDir(workspace); git == "" {
		return nil, keep
	}
	hold = between(workspace, git)
	keep = append(keep, existingIn(git, guarded)...)
	for _, module := range modules(filepath.Join(git, "modules")) {
		hold = append(hold, between(git, module)...)
		keep = append(keep, existingIn(module, guarded)...)
	}
	for _, tree := range linkedOutside(git, workspace) {
		hold = append(hold, between(git, tree)...)
		keep = append(keep, existingIn(tree, guardedLinks)...)
	}
	slices.Sort(hold)
	return slices.Compact(hold), keep
}

// gitDir returns the git directory of the workspace's repository, "" unless it lies in the workspace.
func gitDir(workspace string) string {
	git := filepath.Join(workspace, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return git
	case !info.Mode().IsRegular() || info.Size() > maxGitFile:
		return ""
	}
	text, err := readAt(git)
	if err != nil {
		return ""
	}
	dir := gitFileTarget(text, workspace)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != dir || dir == workspace || !within(workspace, dir) {
		return ""
	}
	return dir
}

// gitFileTarget returns the directory that a .git file in dir names, "" for none.
func gitFileTarget(text, dir string) string {
	target, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	target = strings.TrimSpace(target)
	switch {
	case !ok || target == "":
		return ""
	case filepath.IsAbs(target):
		return filepath.Clean(target)
	}
	return filepath.Join(dir, target)
}

// between returns the directories below root down to dir: one that is not held could be renamed with all that is kept in it.
func between(root, dir string) (out []string) {
	for ; dir != root && within(root, dir); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	return out
}

func existingIn(dir string, names []string) (out []string) {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			out = append(out, path)
		}
	}
	return out
}

// modules returns the git directories of submodules, and of theirs.
func modules(root string) (out []string) {
	walked := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		walked++
		entries, err := os.ReadDir(dir)
		if err != nil || depth > maxModuleDepth || walked > maxModuleDirs {
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			_, err := os.Lstat(filepath.Join(path, "HEAD"))
			switch {
			case !e.IsDir() || len(out) == maxModules: // git makes no links here
			case err == nil:
				out = append(out, path)
				walk(filepath.Join(path, "modules"), depth+1)
			default:
				walk(path, depth+1)
			}
		}
	}
	walk(root, 1)
	return out
}

// linkedOutside returns the directories of linked work trees that are there and lie outside the workspace: no command made
// them, and none may take them away. Those inside come and go with the work of commands.
func linkedOutside(git, workspace string) (out []string) {
	entries, err := os.ReadDir(filepath.Join(git, "worktrees"))
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(len(entries), maxModules)] {
		dir := filepath.Join(git, "worktrees", e.Name())
		text, err := readAt(filepath.Join(dir, "gitdir"))
		link := strings.TrimSpace(text)
		if err != nil || !e.IsDir() || !filepath.IsAbs(link) || within(workspace, link) {
			continue
		}
		if _, err := os.Lstat(link); err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// Complete makes what git would obey if commands made it, empty, so that it can be kept from them: to git, an empty hooks
// directory or configuration is the same as none. Where it cannot be made, it will be told when commands make it.
func Complete(workspace string) {
	git := gitDir(workspace)
	if git == "" {
		return
	}
	for _, dir := range append(modules(filepath.Join(git, "modules")), git) {
		if root, err := os.OpenRoot(dir); err == nil {
			completeIn(root)
			_ = root.Close()
		}
	}
}

func completeIn(root *os.Root) {
	head, err := root.Lstat("HEAD")
	if err != nil {
		return // git would not take it for a repository
	}
	if root.Mkdir("hooks", 0o755) == nil {
		giveTo(head, root, "hooks")
	}
	names := []string{"config"}
	if text, err := readIn(root, "config", maxGitConfig); err == nil && slices.ContainsFunc(parseGitConfig(text), gitSetting.ownPerTree) {
		names = append(names, "config.worktree")
	}
	for _, name := range names {
		if f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			_ = f.Close()
			giveTo(head, root, name)
		}
	}
}

// giveTo makes what root made in somebody's repository theirs.
func giveTo(like os.FileInfo, root *os.Root, name string) {
	if stat, ok := like.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		_ = root.Lchown(name, int(stat.Uid), int(stat.Gid))
	}
}
