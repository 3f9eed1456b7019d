// This file searches what the user has typed in an editor and not saved, in place of the files on disk.

package tools

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"sandboxagent/internal/sandbox"
)

// Search implements sandbox.Sandbox.
func (o *overlaid) Search(ctx context.Context, q sandbox.Query) (sandbox.SearchResult, error) {
	base := path.Clean(q.Path)
	found, err := o.Sandbox.Search(ctx, q)
	only := sandbox.ClassOf(err) == sandbox.ClassNotFound // in the editor, perhaps
	if err != nil && !only {
		return found, err
	}
	var mine []sandbox.Match
	known := false
	for _, name := range o.paths() {
		s, failed := o.shown(ctx, name)
		if failed != nil {
			return found, failed
		}
		if s == nil || !within(base, name) {
			continue
		}
		known = known || name == base
		found.Matches = slices.DeleteFunc(found.Matches, func(m sandbox.Match) bool { return m.Path == name })
		mine = append(mine, matches(q, base, name, s.data)...)
	}
	if only && !known {
		return found, err
	}
	found.Matches = append(found.Matches, mine...)
	slices.SortStableFunc(found.Matches, func(a, b sandbox.Match) int {
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
	if q.Limit > 0 && len(found.Matches) > q.Limit {
		found.Matches, found.Truncated = found.Matches[:q.Limit], true
	}
	return found, nil
}

// within says whether a path is a directory's or is the one given.
func within(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// matches finds what a query asks for in one text. That the query is well-formed the sandbox has found.
func matches(q sandbox.Query, base, name string, data []byte) []sandbox.Match {
	relative := strings.TrimPrefix(name, base+"/")
	if name == base {
		relative = path.Base(name)
	}
	if ok, err := doublestar.Match(q.Glob, relative); q.Glob != "" && (err != nil || !ok) {
		return nil
	}
	if q.Pattern == "" {
		return []sandbox.Match{{Path: name}}
	}
	pattern := q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	var all []sandbox.Match
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimRight(line, "\r\n"); re.MatchString(line) && (q.Limit <= 0 || len(all) < q.Limit) {
			all = append(all, sandbox.Match{Path: name, Line: n, Text: Head(line, 500)})
		}
	}
	return all
}
