// Package merge joins two changes of one text, line by line. It is pure: the same three texts give the same answer
// everywhere and forever, so that a merge can be repeated.
//
// Lines are bytes with their ends: carriage returns, marks at the beginning, any encoding without NUL and a last line
// without an end come out as they went in.
package merge

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"

	"sandboxagent/internal/patch"
)

// Bounds of one text. What is larger is not merged.
const (
	MaxBytes = 8 << 20
	MaxLines = 500_000
)

// Texts returns base with what was changed in ours and in theirs. It reports false when both changed lines that overlap
// or touch, in different ways, when one of the texts is binary (it holds a NUL), and above the bounds. The result may share
// memory with an argument.
func Texts(base, ours, theirs []byte) (merged []byte, ok bool) {
	switch {
	case bytes.Equal(base, theirs), bytes.Equal(ours, theirs):
		return ours, true
	case bytes.Equal(base, ours):
		return theirs, true
	}
	var texts [3][]string
	for i, b := range [][]byte{base, ours, theirs} {
		if len(b) > MaxBytes || bytes.IndexByte(b, 0) >= 0 || bytes.Count(b, []byte("\n")) >= MaxLines {
			return nil, false
		}
		texts[i] = slices.Collect(strings.Lines(string(b)))
	}
	m := merger{base: texts[0], ours: side(texts[0], texts[1]), theirs: side(texts[0], texts[2])}
	if !m.merge() {
		return nil, false
	}
	return m.out.Bytes(), true
}

// merger goes through the lines of base.
type merger struct {
	base         []string
	ours, theirs changes
	at           int // lines of base that are done
	out          bytes.Buffer
}

// changes are what is left of the differences of one side from base.
type changes struct {
	lines []string
	left  []lcs.Diff
}

func side(base, lines []string) changes { return changes{lines, patch.CompareLines(base, lines)} }

func (m *merger) merge() bool {
	for len(m.ours.left)+len(m.theirs.left) > 0 {
		start, end := m.region()
		m.write(m.base[m.at:start])
		m.at = end
		ours, byUs := m.ours.take(start, end)
		theirs, byThem := m.theirs.take(start, end)
		switch {
		case byUs && byThem && !slices.Equal(ours, theirs):
			return false
		case byUs:
			m.write(ours)
		default:
			m.write(theirs)
		}
	}
	m.write(m.base[m.at:])
	return true
}

// region returns the next lines of base that are changed, together with all changes that overlap or touch.
func (m *merger) region() (start, end int) {
	start = len(m.base)
	for _, c := range []*changes{&m.ours, &m.theirs} {
		if len(c.left) > 0 {
			start = min(start, c.left[0].Start)
		}
	}
	end = start
	for ours, theirs := 0, 0; ; {
		switch {
		case ours < len(m.ours.left) && m.ours.left[ours].Start <= end:
			end = max(end, m.ours.left[ours].End)
			ours++
		case theirs < len(m.theirs.left) && m.theirs.left[theirs].Start <= end:
			end = max(end, m.theirs.left[theirs].End)
			theirs++
		default:
			return start, end
		}
	}
}

// take returns what one side has in place of lines of base, and whether it changed any of them.
func (c *changes) take(start, end int) (lines []string, changed bool) {
	n := 0
	for n < len(c.left) && c.left[n].Start <= end {
		n++
	}
	if n == 0 {
		return nil, false
	}
	first, last := c.left[0], c.left[n-1]
	c.left = c.left[n:]
	return c.lines[first.ReplStart-(first.Start-start) : last.ReplEnd+(end-last.End)], true
}

func (m *merger) write(lines []string) {
	for _, line := range lines {
		m.out.WriteString(line)
	}
}
