// This file compares documents with their files: an editor that reads a file again, or opens a document with text that it
// has not saved, says nothing of that.

package lsp

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"sandboxagent/internal/patch"
)

// youngFile is the age below which a file may change once more without another time of change.
const youngFile = 100 * time.Millisecond

// fileText is what a file held when it was last read, as hashes of text. Its zero value knows nothing.
type fileText struct {
	info  os.FileInfo // of the file then; nil: it is to be read again
	known bool        // its text can be compared
	plain bool        // it is UTF-8, so that every editor shows the same of it
	mixed bool        // it has several kinds of line ends, which an editor may make one kind
	exact uint64
	loose uint64 // whatever the line ends, and whether the last line has one
}

// fileText reads the file of a document, unless it is as it was when it was read before.
func (d *documents) fileText(uri string, before fileText) fileText {
	name, ok := filePath(uri)
	if !ok {
		return fileText{}
	}
	info, err := os.Stat(name)
	if os.IsNotExist(err) {
		return d.sums(nil)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > patch.MaxFileBytes {
		return fileText{}
	}
	if before.info != nil && sameFile(before.info, info) {
		return before
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fileText{}
	}
	text := d.sums(data)
	if time.Since(info.ModTime()) >= youngFile {
		text.info = info
	}
	return text
}

func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (d *documents) sums(data []byte) fileText {
	text, ok := shownText(data)
	if !ok {
		return fileText{}
	}
	return fileText{
		known: true, plain: utf8.Valid(data), mixed: mixedLineEnds(text),
		exact: d.hash(text), loose: d.hash(looseText(text)),
	}
}

// shows tells whether a document of this text shows exactly what the file holds.
func (f fileText) shows(d *documents, text string) bool {
	return f.known && (d.hash(text) == f.exact || f.mixed && d.hash(looseText(text)) == f.loose)
}

// belies tells whether a document was opened with text that is certainly not the file's.
func (f fileText) belies(d *documents, text string) bool {
	return f.known && f.plain && d.hash(looseText(text)) != f.loose
}

// shownText is what editors show of a file; not ok when they need not agree, as of what is no text.
func shownText(data []byte) (text string, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return decodeUTF16(data[2:], binary.BigEndian)
	}
	return patch.Text(data), bytes.IndexByte(data, 0) < 0
}

func decodeUTF16(data []byte, order binary.ByteOrder) (text string, ok bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units)), true
}

// looseText is text with one kind of line ends and none at its end.
func looseText(text string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
}

func mixedLineEnds(text string) bool {
	crlf := strings.Count(text, "\r\n")
	cr, lf := strings.Count(text, "\r")-crlf, strings.Count(text, "\n")-crlf
	return cr > 0 || crlf > 0 && lf > 0
}
