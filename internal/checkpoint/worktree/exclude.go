// This file decides what the user wants to be left out.

package worktree

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"sandboxagent/internal/sandbox"
)

const maxExcludes = 1000

type excluder struct {
	names, paths []string
	own          string // path of the state directory below the root
}

func newExcluder(patterns []string, own string) (*excluder, error) {
	x := &excluder{own: own}
	if len(patterns) > maxExcludes {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opScan, "at most %d exclude patterns are allowed", maxExcludes)
	}
	for _, p := range patterns {
		p = strings.TrimSuffix(p, "/")
		if p == "" || !doublestar.ValidatePattern(p) {
			return nil, sandbox.Errorf(sandbox.ClassInvalid, opScan, "the exclude pattern %q is malformed", p)
		}
		if strings.Contains(p, "/") {
			x.paths = append(x.paths, strings.TrimPrefix(p, "/"))
		} else {
			x.names = append(x.names, p)
		}
	}
	return x, nil
}

func (x *excluder) match(path, name string) bool {
	for _, p := range x.names {
		if ok, err := doublestar.Match(p, name); ok && err == nil {
			return true
		}
	}
	for _, p := range x.paths {
		if ok, err := doublestar.Match(p, path); ok && err == nil {
			return true
		}
	}
	return false
}
