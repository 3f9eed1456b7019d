package mentions

import (
	"strings"
	"unicode/utf16"

	"sandboxagent/editors"
)

// Bounds of what is shown of the files that one question mentions.
const (
	MaxText  = 32 << 10 // bytes of one file's text; of a longer one the middle is left out
	MaxTexts = 96 << 10 // of all
	MaxNames = 200      // of a directory
)

// Lines returns the lines of a text from first to last, counted from 1, and where they are. Lines beyond its end are the last.
func Lines(text string, first, last int) (string, editors.Range) {
	lines := strings.SplitAfter(text, "\n")
	first, last = min(first, len(lines)), min(max(last, first), len(lines))
	end := len(utf16.Encode([]rune(strings.TrimRight(lines[last-1], "\r\n"))))
	return strings.Join(lines[first-1:last], ""),
		editors.Range{Start: editors.Position{Line: first - 1}, End: editors.Position{Line: last - 1, Character: end}}
}
