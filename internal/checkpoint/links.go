// This file plans hard links, and refuses names that the target does not tell apart.

package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// linkGroups makes steps whose file has hard links in theirs links of one of them: of the first that is either as it shall
// be or becomes so.
func (p *planner) linkGroups() error {
	changes := make(map[string]int, len(p.steps))
	for i := range p.steps {
		changes[p.steps[i].Path] = i
	}
	type link struct {
		path string
		as   *tree.Entry
	}
	first := map[uint64]link{}
	err := p.s.walk(p.ctx, p.theirs.Root, "", func(path string, e *tree.Entry) error {
		if e.Group == 0 {
			return nil
		}
		i, changed := changes[path]
		as := e
		switch {
		case changed:
			as = p.steps[i].After
		case p.differs(path, e):
			return nil // stays as it is
		}
		if group(as) != e.Group {
			return nil
		}
		to, ok := first[e.Group]
		switch {
		case !ok:
			first[e.Group] = link{path, as}
		case changed && as.Same(to.as):
			p.steps[i].Link = to.path
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.splitLinks(changes); err != nil {
		return err
	}
	p.dropLoneLinks()
	return nil
}

// splitLinks sees to it that files which are one in ours and shall be several become so: the one it is stays with those that
// do not change, or else with the first, and the others are made anew. changes are the steps by path.
func (p *planner) splitLinks(changes map[string]int) error {
	heirs := map[uint64]uint64{} // by group of ours: the one that the file itself goes on as
	err := p.s.walk(p.ctx, p.ours.Root, "", func(path string, e *tree.Entry) error {
		if e.Group == 0 {
			return nil
		}
		if i, changed := changes[path]; !changed || group(p.steps[i].After) == e.Group {
			heirs[e.Group] = e.Group
		}
		return nil
	})
	for i := range p.steps {
		s := &p.steps[i]
		was, becomes := group(s.Before), group(s.After)
		if was == 0 || becomes == 0 || s.Link != "" || s.NeedsContent() {
			continue // it leaves in any case
		}
		if heir, taken := heirs[was]; !taken {
			heirs[was] = becomes
		} else if heir != becomes {
			s.After = inGroup(s.After, 0)
		}
	}
	return err
}

// dropLoneLinks takes out the steps that would only make a file a link of others, none of which comes: it stays as it is.
func (p *planner) dropLoneLinks() {
	linked := map[string]bool{}
	for i := range p.steps {
		linked[p.steps[i].Link] = true
	}
	p.steps = slices.DeleteFunc(p.steps, func(s worktree.Step) bool {
		return s.Link == "" && !linked[s.Path] && s.Before.Same(s.After) && group(s.After) != 0
	})
}

// differs tells whether ours is not as theirs at a path of theirs that does not change.
func (p *planner) differs(path string, theirs *tree.Entry) bool {
	_, changed := p.was[path]
	_, mine := p.mine[path]
	if !changed && !mine {
		return false
	}
	o := p.oursAt(path)
	return !o.Same(theirs) || o.Group != theirs.Group
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
