// This file does the arithmetic of LSP positions: lines, and UTF-16 code units within a line, against UTF-8 text.

package lsp

import (
	"strings"
	"unicode/utf8"

	"sandboxagent/editors"
)

// offset returns the byte offset of a position in text. A line past the end stands for the end of the text, a character
// past the end of its line for the end of the line (before its line break), and one within a surrogate pair for the
// start of the pair.
func offset(text string, p editors.Position) int {
	start, ok := lineStart(text, p.Line)
	if !ok {
		return len(text)
	}
	units := 0
	for i, r := range text[start:] {
		if r == '\n' || r == '\r' {
			return start + i
		}
		units += units16(r)
		if units > p.Character {
			return start + i
		}
	}
	return len(text)
}

// lineStart returns the offset where a line begins. Lines end with \n, \r\n or \r.
func lineStart(text string, line int) (int, bool) {
	if line <= 0 {
		return 0, line == 0
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		if line--; line == 0 {
			return i + 1, true
		}
	}
	return 0, false
}

// position returns the position of a byte offset, the counterpart of offset.
func position(text string, at int) editors.Position {
	var p editors.Position
	for i, r := range text[:at] {
		switch {
		case r == '\n', r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			p = editors.Position{Line: p.Line + 1}
		default:
			p.Character += units16(r)
		}
	}
	return p
}

// units16 counts the UTF-16 code units of r.
func units16(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// splice replaces a range of text; ends in the wrong order are swapped.
func splice(text string, r editors.Range, replacement string) string {
	from, to := offset(text, r.Start), offset(text, r.End)
	if from > to {
		from, to = to, from
	}
	return text[:from] + replacement + text[to:]
}

// cutText returns at most n bytes of text, ending between characters.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
