// This file decides what a restore changes and what it leaves alone.

package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// planner turns the differences from what is there now to a target into steps.
type planner struct {
	ctx         context.Context
	s           *Store
	now, target Info
	fresh       bool // onto nothing, where git's own files can only be whole
	opts        RestoreOptions
	seen        map[string]difference // by path: what changed since LastSeen
	steps       []worktree.Step
	kept        []worktree.Kept
}

func (p *planner) plan() error {
	if err := p.look(); err != nil {
		return err
	}
	all, err := p.s.differences(p.ctx, p.now.Root, p.target.Root)
	if err != nil {
		return err
	}
	grouped := false
	for _, d := range all {
		if !selected(p.opts.Paths, d.path) || p.leave(d) {
			continue
		}
		p.steps = append(p.steps, worktree.Step{Path: d.path, Before: d.before, After: d.after})
		grouped = grouped || (d.after != nil && d.after.Group != 0)
	}
	if len(p.steps) > worktree.MaxSteps {
		return sandbox.Errorf(sandbox.ClassLimit, opRestore, "more than %d paths would change", worktree.MaxSteps)
	}
	if grouped {
		if err := p.s.linkGroups(p.ctx, p.target.Root, p.steps, all); err != nil {
			return err
		}
	}
	worktree.Sort(p.steps)
	return nil
}

// look finds out what changed since LastSeen.
func (p *planner) look() error {
	if p.opts.LastSeen == "" {
		return nil
	}
	root, err := p.s.root(p.opts.LastSeen)
	if err != nil {
		return err
	}
	p.seen = map[string]difference{}
	return p.s.compare(p.ctx, root, p.now.Root, func(d difference) error {
		p.seen[d.path] = d
		return nil
	})
}

// leave tells whether a path stays as it is, and keeps why.
func (p *planner) leave(d difference) bool {
	if git, ok := inRepository(d.path); ok && !p.fresh {
		if len(p.kept) == 0 || p.kept[len(p.kept)-1].Path != git {
			p.kept = append(p.kept, worktree.Kept{Path: git, Reason: "git's own state is left alone; use git to go back in it"})
		}
		return true
	}
	for _, notes := range [][]tree.Note{p.now.Notes, p.target.Notes} {
		if n := covering(notes, d.path); n != nil {
			p.kept = append(p.kept, worktree.Kept{Path: d.path, Reason: "it is not part of the checkpoint: " + n.Reason.String()})
			return true
		}
	}
	changed, ok := p.seen[d.path]
	if !ok {
		return false
	}
	if changed.before.Same(d.after) {
		p.kept = append(p.kept, worktree.Kept{Path: d.path, Reason: "you changed it since"})
	} else {
		p.kept = append(p.kept, worktree.Kept{Path: d.path, Reason: "you changed it since, and so does the restore", Conflict: true})
	}
	return true
}

// inRepository tells whether a path is git's own, and in which repository's. Its files refer to each other, so that putting
// some of them back could break what the user has committed since.
func inRepository(path string) (git string, ok bool) {
	for at := 0; ; {
		name, rest, more := strings.Cut(path[at:], "/")
		end := at + len(name)
		if name == ".git" {
			return path[:end], true
		}
		if !more {
			return "", false
		}
		at = len(path) - len(rest)
	}
}

// covering returns the note of a path that is not in a picture, or of a directory above it.
func covering(notes []tree.Note, path string) *tree.Note {
	if len(notes) == 0 {
		return nil
	}
	for p := path; ; {
		at, ok := slices.BinarySearchFunc(notes, p, func(n tree.Note, p string) int { return strings.Compare(n.Path, p) })
		if ok && notes[at].Reason.Left() {
			return &notes[at]
		}
		cut := strings.LastIndexByte(p, '/')
		if cut < 0 {
			return nil
		}
		p = p[:cut]
	}
}

// linkGroups makes steps whose file has hard links in the target links of one of them: of the first that is either as it
// shall be or becomes so.
func (s *Store) linkGroups(ctx context.Context, root tree.Hash, steps []worktree.Step, all []difference) error {
	differs := make(map[string]bool, len(all))
	for _, d := range all {
		differs[d.path] = true
	}
	changes := make(map[string]int, len(steps))
	for i := range steps {
		changes[steps[i].Path] = i
	}
	first := map[uint64]string{}
	return s.walk(ctx, root, "", func(path string, e *tree.Entry) error {
		if e.Group == 0 {
			return nil
		}
		i, changed := changes[path]
		if differs[path] && !changed {
			return nil // stays as it is
		}
		to, ok := first[e.Group]
		switch {
		case !ok:
			first[e.Group] = path
		case changed:
			steps[i].Link = to
		}
		return nil
	})
}

// checkNames refuses a tree with names that the file system of the target does not tell apart.
func (s *Store) checkNames(ctx context.Context, root tree.Hash, b worktree.Begun) error {
	if !b.FoldsCase && !b.FoldsForm {
		return nil
	}
	fold := cases.Fold()
	seen := map[string]string{}
	err := s.walk(ctx, root, "", func(path string, _ *tree.Entry) error {
		key := path
		if b.FoldsForm {
			key = norm.NFC.String(key)
		}
		if b.FoldsCase {
			key = fold.String(key)
		}
		if other, ok := seen[key]; ok {
			return &sandbox.Error{
				Class: sandbox.ClassConflict, Op: opRestore, Path: path,
				Message: fmt.Sprintf("the file system of the target does not tell it from %q", other),
			}
		}
		seen[key] = path
		return nil
	})
	return classed(opRestore, err)
}
