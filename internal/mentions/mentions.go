// Package mentions finds what the text of a question mentions of the workspace and the editor: files as @path, @path:12,
// @path:3-10, @path#L3-L10 or @"a path", and what the editor has, as @selection and @diagnostics. It is pure, and the only
// place that knows how a mention is written.
package mentions

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is how many different mentions of a text count; the rest is only text.
const Max = 32

const maxPath = 1024 // bytes of a path

// Kind says what is mentioned.
type Kind string

// What can be mentioned.
const (
	File        Kind = "file" // or a directory
	Selection   Kind = "selection"
	Diagnostics Kind = "diagnostics"
)

// Mention is something of the workspace or the editor that a text names.
type Mention struct {
	Kind        Kind
	Path        string // of a file, as it is written
	First, Last int    // its lines, from 1; 0: all of it
}

// Find returns what a text mentions, each thing once, in order. known tells whether there is a file or directory of a name as
// it is written; what is not known is no mention, so that decorators and names of people stay what they are. Code, between
// backticks, mentions nothing.
func Find(text string, known func(path string) bool) []Mention {
	var found []Mention
	seen := map[Mention]bool{}
	for _, span := range outsideCode(text) {
		for at := range starts(span) {
			m, ok := read(span[at:], known)
			if ok && !seen[m] && len(found) < Max {
				seen[m] = true
				found = append(found, m)
			}
		}
	}
	return found
}

// starts yields where, behind an @, a mention may begin: what stands before the @ is no part of a word or an address.
func starts(text string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		before := ' '
		for at, r := range text {
			if r == '@' && (unicode.IsSpace(before) || strings.ContainsRune(`([{<"',;`, before)) && !yield(at+1) {
				return
			}
			before = r
		}
	}
}

// read reads the mention at the beginning of a text, behind its @.
func read(text string, known func(string) bool) (Mention, bool) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		name, rest, closed := strings.Cut(quoted, `"`)
		if !closed || strings.Contains(name, "\n") || !fits(name) || !known(name) {
			return Mention{}, false
		}
		m := Mention{Kind: File, Path: name}
		if _, first, last, ok := cutLines("x" + word(rest)); ok {
			m.First, m.Last = first, last
		}
		return m, true
	}
	for candidate := word(text); candidate != ""; candidate = shorter(candidate) {
		if m, ok := resolve(candidate, known); ok {
			return m, true
		}
	}
	return Mention{}, false
}

// resolve takes a whole word as a mention.
func resolve(word string, known func(string) bool) (Mention, bool) {
	switch Kind(word) {
	case Selection, Diagnostics:
		return Mention{Kind: Kind(word)}, true
	}
	if fits(word) && known(word) {
		return Mention{Kind: File, Path: word}, true
	}
	if name, first, last, ok := cutLines(word); ok && fits(name) && known(name) {
		return Mention{Kind: File, Path: name, First: first, Last: last}, true
	}
	return Mention{}, false
}

func fits(name string) bool { return name != "" && len(name) <= maxPath }

// word returns what stands before the next space.
func word(text string) string {
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		text = text[:end]
	}
	return text[:min(len(text), maxPath+32)]
}

// shorter leaves out the punctuation, or the last part of it, with which a word ends in a sentence; "" when there is none.
func shorter(word string) string {
	last, n := utf8.DecodeLastRuneInString(word)
	if !unicode.IsPunct(last) && last != '>' {
		return ""
	}
	return word[:len(word)-n]
}

var lines = regexp.MustCompile(`^(.+?)(?::(\d{1,7})(?:-(\d{1,7}))?|#L(\d{1,7})(?:-L?(\d{1,7}))?)[[:punct:]]*$`)

// cutLines parts a word into a path and the lines behind it.
func cutLines(word string) (name string, first, last int, ok bool) {
	m := lines.FindStringSubmatch(word)
	if m == nil {
		return "", 0, 0, false
	}
	first, _ = strconv.Atoi(m[2] + m[4]) // digits only, and few
	last, _ = strconv.Atoi(m[3] + m[5])
	if last < first {
		last = first
	}
	return m[1], first, last, first > 0
}

// outsideCode returns the parts of a Markdown text that are no code.
func outsideCode(text string) []string {
	var parts []string
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " \t>")
		marks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case fence != "":
			if strings.HasPrefix(marks, fence) && strings.TrimSpace(bare[len(marks):]) == "" {
				fence = ""
			}
		case len(marks) >= 3 && !strings.Contains(bare[len(marks):], "`"):
			fence = marks
		default:
			parts = append(parts, withoutSpans(line)...)
		}
	}
	return parts
}

// withoutSpans returns the parts of a line outside of `code`. A span ends with as many backticks as it begins with; without
// such an end there is none.
func withoutSpans(line string) []string {
	var parts []string
	from := 0 // where the part that is being read begins
	for at := 0; ; {
		open := strings.IndexByte(line[at:], '`')
		if open < 0 {
			return append(parts, line[from:])
		}
		open += at
		n := ticks(line[open:])
		at = open + n
		for end := at; end < len(line); {
			next := strings.IndexByte(line[end:], '`')
			if next < 0 {
				break
			}
			end += next
			m := ticks(line[end:])
			end += m
			if m == n {
				parts = append(parts, line[from:open])
				from, at = end, end
				break
			}
		}
	}
}

// ticks counts the backticks at the beginning of a text.
func ticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }
