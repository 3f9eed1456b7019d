// This file reads text files by lines, and hands images on.

package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"net/http"
	"strings"
	"unicode/utf8"

	"sandboxagent/editors"
	"sandboxagent/internal/images"
	"sandboxagent/internal/patch"
	"sandboxagent/internal/sandbox"
)

const (
	maxLines     = 2000
	maxLineChars = 2000
	maxScan      = 64 << 20 // bytes of a file looked at
	sniffSize    = 8 << 10
)

// readArgs are the arguments of read_file.
type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// runRead runs read_file.
func runRead(ctx context.Context, env Env, call Call) (Result, error) {
	var args readArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	if args.Path == "" || args.Offset < 0 || args.Limit < 0 {
		return Result{}, sandbox.Errorf(sandbox.ClassInvalid, "read file", "give a path, and offset and limit from 1")
	}
	entry, err := resolve(ctx, env, args.Path)
	if err != nil {
		return Result{}, err
	}
	if err := readable(entry); err != nil {
		return Result{}, err
	}
	r := newReader(args)
	if err := r.scan(ctx, env, entry.Path); err != nil {
		return Result{}, err
	}
	if r.image {
		return look(ctx, env, entry.Path, r.size)
	}
	if r.bad && !r.long { // now that all of it was seen: every byte is a character
		r = newReader(args)
		r.eightBit = true
		if err := r.scan(ctx, env, entry.Path); err != nil {
			return Result{}, err
		}
	}
	if sum := r.wholeSum(); sum != "" {
		saw(ctx, env, entry.Path, sum)
	}
	r.editor = env.note(ctx, entry.Path)
	text, err := r.text(entry.Path)
	if err != nil {
		return Result{}, err
	}
	result := Result{Status: editors.ItemCompleted, ForModel: text}
	result.show(ctx, env, text)
	return result, nil
}

// readable refuses what has no lines.
func readable(entry sandbox.Entry) error {
	switch {
	case entry.Mode.IsDir():
		return &sandbox.Error{Class: sandbox.ClassInvalid, Op: "read file", Path: entry.Path, Message: "this is a directory; use list"}
	case entry.Mode.IsRegular(), entry.Mode&fs.ModeSymlink != 0:
		return nil
	}
	return &sandbox.Error{Class: sandbox.ClassInvalid, Op: "read file", Path: entry.Path, Message: "this is not a regular file; it cannot be read"}
}

// reader picks a window of lines out of a file that is read in pieces.
type reader struct {
	first, last int // the window's lines, from 1
	line        int // the number of the line being read
	out         strings.Builder
	shown       int  // the last line in out
	full        bool // out has reached its limit
	current     []byte
	cut         int // bytes of the current line that were left out

	size             int64
	binary           string // the kind of file, when it is not text
	image            bool   // it is one that can be shown
	crlf, bad, ended bool
	more             bool // the file is longer than was looked at

	editor   string // what the user's editor has of the file
	eightBit bool   // bytes are characters
	long     bool   // there is UTF-8 beyond ASCII, anywhere
	rest     []byte
	sum      hash.Hash
}

func newReader(args readArgs) *reader {
	first, count := max(args.Offset, 1), args.Limit
	if count == 0 || count > maxLines {
		count = maxLines
	}
	return &reader{first: first, last: first + count - 1, line: 1, ended: true, sum: sha256.New()}
}

// wholeSum is the hash of the file, if all of it was read.
func (r *reader) wholeSum() string {
	if r.more || r.binary != "" {
		return ""
	}
	return hex.EncodeToString(r.sum.Sum(nil))
}

// sniff looks for UTF-8 beyond ASCII in the next bytes of the file.
func (r *reader) sniff(data []byte) {
	if r.long {
		return
	}
	data = append(r.rest, data...)
	whole := wholeRunes(data)
	r.rest = append([]byte(nil), data[whole:]...)
	for data = data[:whole]; len(data) > 0 && !r.long; {
		c, n := utf8.DecodeRune(data)
		r.long = n > 1 && c != utf8.RuneError
		data = data[n:]
	}
}

// scan reads the file.
func (r *reader) scan(ctx context.Context, env Env, name string) error {
	for at := int64(0); ; {
		content, err := env.Sandbox.ReadFile(ctx, name, at, readSize)
		if err != nil {
			return err
		}
		r.size = content.Size
		if r.image = at == 0 && images.Type(content.Data) != ""; r.image {
			return nil
		}
		if at == 0 && bytes.IndexByte(content.Data[:min(len(content.Data), sniffSize)], 0) >= 0 {
			r.binary = http.DetectContentType(content.Data)
			return nil
		}
		r.sum.Write(content.Data)
		r.sniff(content.Data)
		r.feed(content.Data)
		at += int64(len(content.Data))
		if len(content.Data) == 0 || at >= content.Size {
			break
		}
		if at >= maxScan {
			r.more = true
			return nil
		}
	}
	r.finish()
	return nil
}

// read takes the whole file at once.
func (r *reader) read(data []byte) {
	r.size = int64(len(data))
	r.feed(data)
	r.finish()
}

// finish ends a last line that has no end.
func (r *reader) finish() {
	if !r.ended {
		r.endLine()
		r.ended = false
	}
}

// feed takes the next bytes of the file.
func (r *reader) feed(data []byte) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			r.add(data)
			r.ended = false
			return
		}
		r.add(data[:end])
		r.endLine()
		r.ended = true
		data = data[end+1:]
	}
}

// add adds bytes to the current line, as far as they may be shown.
func (r *reader) add(data []byte) {
	if r.line < r.first || r.line > r.last || r.full {
		return
	}
	room := min(len(data), max(maxLineChars*utf8.UTFMax-len(r.current), 0))
	r.current = append(r.current, data[:room]...)
	r.cut += len(data) - room
}

// endLine ends the current line.
func (r *reader) endLine() {
	if r.line >= r.first && r.line <= r.last && !r.full {
		r.writeLine()
	}
	r.current, r.cut = r.current[:0], 0
	r.line++
}

// writeLine adds the current line to the output, unless it no longer fits.
func (r *reader) writeLine() {
	line := r.current
	if bytes.HasSuffix(line, []byte("\r")) && r.cut == 0 {
		r.crlf, line = true, line[:len(line)-1]
	}
	total := len(line) + r.cut
	text := valid(string(line))
	if r.eightBit {
		text = valid(patch.DecodeEightBit(line))
	}
	r.bad = r.bad || r.cut == 0 && text != string(line)
	short := firstChars(text, maxLineChars)
	if len(short) < len(text) || r.cut > 0 {
		short += fmt.Sprintf(" … (cut: the line has %s bytes)", thousands(int64(total)))
	}
	numbered := fmt.Sprintf("%6d\t%s\n", r.line, short)
	const notes = 1 << 10 // kept free for what is said at the end
	if r.out.Len()+len(numbered) > MaxReadBytes-notes {
		r.full = true
		return
	}
	r.out.WriteString(numbered)
	r.shown = r.line
}

// firstChars returns the first n characters of text.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// text is what is told about the file.
func (r *reader) text(name string) (string, error) {
	lines := r.line - 1
	switch {
	case r.binary != "":
		return fmt.Sprintf("%s is a binary file (%s, %s bytes); it is not shown. Use a command to look into it.\n", show(name), r.binary, thousands(r.size)), nil
	case r.size == 0 && r.editor != "":
		return fmt.Sprintf("%s is empty (%s).\n", show(name), r.editor), nil
	case r.size == 0:
		return fmt.Sprintf("%s is empty.\n", show(name)), nil
	case r.shown == 0 && r.more:
		return "", sandbox.Errorf(sandbox.ClassLimit, "read file",
			"%s is too large to be read from line %d on; use a command such as sed -n", show(name), r.first)
	case r.shown == 0:
		return "", sandbox.Errorf(sandbox.ClassInvalid, "read file", "%s has only %d lines; give a smaller offset", show(name), lines)
	}
	return r.out.String() + "(" + strings.Join(r.notes(lines), "; ") + ")\n", nil
}

// notes says what the lines alone do not.
func (r *reader) notes(lines int) []string {
	total := fmt.Sprintf("%d lines", lines)
	if r.more {
		total = fmt.Sprintf("more than %d lines", lines)
	}
	notes := []string{total}
	if r.first > 1 || r.shown < lines || r.more {
		notes = []string{fmt.Sprintf("lines %d to %d of %s", r.first, r.shown, total)}
	}
	if r.shown < lines || r.more {
		notes = append(notes, fmt.Sprintf("continue with offset %d", r.shown+1))
	}
	if r.editor != "" {
		notes = append(notes, r.editor)
	}
	if r.crlf {
		notes = append(notes, "lines end in CRLF")
	}
	if !r.ended && !r.more {
		notes = append(notes, "no newline at the end")
	}
	switch {
	case r.eightBit:
		notes = append(notes, "not UTF-8: every byte is shown as the character that Windows-1252 has for it")
	case r.bad:
		notes = append(notes, "not all of it is UTF-8: what could not be read is shown as \uFFFD")
	}
	return notes
}
