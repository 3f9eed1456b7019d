// This file reads the text of a patch: the "*** Begin Patch" envelope, unified diffs, and mixtures of both.

package patch

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Parse reads a patch. It takes the "*** Begin Patch" envelope and unified or git diffs, with or without code fences, a
// here-document or prose around them, with decorated markers, and without the end. Errors are of type *Error.
func Parse(text string) (Patch, error) {
	if len(text) > MaxBytes {
		return Patch{}, fail(Limit, "", 0, "the patch has %d bytes, more than %d; split it", len(text), MaxBytes)
	}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return Patch{}, fail(Invalid, "", 0, "the patch has bytes that are no text; write binary files by a command instead")
	}
	p := parser{lines: strings.Split(strings.TrimPrefix(text, bom), "\n")}
	for p.at < len(p.lines) {
		if err := p.step(); err != nil {
			return Patch{}, err
		}
	}
	if err := p.close(); err != nil {
		return Patch{}, err
	}
	if len(p.files) == 0 {
		return Patch{}, fail(Invalid, "", 0, `the patch names no file; begin with "*** Begin Patch", then "*** Update File: PATH"`)
	}
	return Patch{Files: p.files}, nil
}

// parser walks over the lines of a patch and collects its sections.
type parser struct {
	lines      []string
	at         int
	files      []FilePatch
	file       *section
	terminator string // of a here-document around the patch
}

// section is the FilePatch being read.
type section struct {
	FilePatch
	unified bool // begun by a unified header, not by an envelope's
	header  bool // still within the header of a git diff
	blanks  int  // empty lines seen, which are context only if more of the hunk follows
}

var (
	beginMarker = regexp.MustCompile(`(?i)^\*{2,}\s*begin(\s+of)?\s+patch[\s*:]*$`)
	endMarker   = regexp.MustCompile(`(?i)^\*{2,}\s*end(\s+of)?\s+patch[\s*:]*$`)
	eofMarker   = regexp.MustCompile(`(?i)^\*{2,}\s*end\s+of\s+file[\s*:]*$`)
	fileMarker  = regexp.MustCompile(`(?i)^\*{2,}\s*(add|create|new|update|modify|edit|delete|remove)\s+file\s*:?\s*(.*)$`)
	moveMarker  = regexp.MustCompile(`(?i)^\*{2,}\s*(?:move|rename)\s+to\s*:?\s*(.*)$`)
	decoration  = regexp.MustCompile(`\s+\*{3,}\s*$`)
	hereDoc     = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?\s*$`)
	kinds       = map[string]Kind{
		"add": Add, "create": Add, "new": Add, "update": Update, "modify": Update, "edit": Update, "delete": Delete, "remove": Delete,
	}
)

// peek returns line number at without its line end, "" past the end.
func (p *parser) peek(at int) string {
	if at >= len(p.lines) {
		return ""
	}
	return strings.TrimSuffix(p.lines[at], "\r")
}

// step reads one line, or the few that belong together.
func (p *parser) step() error {
	line := p.peek(p.at)
	switch {
	case strings.HasPrefix(line, "*"):
		return p.marker(line)
	case p.isEnd(line):
		p.at++
		return p.close()
	case strings.HasPrefix(line, "diff --git "):
		return p.gitHeader(line)
	case p.isUnifiedHeader():
		return p.unifiedHeader()
	case p.file != nil && p.file.header:
		return p.extendedHeader(line)
	case p.file != nil:
		return p.body(line)
	}
	if found := hereDoc.FindStringSubmatch(line); found != nil {
		p.terminator = found[1]
	}
	p.at++ // prose before the patch or after a section's end
	return nil
}

// isEnd says whether a line ends what was wrapped around the patch. A code fence does so only if no more of the section
// follows: else it is a line of the file that lost its prefix, and the rest must not be dropped in silence.
func (p *parser) isEnd(line string) bool {
	if p.terminator != "" && line == p.terminator {
		return true
	}
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return false
	}
	for at := p.at + 1; at < len(p.lines); at++ {
		next := p.peek(at)
		if strings.HasPrefix(next, "*") || strings.HasPrefix(next, "diff --git ") || strings.HasPrefix(next, "--- ") {
			return true
		}
		if strings.HasPrefix(next, "+") || strings.HasPrefix(next, "-") || strings.HasPrefix(next, "@@") {
			return false
		}
	}
	return true
}

// marker reads a line that begins with an asterisk. Lines of a file never do: they have their prefix.
func (p *parser) marker(line string) error {
	p.at++
	if found := fileMarker.FindStringSubmatch(line); found != nil {
		return p.open(section{FilePatch: FilePatch{Kind: kinds[strings.ToLower(found[1])], Path: unwrap(found[2])}})
	}
	if found := moveMarker.FindStringSubmatch(line); found != nil {
		return p.moveTo(unwrap(found[1]))
	}
	switch {
	case beginMarker.MatchString(line), endMarker.MatchString(line):
		return p.close()
	case eofMarker.MatchString(line):
		return p.endOfFile()
	case p.file == nil && (!strings.HasPrefix(line, "***") || strings.Trim(line, "* ") == ""):
		return nil // prose, e.g. a list or a rule
	}
	return fail(Invalid, p.path(), p.at,
		`line %d of the patch, %q, is not understood; use "*** Add File: PATH", "*** Update File: PATH", "*** Delete File: PATH" or "*** Move to: PATH"`,
		p.at, clip(line))
}

// unwrap takes the decoration off a path.
func unwrap(path string) string {
	path = strings.TrimSpace(decoration.ReplaceAllString(path, ""))
	if len(path) >= 2 && strings.Contains("`'\"", path[:1]) && path[0] == path[len(path)-1] {
		return unquote(path)
	}
	return path
}

// open begins a section at the line just read.
func (p *parser) open(s section) error {
	if err := p.close(); err != nil {
		return err
	}
	s.Line = p.at
	if len(p.files) == MaxFiles {
		return fail(Limit, s.Path, s.Line, "the patch changes more than %d files; split it", MaxFiles)
	}
	p.file = &s
	return nil
}

// path is that of the current section.
func (p *parser) path() string {
	if p.file == nil {
		return ""
	}
	return p.file.Path
}

func (p *parser) moveTo(path string) error {
	f := p.file
	if f == nil || f.Kind != Update || len(f.Hunks) > 0 || f.MoveTo != "" {
		return fail(Invalid, p.path(), p.at, `line %d of the patch: "*** Move to:" must follow directly on "*** Update File:"`, p.at)
	}
	if path == "" {
		return fail(Invalid, p.path(), p.at, "line %d of the patch names no path to move to", p.at)
	}
	f.MoveTo = path
	return nil
}

func (p *parser) endOfFile() error {
	if p.file == nil || len(p.file.Hunks) == 0 {
		return nil // nothing it could say more about
	}
	p.file.blanks = 0
	p.file.Hunks[len(p.file.Hunks)-1].AtEnd = true
	return nil
}

// clip shortens a line for a message.
func clip(line string) string {
	const most = 80
	for i := range line {
		if i > most {
			return line[:i] + "…"
		}
	}
	return line
}
