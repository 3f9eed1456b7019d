// This file reads the headers of unified and git diffs.

package patch

import (
	"io/fs"
	"strconv"
	"strings"
)

const devNull = "/dev/null"

// isUnifiedHeader says whether a pair "--- old", "+++ new" begins here. Within hunks such lines may also be a removed and an
// added line: there a position must follow.
func (p *parser) isUnifiedHeader() bool {
	if !strings.HasPrefix(p.peek(p.at), "--- ") || !strings.HasPrefix(p.peek(p.at+1), "+++ ") {
		return false
	}
	if p.file == nil || len(p.file.Hunks) == 0 {
		return true
	}
	return p.file.unified && strings.HasPrefix(p.peek(p.at+2), "@@ -")
}

// unifiedHeader reads that pair.
func (p *parser) unifiedHeader() error {
	before, after := headerPath(p.peek(p.at)), headerPath(p.peek(p.at+1))
	p.at += 2
	if f := p.file; f != nil && !f.unified {
		return nil // it repeats what the envelope said
	}
	before, after = stripPrefixes(before, after)
	if f := p.file; f != nil && f.header {
		return p.endGitHeader(before, after)
	}
	s := section{unified: true, FilePatch: FilePatch{Kind: Update, Path: before}}
	switch {
	case before == devNull:
		s.Kind, s.Path = Add, after
	case after == devNull:
		s.Kind = Delete
	case after != before:
		s.MoveTo = after
	}
	return p.open(s)
}

// endGitHeader completes what the extended header said by the paths of the pair.
func (p *parser) endGitHeader(before, after string) error {
	f := p.file
	f.header = false
	switch {
	case before == devNull:
		f.Kind, f.Path = Add, after
	case after == devNull:
		f.Kind, f.Path = Delete, before
	case f.MoveTo == "" && before == after:
		f.Path = before
	case f.MoveTo == "":
		f.Path, f.MoveTo = before, after
	}
	return nil
}

// headerPath returns the path of a "--- " or "+++ " line, without a time stamp.
func headerPath(line string) string {
	name, _, _ := strings.Cut(line[len("--- "):], "\t")
	name = strings.TrimRight(name, " ")
	if strings.HasPrefix(name, `"`) {
		return unquote(name)
	}
	return name
}

// stripPrefixes takes off git's a/ and b/, if both paths have them.
func stripPrefixes(before, after string) (string, string) {
	b, hasB := strings.CutPrefix(before, "a/")
	a, hasA := strings.CutPrefix(after, "b/")
	if (hasB || before == devNull) && (hasA || after == devNull) {
		return b, a
	}
	return before, after
}

// unquote undoes git's and Go's quoting of paths.
func unquote(name string) string {
	if name[0] == '"' {
		if plain, err := strconv.Unquote(name); err == nil {
			return plain
		}
	}
	return strings.Trim(name, "`'\"")
}

// gitHeader reads "diff --git a/PATH b/PATH". The lines that follow say what it means.
func (p *parser) gitHeader(line string) error {
	p.at++
	return p.open(section{
		unified: true, header: true,
		FilePatch: FilePatch{Kind: Update, Path: samePath(strings.TrimPrefix(line, "diff --git "))},
	})
}

// samePath returns PATH from "a/PATH b/PATH", or "" when the two differ: then other lines of the header name them.
func samePath(pair string) string {
	half := len(pair) / 2
	if len(pair)%2 == 0 || pair[half] != ' ' {
		return ""
	}
	before, after := pair[:half], pair[half+1:]
	if strings.HasPrefix(before, `"`) {
		before, after = unquote(before), unquote(after)
	}
	before, after = stripPrefixes(before, after)
	if before != after {
		return ""
	}
	return before
}

// extendedHeader reads a line between "diff --git" and the first hunk.
func (p *parser) extendedHeader(line string) error {
	f := p.file
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "rename from "):
		f.Path = gitPath(strings.TrimPrefix(line, "rename from "))
	case strings.HasPrefix(line, "rename to "):
		f.MoveTo = gitPath(strings.TrimPrefix(line, "rename to "))
	case strings.HasPrefix(line, "new file mode "):
		f.Kind, f.Mode = Add, gitMode(line)
	case strings.HasPrefix(line, "deleted file mode "):
		f.Kind = Delete
	case word == "copy":
		return fail(Unsupported, f.Path, p.at+1, "line %d of the patch copies a file; add it with its content instead", p.at+1)
	case word == "Binary", word == "GIT":
		return fail(Unsupported, f.Path, p.at+1, "line %d of the patch changes a binary file; write it by a command instead", p.at+1)
	case line == "", word == "index", word == "similarity", word == "dissimilarity":
	case word == "old" && strings.HasPrefix(rest, "mode "), word == "new" && strings.HasPrefix(rest, "mode "):
		return fail(Unsupported, f.Path, p.at+1, "line %d of the patch changes a file's mode; use chmod instead", p.at+1)
	default: // no more header
		f.header = false
		return nil
	}
	p.at++
	return nil
}

func gitPath(name string) string {
	if strings.HasPrefix(name, `"`) {
		return unquote(name)
	}
	return name
}

// gitMode returns the permission bits of a git file mode; 0 when it is not understood.
func gitMode(line string) fs.FileMode {
	mode, err := strconv.ParseUint(line[strings.LastIndexByte(line, ' ')+1:], 8, 32)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode).Perm()
}
