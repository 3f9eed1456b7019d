// This file defines what is read from, found in and changed in the workspace.

package sandbox

import (
	"io/fs"
	"time"
)

// FileContent is a range of a file with what identifies the whole.
type FileContent struct {
	Data []byte
	Size int64
	Mode fs.FileMode
	Hash string // sha256 hex of the whole file; only set when Data is the whole file
}

// Entry describes one file system entry.
type Entry struct {
	Path   string      `json:"path"` // relative to the workspace
	Mode   fs.FileMode `json:"mode"` // type and permission bits
	Size   int64       `json:"size"`
	Mtime  time.Time   `json:"mtime"`
	Target string      `json:"target,omitempty"` // of a symbolic link
}

// Listing is the answer of List.
type Listing struct {
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

// Query asks Search for lines that match, or for files by name when Pattern is empty.
type Query struct {
	Path    string `json:"path,omitempty"`    // directory or file to search below
	Pattern string `json:"pattern,omitempty"` // RE2
	Literal bool   `json:"literal,omitempty"` // Pattern is plain text
	Glob    string `json:"glob,omitempty"`    // doublestar pattern on the path relative to Path, e.g. "**/*.go"
	Hidden  bool   `json:"hidden,omitempty"`  // also below .git and other dot directories, and files git ignores
	Limit   int    `json:"limit,omitempty"`   // matches; default 200
}

// Match is one matching line, or one file when Line is 0.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"` // the line, at most 500 bytes
}

// SearchResult is the answer of Search.
type SearchResult struct {
	Matches   []Match `json:"matches"`
	Truncated bool    `json:"truncated,omitempty"`
	Skipped   int     `json:"skipped,omitempty"` // binary, unreadable or over-large files passed over
}

// Edit is one file's change within Apply. Before guards it: the sha256 hex of the file's content as last seen, "" when
// the file must not exist, or "*" for whatever is there.
type Edit struct {
	Path    string      `json:"path"`
	Before  string      `json:"before"`
	Delete  bool        `json:"delete,omitempty"`
	Content []byte      `json:"content,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"` // permission bits for a new file; an existing file keeps its own
}
