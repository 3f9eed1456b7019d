// This file writes changes as unified diffs in git's form, for people to read and for Parse to read back.

package patch

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

const contextLines = 3

// Unified returns the unified diff of one file; nil means that it is not there. It is empty when nothing differs.
func Unified(path string, before, after *File) string {
	return Change{Path: path, Before: before, After: after}.Diff()
}

// Diff returns the unified diff of all changes, each move as one.
func Diff(changes []Change) string {
	var out strings.Builder
	sources := map[string]*File{}
	moved := map[string]bool{}
	for _, c := range changes {
		if c.MovedTo != "" {
			sources[c.Path] = c.Before
		}
	}
	for _, c := range changes {
		moved[c.From] = c.From != "" && c.Before == nil && sources[c.From] != nil
	}
	for _, c := range changes {
		switch {
		case c.After == nil && moved[c.Path]:
		case moved[c.From]:
			out.WriteString(diff(c.From, c.Path, sources[c.From], c.After))
		default:
			out.WriteString(c.Diff())
		}
	}
	return out.String()
}

// Diff returns the unified diff of the change to this one path.
func (c Change) Diff() string { return diff(c.Path, c.Path, c.Before, c.After) }

// diff compares two files, which may have different names.
func diff(from, to string, before, after *File) string {
	if from == to && same(before, after) {
		return ""
	}
	a, b := quote("a/"+from), quote("b/"+to)
	var out strings.Builder
	fmt.Fprintf(&out, "diff --git %s %s\n", a, b)
	old, data := content(before), content(after)
	switch {
	case before == nil:
		fmt.Fprintf(&out, "new file mode %s\n", gitFileMode(after.Mode))
		a = devNull
	case after == nil:
		fmt.Fprintf(&out, "deleted file mode %s\n", gitFileMode(before.Mode))
		b = devNull
	case from != to:
		fmt.Fprintf(&out, "rename from %s\nrename to %s\n", quote(from), quote(to))
	}
	switch {
	case bytes.Equal(old, data):
	case isBinary(old) || isBinary(data):
		fmt.Fprintf(&out, "Binary files %s and %s differ\n", a, b)
	default:
		fmt.Fprintf(&out, "--- %s\n+++ %s\n", a, b)
		writeHunks(&out, diffLines(shown(old)), diffLines(shown(data)))
	}
	return out.String()
}

func content(f *File) []byte {
	if f == nil {
		return nil
	}
	return f.Data
}

func gitFileMode(mode fs.FileMode) string {
	if mode&0o111 != 0 {
		return "100755"
	}
	return "100644"
}

// shown is a file's content as people read it, and as a patch quotes it.
func shown(data []byte) []byte {
	if text, enc, _ := decode(data); enc == eightBit {
		return []byte(text)
	}
	return data
}

func isBinary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 }

// quote quotes a path as git does if it has characters that would end or spoil a header line.
func quote(name string) string {
	if strings.Trim(name, " ") != name || strings.ContainsAny(name, "\"\\") || strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0xfffd
	}) {
		return strconv.Quote(name)
	}
	return name
}

// diffLines splits data into lines that keep their ends.
func diffLines(data []byte) []string {
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// writeHunks writes the differences of two files, joining those that share context lines.
func writeHunks(out *strings.Builder, a, b []string) {
	all := CompareLines(a, b)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Start-all[n-1].End <= 2*contextLines {
			n++
		}
		writeHunk(out, a, b, all[:n])
		all = all[n:]
	}
}

// writeHunk writes differences as one hunk.
func writeHunk(out *strings.Builder, a, b []string, diffs []lcs.Diff) {
	first, last := diffs[0], diffs[len(diffs)-1]
	lead := min(contextLines, first.Start)
	start, end := first.Start-lead, min(last.End+contextLines, len(a))
	newStart, newEnd := first.ReplStart-lead, last.ReplEnd+end-last.End
	fmt.Fprintf(out, "@@ -%s +%s @@\n", position(start, end), position(newStart, newEnd))
	at := start
	for _, d := range diffs {
		writeLines(out, Context, a[at:d.Start])
		writeLines(out, Remove, a[d.Start:d.End])
		writeLines(out, Insert, b[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	writeLines(out, Context, a[at:end])
}

// position is a range of lines as hunks name it: an empty one by the line before it.
func position(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return strconv.Itoa(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

func writeLines(out *strings.Builder, op Op, lines []string) {
	for _, line := range lines {
		out.WriteByte(byte(op))
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
