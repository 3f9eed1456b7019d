// This file matches lines whose indentation differs from the file's in one consistent way, and re-indents what is inserted.

package patch

import "strings"

const tabWidth = 4

// tabWidths are the widths of a tab that are tried, likeliest first.
var tabWidths = []int{4, 2, 8, 3}

// indentation returns the white space at the beginning of a line.
func indentation(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

// columns returns how far an indentation reaches.
func columns(indent string, tab int) int {
	n := 0
	for i := range len(indent) {
		if indent[i] == '\t' {
			n += tab - n%tab
		} else {
			n++
		}
	}
	return n
}

// shiftAt returns what turns the indentation of the patch's lines into that of the file's lines from at on, or nil if no one
// rule does so for all of them.
func (d *document) shiftAt(at int, want []string) func(string) string {
	var theirs, ours []string
	for i, line := range want {
		if strings.TrimSpace(line) != "" {
			theirs = append(theirs, indentation(line))
			ours = append(ours, indentation(d.lines[at+i].text))
		}
	}
	if len(theirs) == 0 {
		return nil // blank lines have no indentation to tell the place by
	}
	if shift := prefixShift(theirs, ours); shift != nil {
		return shift
	}
	return columnShift(theirs, ours, d.usesTabs(ours))
}

// prefixShift is the rule that the file has a fixed string more, or less, at the beginning of every line.
func prefixShift(theirs, ours []string) func(string) string {
	more, gained := strings.CutSuffix(ours[0], theirs[0])
	less, lost := strings.CutSuffix(theirs[0], ours[0])
	for i := range theirs {
		gained = gained && ours[i] == more+theirs[i]
		lost = lost && theirs[i] == less+ours[i]
	}
	switch {
	case gained:
		return func(line string) string { return more + line }
	case lost:
		return func(line string) string {
			if rest, ok := strings.CutPrefix(line, less); ok {
				return rest
			}
			return strings.TrimLeft(line, " \t")
		}
	}
	return nil
}

// columnShift is the rule that indentation reaches a fixed number of columns more or less, tabs and spaces aside. No
// difference at all is tried first with every tab width.
func columnShift(theirs, ours []string, tabs bool) func(string) string {
	for _, mustBeZero := range []bool{true, false} {
		for _, tab := range tabWidths {
			by, ok := difference(theirs, ours, tab)
			if !ok || mustBeZero && by != 0 {
				continue
			}
			return func(line string) string {
				indent := indentation(line)
				return render(columns(indent, tab)+by, tab, tabs) + line[len(indent):]
			}
		}
	}
	return nil
}

// difference returns by how many columns ours reach further than theirs, if it is the same for all.
func difference(theirs, ours []string, tab int) (by int, ok bool) {
	by = columns(ours[0], tab) - columns(theirs[0], tab)
	for i := range theirs {
		if columns(ours[i], tab)-columns(theirs[i], tab) != by {
			return 0, false
		}
	}
	return by, true
}

// render makes an indentation of so many columns.
func render(columns, tab int, tabs bool) string {
	columns = max(columns, 0)
	if !tabs {
		return strings.Repeat(" ", columns)
	}
	return strings.Repeat("\t", columns/tab) + strings.Repeat(" ", columns%tab)
}

// usesTabs says whether the file indents by tabs: by the lines that matched if they are indented, else by all.
func (d *document) usesTabs(indents []string) bool {
	tabs, spaces := 0, 0
	count := func(indent string) {
		if strings.HasPrefix(indent, "\t") {
			tabs++
		} else if indent != "" {
			spaces++
		}
	}
	for _, indent := range indents {
		count(indent)
	}
	if tabs+spaces == 0 {
		for _, line := range d.lines {
			count(indentation(line.text))
		}
	}
	return tabs > spaces
}
