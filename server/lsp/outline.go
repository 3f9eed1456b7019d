// This file finds the few fields needed to answer a message that is too large to be kept, in constant memory.

package lsp

import "strings"

// Bounds of an outline.
const (
	outlineDepth = 3   // params.textDocument.uri is the deepest field of interest
	outlineValue = 512 // bytes kept of a key or scalar
)

// outline is what was seen of a skipped message; the values are JSON text, empty when absent or too long.
type outline struct {
	ID     string
	Method string
	URI    string // params.textDocument.uri
}

// outliner scans JSON text as it passes by. It tracks depth and strings only; what it finds in malformed text is
// meaningless but bounded.
type outliner struct {
	found map[string]string // by path
	path  [outlineDepth + 1]string
	depth int

	token    strings.Builder
	tooLong  bool
	inString bool
	escaped  bool
}

func newOutliner() *outliner { return &outliner{found: make(map[string]string)} }

// Write implements io.Writer; it never fails.
func (o *outliner) Write(p []byte) (int, error) {
	for _, b := range p {
		if o.inString {
			o.stringByte(b)
			continue
		}
		o.byte(b)
	}
	return len(p), nil
}

func (o *outliner) stringByte(b byte) {
	o.keep(b)
	switch {
	case o.escaped:
		o.escaped = false
	case b == '\\':
		o.escaped = true
	case b == '"':
		o.inString = false
	}
}

func (o *outliner) byte(b byte) {
	switch b {
	case '"':
		o.inString = true
		o.keep(b)
	case ':':
		o.setKey(o.take())
	case '{', '[':
		o.take()
		o.depth++
		o.setKey("")
	case ',':
		o.value()
	case '}', ']':
		o.value()
		o.depth--
	case ' ', '\t', '\r', '\n':
	default:
		o.keep(b)
	}
}

func (o *outliner) keep(b byte) {
	if o.depth > outlineDepth || o.depth < 1 {
		return
	}
	if o.token.Len() >= outlineValue {
		o.tooLong = true
		return
	}
	o.token.WriteByte(b)
}

func (o *outliner) take() string {
	token := o.token.String()
	if o.tooLong {
		token = ""
	}
	o.token.Reset()
	o.tooLong = false
	return token
}

func (o *outliner) setKey(key string) {
	if o.depth >= 1 && o.depth <= outlineDepth {
		o.path[o.depth] = strings.Trim(key, `"`)
	}
}

// value records the scalar that just ended when its path is of interest.
func (o *outliner) value() {
	token := o.take()
	if token == "" || o.depth < 1 || o.depth > outlineDepth {
		return
	}
	switch path := strings.Join(o.path[1:o.depth+1], "."); path {
	case "id", "method", "params.textDocument.uri":
		o.found[path] = token
	}
}

func (o *outliner) outline() *outline {
	return &outline{ID: o.found["id"], Method: o.found["method"], URI: o.found["params.textDocument.uri"]}
}
