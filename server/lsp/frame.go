// This file reads the frames of LSP: a bounded header with Content-Length, then a body it may buffer or must skip.

package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sandboxagent/editors"
)

// Bounds of what a client may send.
const (
	maxHeaderBytes = 8 << 10
	maxSkipBytes   = 64 << 20 // a larger message is not worth skipping: the framing is taken for broken
)

// FramingError says that the input is not LSP framing, after which no message can be found any more.
type FramingError struct{ Reason string }

// Error implements error.
func (e *FramingError) Error() string {
	return "This port speaks JSON-RPC 2.0 with Content-Length framing: " + e.Reason + "."
}

func framingf(format string, args ...any) *FramingError {
	return &FramingError{Reason: fmt.Sprintf(format, args...)}
}

// frameReader splits its input into frames.
type frameReader struct{ in *bufio.Reader }

func newFrameReader(in io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(in, 32<<10)}
}

// frame is one message: its body, or what was seen of a body that is too large to keep.
type frame struct {
	body    []byte
	size    int64
	skipped *outline // set instead of body
}

// next returns the next frame. At the end of the input it returns io.EOF, within a frame io.ErrUnexpectedEOF.
func (r *frameReader) next() (frame, error) {
	size, err := r.header()
	if err != nil {
		return frame{}, err
	}
	if size > maxSkipBytes {
		return frame{}, framingf("a Content-Length of %d is beyond every bound", size)
	}
	if size > editors.MaxMessageBytes {
		return r.skip(size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r.in, body); err != nil {
		return frame{}, unexpected(err)
	}
	return frame{body: body, size: size}, nil
}

// skip passes over a body, keeping only what is needed to answer it.
func (r *frameReader) skip(size int64) (frame, error) {
	scan := newOutliner()
	n, err := io.Copy(scan, io.LimitReader(r.in, size))
	if err == nil && n < size {
		err = io.EOF
	}
	if err != nil {
		return frame{}, unexpected(err)
	}
	return frame{size: size, skipped: scan.outline()}, nil
}

// header reads the header fields and returns the length of the body.
func (r *frameReader) header() (int64, error) {
	length := int64(-1)
	left := maxHeaderBytes
	for first := true; ; first = false {
		line, err := r.line(&left)
		if errors.Is(err, io.EOF) && first && line == "" {
			return 0, io.EOF
		}
		if err != nil {
			return 0, unexpected(err)
		}
		if line == "" {
			break
		}
		if length, err = field(line, length); err != nil {
			return 0, err
		}
	}
	if length < 0 {
		return 0, framingf("a header has no Content-Length")
	}
	return length, nil
}

// line reads a header line without its end. It judges each byte as it comes, so that input which is no header is
// refused at once and not when its first line ends.
func (r *frameReader) line(left *int) (string, error) {
	var line strings.Builder
	for named := false; ; *left-- {
		b, err := r.in.ReadByte()
		if err != nil {
			return line.String(), err
		}
		switch {
		case *left <= 0:
			return "", framingf("a header is longer than %d bytes", maxHeaderBytes)
		case b == '\n':
			return strings.TrimSuffix(line.String(), "\r"), nil
		case b == ':' && line.Len() > 0:
			named = true
		case !named && line.Len() == 0 && (b == '{' || b == '['):
			return "", framingf("a message begins with %q where a header must be", b)
		case !named && !isNameByte(b) && (b != '\r' || line.Len() > 0):
			return "", framingf("%q is no header field", clip(line.String()+string(rune(b)), 40))
		}
		line.WriteByte(b)
	}
}

func isNameByte(b byte) bool {
	return b == '-' || b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// field evaluates one header field; length is what an earlier field said, -1 for nothing.
func field(line string, length int64) (int64, error) {
	name, value, _ := strings.Cut(line, ":")
	if !strings.EqualFold(name, "Content-Length") {
		return length, nil // Content-Type and what future clients send
	}
	value = strings.TrimSpace(value)
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return 0, framingf("the Content-Length %q is no length", clip(value, 40))
	}
	if length >= 0 && length != int64(n) {
		return 0, framingf("a header has two lengths, %d and %d", length, n)
	}
	return int64(n), nil
}

// unexpected turns an end of input into one within a frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// clip keeps what is quoted short and whole.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
