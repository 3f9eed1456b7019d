// This file finds what git executes or obeys in the workspace's repository, which commands must not change: it would run
// later with all the rights of the user.

package confine

import (
	"io/fs"
	"os"
	"path/filepath"
)

const (
	maxModules     = 64 // repositories of submodules that are protected
	maxModuleDepth = 4
)

// guarded are the names in a git directory that decide which programs git runs.
var guarded = []string{"hooks", "config", "config.worktree", "commondir", "worktrees"}

// repository returns the git directory to be held in place and the paths in it that must stay as they are. A .git that is
// a file, as in a linked work tree, must itself stay; what it points to lies outside and is read-only anyway.
func repository(workspace string) (hold, keep []string) {
	git := filepath.Join(workspace, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return nil, nil
	case info.Mode().IsRegular():
		return nil, []string{git}
	case !info.IsDir():
		return nil, nil
	}
	keep = existingIn(git)
	for _, module := range modules(filepath.Join(git, "modules")) {
		keep = append(keep, existingIn(module)...)
	}
	return []string{git}, keep
}

func existingIn(git string) (out []string) {
	for _, name := range guarded {
		path := filepath.Join(git, name)
		if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			out = append(out, path)
		}
	}
	return out
}

// modules returns the git directories of submodules.
func modules(root string) (out []string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // what cannot be read cannot be protected
		}
		if len(out) >= maxModules {
			return fs.SkipAll
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			out = append(out, path)
		}
		rel, _ := filepath.Rel(root, path)
		if depth(rel) >= maxModuleDepth {
			return fs.SkipDir
		}
		return nil
	})
	return out
}

func depth(rel string) int {
	n := 1
	for _, c := range rel {
		if c == filepath.Separator {
			n++
		}
	}
	return n
}
