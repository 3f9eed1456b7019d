// This file defines what a patch is and what applying it gives, with its limits and its one error type.

// Package patch reads patches as language models write them and computes what they change. It is pure: files come from a
// function and go back as values. Reading is tolerant of the form; applying is strict about the place: every hunk must fit
// exactly one, and either all of a patch applies or nothing does.
package patch

import (
	"fmt"
	"io/fs"
)

// Limits. More is an Error of code Limit.
const (
	MaxBytes      = 1 << 20  // of the patch text
	MaxFiles      = 200      // sections of a patch
	MaxFileBytes  = 8 << 20  // of each file, before and after
	MaxTotalBytes = 64 << 20 // of all files together, before and after
)

// Patch is a parsed patch.
type Patch struct {
	Files     []FilePatch
	Overwrite bool // adding and moving may replace an existing file; Parse never sets it
}

// Kind says what a FilePatch does.
type Kind string

// The kinds. Moving is an Update with a MoveTo.
const (
	Add    Kind = "add"
	Update Kind = "update"
	Delete Kind = "delete"
)

// FilePatch is what a patch does to one file. A file may come up several times: each sees what the ones before it did.
type FilePatch struct {
	Kind   Kind
	Path   string // as written, but cleaned; Apply refuses what is not inside
	MoveTo string
	Mode   fs.FileMode // Add: permission bits, 0644 unless the patch says otherwise
	Hunks  []Hunk      // Add: one, of added lines only; Delete: none, or what the file must consist of
	Line   int         // of the patch text where it begins, from 1
}

// Hunk is one place of a file to change. Its context and removed lines, in order, must be found in the file.
type Hunk struct {
	Anchors []string // lines that precede the place, outermost first
	Start   int      // line of the file where it should be, from 1; 0 when the patch does not say
	AtEnd   bool     // the place is the end of the file
	Lines   []Line
	Line    int // of the patch text where it begins, from 1
}

// Op says what a Line of a hunk does.
type Op byte

// The ops, as patches write them.
const (
	Context Op = ' '
	Insert  Op = '+'
	Remove  Op = '-'
)

// Line is one line of a hunk.
type Line struct {
	Op    Op
	Text  string // without line end
	CR    bool   // the patch ends it with CR LF
	NoEOL bool   // "\ No newline at end of file" follows
}

// File is a file's content and permission bits.
type File struct {
	Data []byte
	Mode fs.FileMode
	// Exact: the patch was made for other content, so it must quote what it changes as it is: no tolerance, and no deletion
	// of what it does not quote whole.
	Exact bool
}

// Change is the effect of a patch on one path. A move gives two: the removal of one path and the addition of the other.
type Change struct {
	Path    string
	Before  *File  // nil: there was none
	After   *File  // nil: there is none any more
	From    string // where this file was moved from
	MovedTo string // where this path was moved to
}

// Code classifies an Error.
type Code string

// The codes.
const (
	Invalid     Code = "invalid"     // it is no patch, or names an impossible path
	NotFound    Code = "notFound"    // a file to change is not there
	Exists      Code = "exists"      // a file to make is there already
	Conflict    Code = "conflict"    // a hunk fits no place or several
	Limit       Code = "limit"       // something is too large
	Unsupported Code = "unsupported" // binary patches, copies, files that are no text
)

// Error says why a patch was refused. Nothing of it was applied.
type Error struct {
	Code       Code
	Path       string // of the file concerned, if any
	Line       int    // of the patch text, from 1; 0 when none is to blame
	Message    string // one sentence for the model, naming the remedy
	Candidates []int  // Conflict: lines of the file, from 1, where the hunk fits, or where the closest place begins
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// fail makes an Error.
func fail(code Code, path string, line int, format string, args ...any) *Error {
	return &Error{Code: code, Path: path, Line: line, Message: fmt.Sprintf(format, args...)}
}

// old returns the texts that the hunk expects in the file.
func (h Hunk) old() []string {
	var texts []string
	for _, line := range h.Lines {
		if line.Op != Insert {
			texts = append(texts, line.Text)
		}
	}
	return texts
}
