// This file knows repositories that are not called ".git".

package repo

import (
	"slices"
	"strings"
)

// Bare tells whether git takes a directory with these names in it for a repository's, whatever it is called.
func Bare(names []string) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// Telling tells whether a name in a directory can make it one that git takes for a repository's, or be obeyed there.
func Telling(name string) bool {
	return Obeyed(name) || slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(n string) bool { return strings.EqualFold(n, name) })
}

// Obeyed tells whether a name in such a directory is what makes git run something, or look elsewhere.
func Obeyed(name string) bool {
	switch strings.ToLower(name) {
	case "config", "config.worktree", "hooks", "commondir":
		return true
	}
	return false
}
