// This file finds the one place of a file that a hunk means, or says why there is none.

package patch

import (
	"fmt"
	"slices"
	"strings"
)

// place is where a hunk goes.
type place struct {
	at    int                 // index of the first line it expects
	skip  int                 // blank context lines at the hunk's beginning that were not asked for
	shift func(string) string // re-indents the lines it inserts; nil: as they are
}

// span is a range of lines: from start up to, but not with, end.
type span struct{ start, end int }

// locate finds the place of a hunk. The levels of tolerance are tried in order; the first at which it fits anywhere must
// have it fit once. Where anchors name a block, that block is tried first.
func (d *document) locate(path string, number int, h Hunk) (place, error) {
	where := fmt.Sprintf("hunk %d (line %d of the patch)", number, h.Line)
	scopes, err := d.scopes(path, where, h)
	if err != nil {
		return place{}, err
	}
	old := h.old()
	if len(old) == 0 {
		return d.locateInsertion(path, where, h)
	}
	for _, spans := range scopes {
		for _, want := range trims(h, old) {
			found := d.search(want, h, spans)
			if d.work > maxWork {
				return place{}, fail(Limit, path, h.Line, "%s repeats lines of the file too often to be placed; give fewer context lines, or change the file by a command", where)
			}
			if len(found) == 1 {
				return found[0], nil
			}
			if len(found) > 1 {
				return place{}, ambiguous(path, where, h, found)
			}
		}
	}
	return place{}, d.missing(path, where, h, old)
}

// wanted is what to look for: the lines a hunk expects, less skipped ones at its beginning.
type wanted struct {
	lines []string
	skip  int
}

// trims returns what to look for in turn: all expected lines, then, in case the patch added blank lines around them, without
// the blank context at the edges.
func trims(h Hunk, old []string) []wanted {
	all := []wanted{{lines: old}}
	skip, end := 0, len(old)
	for skip < end && h.Lines[skip].Op == Context && trimRight(old[skip]) == "" {
		skip++
	}
	for last := len(h.Lines) - 1; end > skip && h.Lines[last].Op == Context && trimRight(old[end-1]) == ""; last-- {
		end--
	}
	if skip < end && end-skip < len(old) {
		all = append(all, wanted{lines: old[skip:end], skip: skip})
	}
	return all
}

// search returns the places within spans at the first level at which there are any.
func (d *document) search(want wanted, h Hunk, spans []span) []place {
	most := levels
	if d.exact {
		most = exact + 1
	}
	for l := exact; l < most; l++ {
		var found []place
		for _, at := range d.occurrences(l, want.lines) {
			if !within(spans, at) {
				continue
			}
			p := place{at: at, skip: want.skip}
			if l == shifted {
				if p.shift = d.shiftAt(at, want.lines); p.shift == nil {
					continue
				}
			}
			found = append(found, p)
		}
		if len(found) > 0 {
			return d.prefer(found, h, len(want.lines))
		}
	}
	return nil
}

// prefer narrows places to the end of the file or the line number, if the patch names them and they are among the places.
func (d *document) prefer(found []place, h Hunk, n int) []place {
	if h.AtEnd {
		found = narrow(found, func(p place) bool { return p.at+n == len(d.lines) })
	}
	if h.Start > 0 {
		found = narrow(found, func(p place) bool { return p.at-p.skip == h.Start-1 })
	}
	return found
}

// narrow keeps the places that fit, or all if none does.
func narrow(found []place, fits func(place) bool) []place {
	var kept []place
	for _, p := range found {
		if fits(p) {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return found
	}
	return kept
}

func within(spans []span, at int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.start <= at && at < s.end })
}

// occurrences returns where the lines stand in the file at a level. It looks from the line that is rarest in the file.
func (d *document) occurrences(l level, lines []string) []int {
	v := d.view(l)
	want := make([]string, len(lines))
	rarest := 0
	for i, line := range lines {
		want[i] = l.normal(line)
		if len(v.where[want[i]]) < len(v.where[want[rarest]]) {
			rarest = i
		}
	}
	var found []int
	for _, line := range v.where[want[rarest]] {
		at := line - rarest
		if at >= 0 && at+len(want) <= len(v.lines) && d.equal(v.lines[at:at+len(want)], want) {
			found = append(found, at)
		}
	}
	return found
}

// maxWork is how many lines of one file are compared before its hunks are given up: far beyond what real files need, but
// soon enough where a file and a hunk repeat a line without end.
const maxWork = 20_000_000

// equal compares lines and counts the work. When that is too much, nothing is equal any more.
func (d *document) equal(a, b []string) bool {
	for i := range a {
		if d.work++; a[i] != b[i] || d.work > maxWork {
			return false
		}
	}
	return true
}

// locateInsertion finds the place of a hunk that expects no lines: an empty file, the end if the patch says so, or after its
// anchor.
func (d *document) locateInsertion(path, where string, h Hunk) (place, error) {
	if len(d.lines) == 0 || h.AtEnd {
		return place{at: len(d.lines)}, nil
	}
	if len(h.Anchors) == 0 {
		return place{}, fail(Conflict, path, h.Line, "%s does not say where it goes; add context lines", where)
	}
	spans, err := d.scopes(path, where, h)
	if err != nil {
		return place{}, err
	}
	var found []place
	for _, s := range spans[0] {
		found = append(found, place{at: s.start + 1})
	}
	switch {
	case len(spans) == 1: // an anchor that is not there
		return place{}, fail(Conflict, path, h.Line, "%s: the line %q is not in the file; add context lines", where, clip(h.Anchors[0]))
	case len(found) > 1:
		return place{}, ambiguous(path, where, h, found)
	}
	return found[0], nil
}

// ambiguous says that a hunk fits several places.
func ambiguous(path, where string, h Hunk, found []place) *Error {
	const most = 10
	err := fail(Conflict, path, h.Line, "")
	for _, p := range found[:min(most, len(found))] {
		err.Candidates = append(err.Candidates, p.at+1)
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(err.Candidates), " ", ", "), "[]")
	if len(found) > most {
		list += ", …"
	}
	err.Message = fmt.Sprintf("%s fits %d places, at lines %s; add context lines, or an @@ line that names the place", where, len(found), list)
	return err
}

// missing says that a hunk fits nowhere, and where it comes closest.
func (d *document) missing(path, where string, h Hunk, old []string) *Error {
	at, differs := d.closest(old)
	if at < 0 {
		return fail(Conflict, path, h.Line, "%s was not found: the file has none of its lines; read the file again and use its lines as they are", where)
	}
	has := "the file ends"
	if line := at + differs; line < len(d.lines) {
		has = fmt.Sprintf("line %d of the file is %q", line+1, clip(d.lines[line].text))
	}
	err := fail(Conflict, path, h.Line, "%s was not found: it comes closest at line %d, but %s where the patch has %q; read the file again and use its lines as they are",
		where, at+1, has, clip(old[differs]))
	err.Candidates = []int{at + 1}
	return err
}

// closest returns where most of the lines fit, and the first that does not; at is -1 when none fits.
func (d *document) closest(old []string) (at, differs int) {
	const tries = 100
	at = -1
	v, most, left := d.view(shifted), 0, tries
	for i, line := range old {
		text := shifted.normal(line)
		if text == "" {
			continue
		}
		for _, line := range v.where[text] {
			if left--; left < 0 {
				return at, differs
			}
			if fits, first := d.compare(line-i, old); fits > most && line >= i {
				at, differs, most = line-i, first, fits
			}
		}
	}
	return at, differs
}

// compare counts the lines that fit at a place and finds the first that does not.
func (d *document) compare(at int, old []string) (fits, first int) {
	v := d.view(shifted)
	first = -1
	for i, line := range old {
		if j := at + i; j >= 0 && j < len(v.lines) && v.lines[j] == shifted.normal(line) {
			fits++
		} else if first < 0 {
			first = i
		}
	}
	return fits, max(first, 0)
}
