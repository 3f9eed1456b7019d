// This file reads what git ignores, as far as a search needs it: .gitignore files of the tree and .git/info/exclude.

package engine

import (
	"io"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const maxIgnoreFile = 1 << 20 // bytes

// ignoreRule is one line of a .gitignore, its pattern relative to the workspace.
type ignoreRule struct {
	pattern string
	negated bool
	dirOnly bool
}

// ignores holds the rules that are in force in a directory, the strongest last.
type ignores []ignoreRule

// with returns the rules in force below dir, whose own .gitignore is read.
func (ig ignores) with(root *os.Root, dir string) ignores {
	return ig.read(root, path.Join(dir, ".gitignore"), dir)
}

// above returns the rules that the directories above rel put in force.
func (ig ignores) above(root *os.Root, rel string) ignores {
	dir := "."
	for part := range strings.SplitSeq(rel, "/") {
		ig = ig.with(root, dir)
		dir = path.Join(dir, part)
	}
	return ig
}

func (ig ignores) read(root *os.Root, file, dir string) ignores {
	f, _, err := openRegular(root, opSearch, file)
	if err != nil {
		return ig
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return ig
	}
	out := ig[:len(ig):len(ig)]
	for line := range strings.Lines(string(b)) {
		if rule, ok := parseIgnore(strings.TrimRight(line, "\r\n"), dir); ok {
			out = append(out, rule)
		}
	}
	return out
}

func parseIgnore(line, dir string) (ignoreRule, bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	var r ignoreRule
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, strings.TrimRight(line, "/")
	}
	if line == "" {
		return ignoreRule{}, false
	}
	line = strings.ReplaceAll(strings.ReplaceAll(line, "{", `\{`), "}", `\}`) // git has no alternatives
	if anchored := strings.Contains(line, "/"); anchored {
		line = strings.TrimPrefix(line, "/")
	} else {
		line = "**/" + line
	}
	if dir != "." {
		line = escapeGlob(dir) + "/" + line
	}
	r.pattern = line
	return r, doublestar.ValidatePattern(line)
}

// escapeGlob quotes what a pattern would take as special.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(s)
}

// match reports whether git would ignore the entry, given that it does not ignore what is above it.
func (ig ignores) match(p string, dir bool) bool {
	for i := len(ig) - 1; i >= 0; i-- {
		if ig[i].dirOnly && !dir {
			continue
		}
		if ok, err := doublestar.Match(ig[i].pattern, p); err == nil && ok {
			return !ig[i].negated
		}
	}
	return false
}
