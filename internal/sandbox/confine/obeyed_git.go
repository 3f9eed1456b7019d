// This file pictures one repository: its hooks, its settings and what they point to, its submodules and linked work trees,
// and what git was left to do.

package confine

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxLinkFile     = 1 << 20 // bytes of a .git that is a file: what git reads
	maxIncludeDepth = 10      // as git
	maxWords        = 32      // of the value of one setting
)

// gitRepository is what was seen of a git directory.
type gitRepository struct {
	pointers []gitPointer
	worktree string   // of its settings, "" for none
	common   string   // the git directory whose settings and hooks count too, "" for none
	included []string // configurations
	trees    []string // from which its pointers were followed
}

// gitPointer is a setting that may name files.
type gitPointer struct {
	gitSetting
	file string // the configuration
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
		p.linkFile(git, dir)
	}
}

func (p *picture) linkFile(git, dir string) {
	text, err := p.text(git, maxLinkFile)
	if err != nil {
		p.file(git)
		return
	}
	target := p.inside(gitFileTarget(text, filepath.Join(p.workspace, dir)))
	if !asGitLinks(text, target) {
		p.add(git, text)
	}
	if target != "" {
		p.repository(target, dir)
	}
}

// asGitLinks reports whether git itself writes such a .git file in ordinary work: it leads straight to the git directory
// of a submodule or a linked work tree.
func asGitLinks(text, target string) bool {
	_, given, _ := strings.Cut(strings.TrimSpace(text), ":")
	given = strings.TrimSpace(given)
	in := "/" + target
	return path.Clean(given) == given && (strings.Contains(in, "/.git/modules/") || strings.Contains(in, "/.git/worktrees/"))
}

// repository looks at a git directory whose work tree is in tree ("": what it says itself).
func (p *picture) repository(git, tree string) {
	r := p.repositories[git]
	if r == nil {
		if len(p.repositories) >= maxRepositories {
			p.tooMuch("the repositories", git)
			return
		}
		r = &gitRepository{}
		p.repositories[git] = r
		p.examine(git, r)
	}
	if r.worktree != "" {
		tree = r.worktree
	}
	p.follow(r, git, tree)
	if common := p.repositories[r.common]; common != nil {
		p.follow(common, r.common, tree)
	}
}

// examine looks at all in a git directory that does not depend on where its work tree is.
func (p *picture) examine(git string, r *gitRepository) {
	p.config(path.Join(git, "config"), git, r, 0)
	p.config(path.Join(git, "config.worktree"), git, r, 0)
	p.hooks(path.Join(git, "hooks"))
	p.pending(git)
	p.modules(path.Join(git, "modules"), 1)
	if r.common = p.common(git); r.common != "" {
		p.repository(r.common, "")
	}
	if text, err := p.text(path.Join(git, "gitdir"), maxGitFile); err == nil && r.worktree == "" {
		if link := p.resolve(strings.TrimSpace(text), git); link != "" {
			r.worktree = path.Dir(link)
		}
	}
	for _, e := range p.list(path.Join(git, "worktrees"), anything) {
		p.repository(path.Join(git, "worktrees", e.Name()), "")
	}
}

func anything(fs.DirEntry) bool { return true }

// common returns the repository that a git directory redirects to, "" for none, and adds a redirection that git does not make.
func (p *picture) common(git string) string {
	name := path.Join(git, "commondir")
	if info, err := p.root.Lstat(name); err != nil || info.IsDir() {
		return ""
	}
	text, err := p.text(name, maxGitFile)
	if err != nil {
		p.file(name)
		return ""
	}
	text = strings.TrimSpace(text)
	if text != "../.." || path.Base(path.Dir(git)) != "worktrees" {
		p.add(name, text)
	}
	if to := p.resolve(text, git); to != git {
		return to
	}
	return ""
}

// modules looks for the git directories of submodules.
func (p *picture) modules(dir string, depth int) {
	if p.walked++; depth > maxModuleDepth || p.walked > maxModuleDirs {
		p.tooMuch(path.Dir(dir), dir+p.stamp(dir))
		return
	}
	for _, e := range p.list(dir, anything) {
		module := path.Join(dir, e.Name())
		if _, err := p.root.Lstat(path.Join(module, "HEAD")); err == nil {
			p.repository(module, "")
		} else if e.IsDir() {
			p.modules(module, depth+1)
		}
	}
}

// hooks looks at the programs of a directory of hooks.
func (p *picture) hooks(dir string) {
	if target, err := p.root.Readlink(dir); err == nil && !p.files[dir] {
		p.files[dir] = true
		p.add(dir, target)
	}
	for _, e := range p.list(dir, func(e fs.DirEntry) bool { return !e.IsDir() && !strings.HasSuffix(e.Name(), ".sample") }) {
		p.file(path.Join(dir, e.Name()))
	}
}

// harmlessSteps are what a rebase that was begun may still have to do without running a program.
var harmlessSteps = strings.Fields("pick p revert edit e reword r fixup f squash s drop d noop label l reset t merge m update-ref u break b")

// harmlessStrategies are those of git itself; others are programs.
var harmlessStrategies = []string{"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"}

// pending looks at what git has still to do when it is told to go on with a rebase, or a number of picks.
func (p *picture) pending(git string) {
	for dir, todo := range map[string]string{"rebase-merge": "git-rebase-todo", "sequencer": "todo"} {
		dir = path.Join(git, dir)
		if _, err := p.root.Lstat(dir); err == nil {
			p.steps(path.Join(dir, todo))
			p.strategy(path.Join(dir, "strategy"))
			p.options(path.Join(dir, "opts"))
		}
	}
}

func (p *picture) steps(name string) {
	text, err := p.text(name, maxGitConfig)
	if err != nil {
		p.file(name)
		return
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0][0] != '#' && !slices.Contains(harmlessSteps, words[0]) {
			p.add(name+" ("+words[0]+")", line)
		}
	}
}

func (p *picture) strategy(name string) {
	if text, err := p.text(name, maxGitFile); err != nil || !slices.Contains(harmlessStrategies, strings.TrimSpace(text)) {
		p.file(name)
	}
}

// options looks at how git was told to pick, in the form of its settings.
func (p *picture) options(name string) {
	text, err := p.text(name, maxGitFile)
	if err != nil {
		p.file(name)
		return
	}
	for _, s := range parseGitConfig(text) {
		if s.key == "options.strategy" && !slices.Contains(harmlessStrategies, s.value) {
			p.add(name+" ("+s.key+")", s.value)
		}
	}
}

// config looks at a configuration of a git directory, and at those it includes.
func (p *picture) config(name, git string, r *gitRepository, depth int) {
	text, err := p.text(name, maxGitConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.file(name)
		return
	}
	for _, s := range parseGitConfig(text) {
		if s.key == "core.worktree" {
			r.worktree = p.resolve(s.value, git)
		}
		if harmlessGit[s.key] || s.key == "core.worktree" && staysInside(git, s.value) {
			continue
		}
		p.add(name+" ("+s.key+")", s.value)
		switch {
		case s.key != "include.path" && s.key != "includeif.path":
			r.pointers = append(r.pointers, gitPointer{s, name})
		case depth == maxIncludeDepth:
			p.tooMuch(name, s.value)
		default:
			p.include(p.resolve(s.value, path.Dir(name)), git, r, depth+1)
		}
	}
}

func (p *picture) include(name, git string, r *gitRepository, depth int) {
	if slices.Contains(r.included, name) {
		return
	}
	r.included = append(r.included, name)
	p.file(name)
	p.config(name, git, r, depth)
}

// staysInside reports whether a path that git takes relative to a git directory leads to the workspace.
func staysInside(git, value string) bool {
	return !path.IsAbs(value) && filepath.IsLocal(path.Join(git, value))
}

// follow looks at what the settings of a repository name, as seen from a work tree ("": it has none).
func (p *picture) follow(r *gitRepository, git, tree string) {
	if tree == "" {
		tree = git
	}
	if slices.Contains(r.trees, tree) {
		return
	}
	if len(r.trees) >= maxRepositories {
		p.tooMuch(git, tree)
		return
	}
	r.trees = append(r.trees, tree)
	for _, s := range r.pointers {
		p.pointsTo(s.gitSetting, tree)
	}
}

// pointsTo looks at files in the workspace that a setting names.
func (p *picture) pointsTo(s gitSetting, tree string) {
	if s.key == "core.hookspath" {
		dir := p.resolve(s.value, tree)
		p.hooks(dir)
		if path.Base(dir) == "_" { // husky: what is there runs what is above
			p.hooks(path.Dir(dir))
		}
		return
	}
	words := strings.Fields(s.value)
	if len(words) > maxWords {
		p.tooMuch("what "+s.key+" names", "")
	}
	for _, word := range words[:min(len(words), maxWords)] {
		if word = strings.Trim(word, `"'!;`); strings.Contains(word, "/") {
			p.file(p.resolve(word, tree))
		}
	}
}
