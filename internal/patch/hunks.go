// This file applies the hunks of one file: each is placed in the file as it was, then all are made at once.

package patch

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// edit replaces some lines of a document by others.
type edit struct {
	at, remove int
	insert     []textLine
	hunk       Hunk
}

// applyHunks returns a file's data with all hunks applied. They may come in any order, but must not touch the same lines.
func applyHunks(path string, file File, hunks []Hunk) ([]byte, error) {
	d, err := parseDocument(path, file.Data, hunks)
	if err != nil {
		return nil, err
	}
	d.exact = file.Exact
	var edits []edit
	final := d.final
	for i, h := range hunks {
		p, err := d.locate(path, i+1, h)
		if err != nil {
			return nil, err
		}
		if err := d.checkStrays(path, h); err != nil {
			return nil, err
		}
		edits = append(edits, d.edits(p, h)...)
		if says, has := endsFile(h); says {
			final = has
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	if err := checkOverlap(path, edits); err != nil {
		return nil, err
	}
	return d.join(path, d.rewrite(edits), final)
}

// checkStrays refuses to write what stands for bytes that could not be shown: nobody knows which they are.
func (d *document) checkStrays(path string, h Hunk) error {
	for _, line := range h.Lines {
		if d.enc == strayed && line.Op == Insert && strings.ContainsFunc(line.Text, func(r rune) bool { return r == utf8.RuneError || isStray(r) }) {
			return fail(Unsupported, path, h.Line, "a line that the patch adds has bytes that are not UTF-8 and could not be shown; change that line by a command instead")
		}
	}
	return nil
}

// endsFile says whether a hunk tells if the file has an end at its last line, and which it tells.
func endsFile(h Hunk) (says, has bool) {
	has = true
	for _, line := range h.Lines {
		if line.NoEOL {
			says = true
			has = has && line.Op == Remove
		}
	}
	return says, has
}

// edits turns a placed hunk into its separate changes. Context lines stay as the file has them.
func (d *document) edits(p place, h Hunk) []edit {
	faithful := d.faithful(p, h)
	var all []edit
	open := false
	at, skip := p.at, p.skip
	for _, line := range h.Lines {
		if line.Op == Context {
			if open = false; skip > 0 {
				skip--
			} else {
				at++
			}
			continue
		}
		if !open {
			all = append(all, edit{at: min(at, len(d.lines)), hunk: h})
			open = true
		}
		e := &all[len(all)-1]
		if line.Op == Remove {
			e.remove++
			at++
			continue
		}
		e.insert = append(e.insert, inserted(line, p.shift, faithful))
	}
	for i := range all {
		d.setEnds(&all[i])
	}
	return all
}

// faithful says whether the patch has the same line ends as the file wherever it quotes it. Then, and in a file
// without any, the ends of what it inserts are meant.
func (d *document) faithful(p place, h Hunk) bool {
	at, skip, seen := p.at, p.skip, len(d.lines) == 0 || d.lines[0].end == ""
	for _, line := range h.Lines {
		switch {
		case line.Op == Insert:
			continue
		case skip > 0:
			skip--
			continue
		case at >= len(d.lines):
			return seen
		}
		if end := d.lines[at].end; end != "" {
			if line.CR != (end == "\r\n") {
				return false
			}
			seen = true
		}
		at++
	}
	return seen
}

// inserted is a line to insert; its end is open unless the patch is faithful.
func inserted(line Line, shift func(string) string, faithful bool) textLine {
	text := textLine{text: line.Text}
	if shift != nil && strings.TrimSpace(line.Text) != "" {
		text.text = shift(line.Text)
	}
	switch {
	case faithful && line.CR:
		text.end = "\r\n"
	case faithful:
		text.end = "\n"
	}
	return text
}

// setEnds gives inserted lines the ends of the lines they replace, and further ones that of the line before them.
func (d *document) setEnds(e *edit) {
	end := d.end
	if e.at > 0 && d.lines[e.at-1].end != "" {
		end = d.lines[e.at-1].end
	} else if e.at < len(d.lines) && d.lines[e.at].end != "" {
		end = d.lines[e.at].end
	}
	for i := range e.insert {
		if i < e.remove && e.at+i < len(d.lines) && d.lines[e.at+i].end != "" {
			end = d.lines[e.at+i].end
		}
		if e.insert[i].end == "" {
			e.insert[i].end = end
		}
	}
}

// checkOverlap refuses changes, sorted by place, that touch the same lines.
func checkOverlap(path string, edits []edit) error {
	for i := 1; i < len(edits); i++ {
		before, next := edits[i-1], edits[i]
		if next.at < before.at+before.remove {
			err := fail(Conflict, path, next.hunk.Line,
				"the hunks at lines %d and %d of the patch both change line %d of the file; make them one hunk",
				before.hunk.Line, next.hunk.Line, next.at+1)
			err.Candidates = []int{next.at + 1}
			return err
		}
	}
	return nil
}

// rewrite returns the lines with all edits, sorted by place, made.
func (d *document) rewrite(edits []edit) []textLine {
	out := make([]textLine, 0, len(d.lines))
	at := 0
	for _, e := range edits {
		out = append(append(out, d.lines[at:e.at]...), e.insert...)
		at = e.at + e.remove
	}
	return append(out, d.lines[at:]...)
}
