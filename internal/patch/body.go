// This file reads the hunks of a patch's sections.

package patch

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	numbered  = regexp.MustCompile(`^@@+\s*-(\d+)(?:,(\d+))?\s+\+\d+(?:,\d+)?\s*(?:@@+.*)?$`)
	closingAt = regexp.MustCompile(`\s*@@+\s*$`)
)

// body reads a line within a section.
func (p *parser) body(line string) error {
	p.at++
	f := p.file
	switch {
	case line == "":
		f.blanks++
		return nil
	case strings.HasPrefix(line, "@@"):
		return p.beginHunk(line)
	case strings.HasPrefix(line, `\`):
		return p.noNewline(line)
	case f.Kind == Delete && !f.unified:
		return fail(Invalid, f.Path, p.at, `line %d of the patch: nothing may follow "*** Delete File:" but the next file`, p.at)
	case f.Kind == Add && !f.unified && line[0] != byte(Insert):
		return fail(Invalid, f.Path, p.at, `line %d of the patch: every line of an added file must begin with "+"`, p.at)
	}
	switch op := Op(line[0]); op {
	case Context, Insert, Remove:
		p.addLine(Line{Op: op, Text: line[1:], CR: strings.HasSuffix(p.lines[p.at-1], "\r")})
		return nil
	}
	return fail(Invalid, f.Path, p.at, `line %d of the patch, %q, must begin with " ", "+", "-" or "@@"`, p.at, clip(line))
}

// addLine adds a line to the current hunk, beginning one if need be.
func (p *parser) addLine(line Line) {
	f := p.file
	if len(f.Hunks) == 0 {
		f.Hunks = append(f.Hunks, Hunk{Line: p.at})
		f.blanks = 0 // empty lines between the header and the first line mean nothing
	}
	h := &f.Hunks[len(f.Hunks)-1]
	blank := Line{Op: Context}
	if f.Kind == Add {
		blank.Op = Insert
	}
	for ; f.blanks > 0; f.blanks-- {
		h.Lines = append(h.Lines, blank) // whoever wrote it dropped the prefix of an empty line
	}
	h.Lines = append(h.Lines, line)
}

// beginHunk reads a line that begins with "@@": a hunk's position or an anchor.
func (p *parser) beginHunk(line string) error {
	f := p.file
	f.blanks = 0
	if found := numbered.FindStringSubmatch(line); found != nil {
		start, err := strconv.Atoi(found[1])
		if err != nil {
			return fail(Invalid, f.Path, p.at, "line %d of the patch: %s is no line number", p.at, found[1])
		}
		if found[2] == "0" {
			start++ // a hunk that expects no lines names the line before it
		}
		f.Hunks = append(f.Hunks, Hunk{Start: start, Line: p.at})
		return nil
	}
	anchor := strings.TrimPrefix(closingAt.ReplaceAllString(strings.TrimLeft(line, "@"), ""), " ")
	if trimmed := strings.TrimSpace(anchor); trimmed == "" || trimmed == "..." || trimmed == "…" {
		f.Hunks = append(f.Hunks, Hunk{Line: p.at})
		return nil
	}
	if n := len(f.Hunks); n > 0 && len(f.Hunks[n-1].Anchors) > 0 && len(f.Hunks[n-1].Lines) == 0 {
		f.Hunks[n-1].Anchors = append(f.Hunks[n-1].Anchors, anchor)
		return nil
	}
	f.Hunks = append(f.Hunks, Hunk{Anchors: []string{anchor}, Line: p.at})
	return nil
}

// noNewline reads "\ No newline at end of file", in whatever language.
func (p *parser) noNewline(line string) error {
	f := p.file
	if n := len(f.Hunks); n > 0 && len(f.Hunks[n-1].Lines) > 0 {
		lines := f.Hunks[n-1].Lines
		lines[len(lines)-1].NoEOL = true
		f.blanks = 0
		return nil
	}
	return fail(Invalid, f.Path, p.at, "line %d of the patch, %q, follows no line of a file", p.at, clip(line))
}

// close ends the current section and checks it.
func (p *parser) close() error {
	if p.file == nil {
		return nil
	}
	f := p.file.FilePatch
	p.file = nil
	var err error
	if f.Path, err = cleanPath(f.Path, f.Line); err != nil {
		return err
	}
	if f.MoveTo != "" {
		if f.MoveTo, err = cleanPath(f.MoveTo, f.Line); err != nil {
			return err
		}
	}
	if f.Hunks, err = checkHunks(f); err != nil {
		return err
	}
	p.files = append(p.files, f)
	return nil
}

// cleanPath normalises a path as far as that is possible without knowing the workspace.
func cleanPath(name string, line int) (string, error) {
	if strings.TrimSpace(name) == "" {
		return "", fail(Invalid, "", line, "line %d of the patch names no path", line)
	}
	return path.Clean(name), nil
}

// checkHunks drops hunks that say nothing and refuses what cannot be applied to a file of the kind.
func checkHunks(f FilePatch) ([]Hunk, error) {
	var hunks []Hunk
	for _, h := range f.Hunks {
		if len(h.Lines) > 0 {
			hunks = append(hunks, h)
		} else if len(h.Anchors) > 0 {
			return nil, fail(Invalid, f.Path, h.Line, `line %d of the patch: no lines follow "@@ %s"`, h.Line, clip(h.Anchors[0]))
		}
	}
	switch {
	case f.Kind == Update && len(hunks) == 0 && f.MoveTo == "":
		return nil, fail(Invalid, f.Path, f.Line, "line %d of the patch: the update has no lines; give what to change", f.Line)
	case f.Kind == Add:
		return addedOnly(f, hunks)
	}
	return hunks, nil
}

// addedOnly joins the hunks of a new file and refuses lines that are not added.
func addedOnly(f FilePatch, hunks []Hunk) ([]Hunk, error) {
	if len(hunks) == 0 {
		return nil, nil // an empty file
	}
	all := Hunk{Line: f.Line}
	for _, h := range hunks {
		all.Lines = append(all.Lines, h.Lines...)
	}
	for _, line := range all.Lines {
		if line.Op != Insert {
			return nil, fail(Invalid, f.Path, f.Line, `line %d of the patch: every line of an added file must begin with "+"`, f.Line)
		}
	}
	return []Hunk{all}, nil
}
