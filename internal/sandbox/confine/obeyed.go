// This file pictures what git would execute or obey in a workspace, so that a change which could not be prevented is told
// before the user runs git: hooks, settings that run something, what they point to in the workspace, and redirections.

package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// How much is looked at: the picture is made after every command.
const (
	maxObeyedDirs  = 32  // directories in which repositories are looked for, those next to the root first
	maxObeyedFiles = 256 // files of one directory
	maxObeyed      = 512 // things in a picture
	maxWords       = 16  // of the value of one setting
)

// Obeyed is what git executes or obeys: by a name for people, relative to the workspace, what identifies its content.
type Obeyed map[string]string

// ObeyedIn pictures a workspace. Only what lies in it counts, as commands can change nothing else. Repositories below the
// root are found within the first levels. What ordinary work does to a repository (init, clone, commit, branches, remotes,
// submodules, work trees) is in no picture.
func ObeyedIn(workspace string) Obeyed {
	p := picture{found: Obeyed{}}
	workspace, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return p.found
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return p.found
	}
	defer root.Close()
	p.root, p.workspace = root, workspace
	p.search()
	return p.found
}

// Since lists, sorted, what is new or different since the earlier picture.
func (o Obeyed) Since(earlier Obeyed) (names []string) {
	for name, content := range o {
		if earlier[name] != content {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type picture struct {
	root      *os.Root
	workspace string
	found     Obeyed
	seen      []string // git directories
}

func (p *picture) add(name, content string) {
	if len(p.found) < maxObeyed {
		p.found[name] += content + "\n"
	}
}

// search looks at the root and the directories below it, level by level. It goes by plain paths, which is quicker: a link that
// leads it astray shows it names, and everything that counts is then read below the root.
func (p *picture) search() {
	dirs := []string{"."}
	for n := 0; n < len(dirs); n++ {
		dir := dirs[n]
		plain := filepath.Join(p.workspace, dir)
		if thereAll(plain, ".git") {
			p.link(dir)
		}
		if dir != "." && thereAll(plain, "HEAD", "objects", "refs") { // git would take it for a repository itself
			p.repository(dir, dir)
		}
		if len(dirs) == maxObeyedDirs {
			continue
		}
		for _, e := range p.list(os.OpenFile(plain, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)) {
			if e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules" && len(dirs) < maxObeyedDirs {
				dirs = append(dirs, path.Join(dir, e.Name()))
			}
		}
	}
}

func thereAll(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// list lists an open directory, sorted, and closes it.
func (p *picture) list(f *os.File, err error) []fs.DirEntry {
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxObeyedFiles)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// link looks at the .git of a directory.
func (p *picture) link(dir string) {
	git := path.Join(dir, ".git")
	info, err := p.root.Lstat(git)
	switch {
	case err != nil:
	case info.IsDir():
		p.repository(git, dir)
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := p.root.Readlink(git)
		p.add(git, target)
		p.repository(git, dir)
	case info.Mode().IsRegular():
		text, err := readIn(p.root, git)
		if err != nil {
			return
		}
		target := p.inside(gitFileTarget(text, filepath.Join(p.workspace, dir)))
		if strings.HasPrefix(target, ".git/modules/") || strings.HasPrefix(target, ".git/worktrees/") {
			return // as git makes them; looked at with the repository
		}
		p.add(git, text)
		if target != "" {
			p.repository(target, dir)
		}
	}
}

// inside returns an absolute path relative to the workspace, "" when it is not in it.
func (p *picture) inside(abs string) string {
	if abs == "" || !within(p.workspace, abs) {
		return ""
	}
	rel, err := filepath.Rel(p.workspace, abs)
	if err != nil {
		return ""
	}
	return rel
}

// repository looks at a git directory whose work tree is in tree ("": unknown).
func (p *picture) repository(git, tree string) {
	if slices.Contains(p.seen, git) || len(p.seen) >= maxModules {
		return
	}
	p.seen = append(p.seen, git)
	p.common(git, "")
	p.config(path.Join(git, "config"), git, tree)
	p.config(path.Join(git, "config.worktree"), git, tree)
	p.hooks(path.Join(git, "hooks"))
	p.modules(path.Join(git, "modules"), 1)
	for _, e := range p.list(p.root.Open(path.Join(git, "worktrees"))) {
		linked := path.Join(git, "worktrees", e.Name())
		p.common(linked, "../..")
		p.config(path.Join(linked, "config.worktree"), git, "")
	}
}

// common looks for a redirection to another repository than the one that git makes.
func (p *picture) common(dir, usual string) {
	name := path.Join(dir, "commondir")
	if info, err := p.root.Lstat(name); err != nil || info.IsDir() {
		return
	}
	if text, err := readIn(p.root, name); err != nil || strings.TrimSpace(text) != usual {
		p.add(name, text)
	}
}

// modules looks for the git directories of submodules.
func (p *picture) modules(dir string, depth int) {
	for _, e := range p.list(p.root.Open(dir)) {
		module := path.Join(dir, e.Name())
		if _, err := p.root.Lstat(path.Join(module, "HEAD")); err == nil {
			p.repository(module, "")
		} else if e.IsDir() && depth < maxModuleDepth {
			p.modules(module, depth+1)
		}
	}
}

// hooks looks at the programs of a directory of hooks.
func (p *picture) hooks(dir string) {
	if target, err := p.root.Readlink(dir); err == nil {
		p.add(dir, target)
	}
	for _, e := range p.list(p.root.Open(dir)) {
		if !strings.HasSuffix(e.Name(), ".sample") && !e.IsDir() {
			p.file(path.Join(dir, e.Name()))
		}
	}
}

// file adds a file that is executed or read, if it is there.
func (p *picture) file(name string) {
	info, err := p.root.Lstat(name)
	if err != nil || info.IsDir() {
		return
	}
	text, err := readIn(p.root, name)
	if err != nil { // a link to elsewhere, or too much: told from others by what can be known
		target, _ := p.root.Readlink(name)
		text = target + identity(filepath.Join(p.workspace, name)) + info.ModTime().String()
	}
	p.add(name, digest(info.Mode().String()+text))
}

// config looks at a configuration of the git directory git.
func (p *picture) config(name, git, tree string) {
	text, err := readIn(p.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.file(name)
		return
	}
	for _, s := range parseGitConfig(text) {
		if harmlessGit[s.key] || s.key == "core.worktree" && p.staysInside(git, s.value) {
			continue
		}
		p.add(name+" ("+s.key+")", digest(s.value))
		p.pointsTo(s, name, tree)
	}
}

// staysInside reports whether a path that git takes relative to a git directory leads to the workspace.
func (p *picture) staysInside(git, value string) bool {
	return !path.IsAbs(value) && filepath.IsLocal(path.Join(git, value))
}

// pointsTo looks at files in the workspace that a setting names.
func (p *picture) pointsTo(s gitSetting, name, tree string) {
	if s.key == "core.hookspath" {
		dir := p.resolve(s.value, tree)
		p.hooks(dir)
		if path.Base(dir) == "_" { // husky: what is there runs what is above
			p.hooks(path.Dir(dir))
		}
		return
	}
	base := tree
	if s.key == "include.path" || s.key == "includeif.path" {
		base = path.Dir(name)
	}
	words := strings.Fields(s.value)
	for _, word := range words[:min(len(words), maxWords)] {
		if word = strings.Trim(word, `"'!;`); strings.Contains(word, "/") || base != tree {
			p.file(p.resolve(word, base))
		}
	}
}

// resolve returns a path relative to the workspace; what leads out of it leads to nothing there.
func (p *picture) resolve(name, base string) string {
	if path.IsAbs(name) {
		return p.inside(path.Clean(name))
	}
	return path.Join(base, name)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
