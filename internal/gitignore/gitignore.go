// Package gitignore tells which files git ignores, by the lines of .gitignore files and of .git/info/exclude. It reads no
// files: who walks a tree gives it what stands in them.
package gitignore

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxFile bounds a file of rules, in bytes; more of it need not be read.
const MaxFile = 1 << 20

// Rules are those in force in a directory, the strongest last. nil has none.
type Rules []rule

// rule is one line, its pattern relative to the root of the tree.
type rule struct {
	pattern string
	negated bool
	dirOnly bool
}

// With returns the rules in force below dir, which holds the given ignore file. dir is relative to the root, "." or ""
// for the root itself.
func (r Rules) With(text []byte, dir string) Rules {
	out := r[:len(r):len(r)]
	for line := range strings.Lines(string(text)) {
		if rule, ok := parse(strings.TrimRight(line, "\r\n"), dir); ok {
			out = append(out, rule)
		}
	}
	return out
}

func parse(line, dir string) (rule, bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, strings.TrimRight(line, "/")
	}
	if line == "" {
		return rule{}, false
	}
	line = strings.ReplaceAll(strings.ReplaceAll(line, "{", `\{`), "}", `\}`) // git has no alternatives
	if anchored := strings.Contains(line, "/"); anchored {
		line = strings.TrimPrefix(line, "/")
	} else {
		line = "**/" + line
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in the directory, not itself
	}
	if dir != "." && dir != "" {
		line = escape(dir) + "/" + line
	}
	r.pattern = line
	return r, doublestar.ValidatePattern(line)
}

// escape quotes what a pattern would take as special.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(s)
}

// Match tells whether git ignores a path, relative to the root, given that it does not ignore what is above it.
func (r Rules) Match(path string, dir bool) bool {
	for i := len(r) - 1; i >= 0; i-- {
		if r[i].dirOnly && !dir {
			continue
		}
		if ok, err := doublestar.Match(r[i].pattern, path); err == nil && ok {
			return !r[i].negated
		}
	}
	return false
}
