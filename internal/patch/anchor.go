// This file finds the blocks that a hunk's anchors name.

package patch

import "strings"

// scopes returns where to look for a hunk, in turn: the blocks its anchors name, then all that follows them, then the whole
// file. Nested anchors must all be found; a single one is advice.
func (d *document) scopes(path, where string, h Hunk) ([][]span, error) {
	whole := []span{{0, len(d.lines)}}
	if len(h.Anchors) == 0 {
		return [][]span{whole}, nil
	}
	blocks := whole
	for _, anchor := range h.Anchors {
		inner := d.blocks(anchor, blocks)
		if len(inner) == 0 {
			inner = d.blocks(anchor, after(blocks, len(d.lines)))
		}
		if len(inner) == 0 && len(h.Anchors) > 1 {
			return nil, fail(Conflict, path, h.Line, "%s: the line %q of its @@ lines is not in the file where it should be", where, clip(anchor))
		}
		if len(inner) == 0 {
			return [][]span{whole}, nil
		}
		blocks = inner
	}
	scopes := [][]span{blocks, after(blocks, len(d.lines))}
	if len(h.Anchors) == 1 {
		scopes = append(scopes, whole)
	}
	return scopes, nil
}

// after is all that follows the first of the blocks' beginnings.
func after(blocks []span, end int) []span { return []span{{blocks[0].start, end}} }

// blocks returns the blocks below every line within spans that is the anchor.
func (d *document) blocks(anchor string, spans []span) []span {
	var found []span
	for _, at := range d.anchorLines(anchor) {
		if within(spans, at) {
			found = append(found, span{at, d.blockEnd(at)})
		}
	}
	return found
}

// anchorLines returns the lines that an anchor may mean: equal ones, else ones that begin with it, at the first level at
// which there are any.
func (d *document) anchorLines(anchor string) []int {
	for l := exact; l < levels; l++ {
		if found := d.view(l).where[l.normal(anchor)]; len(found) > 0 {
			return found
		}
	}
	prefix := shifted.normal(anchor)
	var found []int
	for i, line := range d.view(shifted).lines {
		if prefix != "" && strings.HasPrefix(line, prefix) {
			found = append(found, i)
		}
	}
	return found
}

// blockEnd returns the line after the block that the line at opens, judged by indentation: it goes on to the next line that
// is indented no deeper and does not merely close or continue what was opened.
func (d *document) blockEnd(at int) int {
	indent := columns(indentation(d.lines[at].text), tabWidth)
	for i := at + 1; i < len(d.lines); i++ {
		text := strings.TrimSpace(d.lines[i].text)
		if text == "" || columns(indentation(d.lines[i].text), tabWidth) > indent {
			continue
		}
		switch {
		case strings.HasPrefix(text, "{"), strings.ContainsAny(text[:1], ")]}") && strings.ContainsAny(text[len(text)-1:], ":{(["):
			continue // the head of the block goes on
		case strings.ContainsAny(text[:1], ")]}"):
			return i + 1
		}
		return i
	}
	return len(d.lines)
}
