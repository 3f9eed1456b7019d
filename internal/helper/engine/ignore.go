// This file reads what git ignores, as far as a search needs it: .gitignore files of the tree and .git/info/exclude.

package engine

import (
	"io"
	"os"
	"path"
	"strings"

	"sandboxagent/internal/gitignore"
)

// ignores holds the rules that are in force in a directory.
type ignores struct{ gitignore.Rules }

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
	b, err := io.ReadAll(io.LimitReader(f, gitignore.MaxFile))
	if err != nil {
		return ig
	}
	return ignores{ig.With(b, dir)}
}
