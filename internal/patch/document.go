// This file takes a text file apart into lines that keep their own ends, and puts it together again.

package patch

import (
	"bytes"
	"strings"
)

const bom = "\uFEFF"

// textLine is a line of a file and its end: "\n", "\r\n", or "" for a last line that has none.
type textLine struct{ text, end string }

// document is a text file taken apart.
type document struct {
	bom   bool
	enc   encoding
	exact bool // hunks must quote it as it is
	lines []textLine
	end   string // the line end that most lines have
	final bool   // the last line has an end
	views [levels]view
	work  int // lines compared so far
}

// parseDocument takes data apart. A byte order mark is kept aside unless the patch quotes it.
func parseDocument(path string, data []byte, hunks []Hunk) (*document, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, fail(Unsupported, path, 0, "this is a binary file; change it by a command instead")
	}
	content, enc, ok := decode(data)
	if !ok {
		return nil, fail(Unsupported, path, 0, "this file is neither UTF-8 nor another text that is known; change it by a command instead")
	}
	marked := false
	if !quoteBOM(hunks) {
		content, marked = strings.CutPrefix(content, bom)
	}
	d := &document{bom: marked, enc: enc, lines: splitLines(content), end: "\n", final: true}
	crlf := 0
	for _, line := range d.lines {
		if line.end == "\r\n" {
			crlf++
		}
	}
	if crlf*2 > len(d.lines) || crlf == 1 && len(d.lines) == 2 && d.lines[1].end == "" {
		d.end = "\r\n"
	}
	if n := len(d.lines); n > 0 {
		d.final = d.lines[n-1].end != ""
	}
	return d, nil
}

// quoteBOM says whether hunks expect a line that begins with a byte order mark.
func quoteBOM(hunks []Hunk) bool {
	for _, h := range hunks {
		for _, text := range h.old() {
			if strings.HasPrefix(text, bom) {
				return true
			}
		}
	}
	return false
}

func splitLines(content string) []textLine {
	lines := make([]textLine, 0, strings.Count(content, "\n")+1)
	for content != "" {
		text, rest, found := strings.Cut(content, "\n")
		content = rest
		switch {
		case !found:
			lines = append(lines, textLine{text: text})
		case strings.HasSuffix(text, "\r"):
			lines = append(lines, textLine{text: text[:len(text)-1], end: "\r\n"})
		default:
			lines = append(lines, textLine{text: text, end: "\n"})
		}
	}
	return lines
}

// join puts lines together to a file; final says whether the last of them gets an end.
func (d *document) join(path string, lines []textLine, final bool) ([]byte, error) {
	var out strings.Builder
	if d.bom && len(lines) > 0 && !strings.HasPrefix(lines[0].text, bom) {
		out.WriteString(bom)
	}
	for i, line := range lines {
		out.WriteString(line.text)
		switch last := i == len(lines)-1; {
		case last && !final:
		case line.end == "":
			out.WriteString(d.end)
		default:
			out.WriteString(line.end)
		}
	}
	data, alien := d.enc.encode(out.String())
	if alien != 0 {
		return nil, fail(Unsupported, path, 0, "this file is not UTF-8, and its encoding has no %q; use other characters, or convert the file by a command first", alien)
	}
	return data, nil
}

// level is a degree of tolerance when comparing lines.
type level int

// The levels, each more tolerant than the one before it.
const (
	exact level = iota
	trimmed
	equivalent
	shifted // but for indentation; whether that fits is checked apart
	levels
)

// normal returns the form in which lines are compared at a level.
func (l level) normal(text string) string {
	switch l {
	case exact:
		return text
	case trimmed:
		return trimRight(text)
	case equivalent:
		return trimRight(fold(blurred(text)))
	}
	return strings.TrimSpace(fold(blurred(text)))
}

// trimRight takes off white space at the end.
func trimRight(text string) string { return strings.TrimRight(text, " \t\r\f\v") }

// view is a file as it looks at one level.
type view struct {
	lines []string
	where map[string][]int // the lines that have a text
}

// view returns the file as it looks at a level, computed once.
func (d *document) view(l level) *view {
	v := &d.views[l]
	if v.where != nil {
		return v
	}
	v.lines = make([]string, len(d.lines))
	v.where = make(map[string][]int, len(d.lines))
	for i, line := range d.lines {
		text := l.normal(line.text)
		v.lines[i] = text
		v.where[text] = append(v.where[text], i)
	}
	return v
}
