// This file applies the rules to a tree.

package carry

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/gitignore"
)

// Tree is where a tree is read from; checkpoint.Store is one.
type Tree interface {
	// ReadDir reads a directory.
	ReadDir(h tree.Hash) ([]tree.Entry, error)
	// ReadFile reads the beginning of a file, at most n bytes.
	ReadFile(e *tree.Entry, n int) ([]byte, error)
}

const (
	reasonExcluded = "you exclude it"
	reasonIgnored  = "git ignores it"

	maxIndex  = 64 << 20 // bytes of git's list of tracked files
	maxConfig = 1 << 20  // bytes of git's settings

	maxGitFile = 4 << 10 // bytes of a .git that is a file
)

// Apply finds out what of a tree does not travel.
func (r Rules) Apply(ctx context.Context, from Tree, root tree.Hash) (*Set, error) {
	w := &selection{Rules: r, ctx: ctx, from: from, root: tree.Entry{Kind: tree.Dir, Hash: root}, set: &Set{reasons: map[string]string{}}}
	if len(r.Exclude) > 0 || r.Leaves {
		if _, err := w.dir(root, place{}); err != nil {
			return nil, fmt.Errorf("choose what travels: %w", err)
		}
	}
	slices.SortFunc(w.set.Left, func(a, b checkpoint.Left) int { return strings.Compare(a.Path, b.Path) })
	for _, l := range w.set.Left {
		w.set.reasons[l.Path] = l.Reason
	}
	return w.set, nil
}

// selection goes through one tree.
type selection struct {
	Rules
	ctx  context.Context
	from Tree
	root tree.Entry
	set  *Set
}

// place is a directory and what holds in it.
type place struct {
	prefix   string // path with "/", "" for the root
	git      bool   // it is git's own
	included bool   // the user includes it
	ignored  bool   // git ignores it
	rules    gitignore.Rules
	tracked  map[string]bool // paths that git tracks
}

// dir chooses below a directory and returns how much of it travels, directories counted.
func (w *selection) dir(h tree.Hash, p place) (travels int, err error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	entries, err := w.from.ReadDir(h)
	if err != nil {
		return 0, err
	}
	if w.Leaves && !p.git {
		if err := w.enter(&p, entries); err != nil {
			return 0, err
		}
	}
	for i := range entries {
		n, err := w.entry(&entries[i], p)
		if err != nil {
			return 0, err
		}
		travels += n
	}
	return travels, nil
}

func (w *selection) leave(name, reason string) {
	w.set.Left = append(w.set.Left, checkpoint.Left{Path: name, Reason: reason})
}

// entry chooses one entry and what is below it.
func (w *selection) entry(e *tree.Entry, p place) (travels int, err error) {
	name := p.prefix + e.Name
	if patterns(w.Exclude).match(name, e.Name) {
		w.leave(name, reasonExcluded)
		return 0, nil
	}
	p.included = p.included || patterns(w.Include).match(name, e.Name)
	if e.Kind == tree.Dir {
		return w.subdir(e, name, p)
	}
	if !w.Leaves || p.included {
		return 1, nil
	}
	reason, err := w.reason(e, name, p)
	if err != nil {
		return 0, err
	}
	if reason != "" {
		w.leave(name, reason)
		return 0, nil
	}
	return 1, nil
}

// subdir chooses below a directory. One that git ignores goes as a whole when nothing in it travels.
func (w *selection) subdir(e *tree.Entry, name string, p place) (int, error) {
	p.git = p.git || repo.Is(e.Name)
	p.ignored = p.ignored || !p.git && p.rules.Match(name, true)
	p.prefix = name + "/"
	ignored := w.Leaves && p.ignored && !p.included
	before := len(w.set.Left)
	travels, err := w.dir(e.Hash, p)
	if err != nil {
		return 0, err
	}
	if ignored && travels == 0 {
		w.set.Left = w.set.Left[:before]
		w.leave(name, reasonIgnored)
		return 0, nil
	}
	return travels + 1, nil
}

// reason returns why a file or link does not leave the machine, "" when it may.
func (w *selection) reason(e *tree.Entry, name string, p place) (string, error) {
	switch {
	case p.git && p.ignored: // of another repository, all of which this one ignores
		return reasonIgnored, nil
	case p.git:
		return w.gitReason(e)
	}
	if reason := secretName(e.Name); reason != "" && e.Kind == tree.File {
		return reason, nil
	}
	if reason := secretPath(name); reason != "" {
		return reason, nil
	}
	if !p.tracked[name] && (p.ignored || p.rules.Match(name, false)) {
		return reasonIgnored, nil
	}
	if e.Kind != tree.File || e.Size > maxKey {
		return "", nil
	}
	first, err := w.from.ReadFile(e, firstBytes)
	return secretContent(first), err
}

// gitReason looks for passwords in a repository's settings; everything else of it travels.
func (w *selection) gitReason(e *tree.Entry) (string, error) {
	if e.Kind != tree.File || e.Name != "config" && e.Name != "config.worktree" {
		return "", nil
	}
	if e.Size > maxConfig {
		return reasonPassword, nil // nobody can tell
	}
	text, err := w.from.ReadFile(e, maxConfig)
	return secretGitConfig(text), err
}

// enter brings the rules in force up to those of a directory. Those of a repository end where another one begins.
func (w *selection) enter(p *place, entries []tree.Entry) error {
	if git := find(entries, ".git"); git != nil {
		p.rules, p.tracked = nil, nil
		if p.ignored {
			return nil
		}
		if err := w.repository(p, git); err != nil {
			return err
		}
	}
	ignore := find(entries, ".gitignore")
	if ignore == nil || ignore.Kind != tree.File {
		return nil
	}
	text, err := w.from.ReadFile(ignore, gitignore.MaxFile)
	p.rules = p.rules.With(text, strings.TrimSuffix(p.prefix, "/"))
	return err
}

// repository reads what a repository ignores by itself, and what it tracks.
func (w *selection) repository(p *place, git *tree.Entry) error {
	dir, err := w.gitDir(p, git)
	if err != nil {
		return err
	}
	text, err := w.read(path.Join(dir, "info/exclude"), gitignore.MaxFile)
	if err != nil {
		return err
	}
	p.rules = p.rules.With(text, strings.TrimSuffix(p.prefix, "/"))
	index, err := w.read(path.Join(dir, "index"), maxIndex)
	if err != nil || len(index) == 0 {
		return err
	}
	tracked, ok := repo.Tracked(index)
	if !ok {
		w.set.Notes = append(w.set.Notes, "Files that git ignores stay behind even if it tracks some of them, which cannot be read from "+dir+"/index.")
		return nil
	}
	p.tracked = make(map[string]bool, len(tracked))
	for _, file := range tracked {
		p.tracked[p.prefix+file] = true
	}
	return nil
}

// gitDir returns the path of a repository's directory. That of a submodule is where its .git file says, as far as that is
// in the same tree.
func (w *selection) gitDir(p *place, git *tree.Entry) (string, error) {
	if git.Kind != tree.File {
		return p.prefix + git.Name, nil
	}
	text, err := w.from.ReadFile(git, maxGitFile)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok || path.IsAbs(target) {
		return p.prefix + git.Name, err
	}
	return path.Join(p.prefix, target), nil
}

// read returns the beginning of the file at a path, nil when there is none.
func (w *selection) read(file string, n int) ([]byte, error) {
	e := &w.root
	for name := range strings.SplitSeq(file, "/") {
		if e.Kind != tree.Dir {
			return nil, nil
		}
		entries, err := w.from.ReadDir(e.Hash)
		if err != nil {
			return nil, err
		}
		if e = find(entries, name); e == nil {
			return nil, nil
		}
	}
	if e.Kind != tree.File {
		return nil, nil
	}
	return w.from.ReadFile(e, n)
}

func find(entries []tree.Entry, name string) *tree.Entry {
	at, ok := slices.BinarySearchFunc(entries, name, func(e tree.Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return nil
	}
	return &entries[at]
}
