// This file gathers the pieces of items that are being made, so that each attachment reads them at its own pace.

package core

import (
	"encoding/base64"
	"unicode/utf8"

	"sandboxagent/editors"
)

const (
	maxStreamBytes = 128 << 10 // kept of one stream of one open item
	maxDelta       = 48 << 10  // bytes in one delta
)

// frame is a piece of an item, from the feed or from a heartbeat.
type frame struct {
	item    string
	seq     int64 // of the item's start
	attempt int
	stream  string
	offset  int64
	data    []byte
}

// openItem is an item between its start and its completion.
type openItem struct {
	id      string
	seq     int64
	attempt int
	streams map[string]*stream
	names   []string // of streams, in the order in which they began
}

// stream is the latest part of one stream of the highest attempt.
type stream struct {
	start int64 // offset of data[0]
	data  []byte
}

func (s *stream) end() int64 { return s.start + int64(len(s.data)) }

// add takes a frame and tells whether it brought something new.
func (o *openItem) add(f frame) bool {
	if f.attempt < o.attempt {
		return false
	}
	if f.attempt > o.attempt || o.streams == nil {
		o.attempt, o.streams, o.names = f.attempt, make(map[string]*stream), nil
	}
	s := o.streams[f.stream]
	if s == nil {
		s = &stream{start: f.offset}
		o.streams[f.stream] = s
		o.names = append(o.names, f.stream)
	}
	return s.add(f.offset, f.data)
}

// add appends what lies beyond the end. What was missed in between is given up.
func (s *stream) add(offset int64, data []byte) bool {
	known := s.end() - offset
	if known >= int64(len(data)) {
		return false
	}
	if known < 0 {
		s.start, s.data, known = offset, nil, 0
	}
	s.data = append(s.data, data[known:]...)
	if over := len(s.data) - maxStreamBytes; over > 0 {
		s.data = append([]byte(nil), s.data[over:]...)
		s.start += int64(over)
	}
	return true
}

// place is how far an attachment has read one stream.
type place struct {
	attempt int
	offset  int64
	n       int64
}

// next returns the delta after p and where it leads; ok is false when there is nothing new. A number is skipped where
// data was lost. A rune that is not complete waits for its rest.
func (o *openItem) next(name string, p place) (e editors.Event, to place, ok bool) {
	s := o.streams[name]
	if p.attempt != o.attempt {
		p = place{attempt: o.attempt}
	}
	if p.offset < s.start {
		p.n, p.offset = p.n+1, s.start
	}
	if p.offset >= s.end() {
		return e, p, false
	}
	data := s.data[p.offset-s.start:]
	data = data[:min(len(data), maxDelta)]
	text, encoding, taken := encode(data)
	if taken == 0 {
		return e, p, false
	}
	e = editors.Event{
		Type: editors.ItemDelta, ItemID: o.id, Attempt: o.attempt, N: p.n, Stream: name, Data: text, Encoding: encoding,
	}
	return e, place{attempt: p.attempt, offset: p.offset + int64(taken), n: p.n + 1}, true
}

// The encodings of data.
const (
	encodingUTF8   = "utf8"
	encodingBase64 = "base64"
)

// encode returns data as text and how much of it that is: all but a rune at the end whose rest is still to come.
func encode(data []byte) (text, encoding string, taken int) {
	whole := wholeRunes(data)
	if utf8.Valid(data[:whole]) {
		return string(data[:whole]), encodingUTF8, whole
	}
	return encodeRaw(data), encodingBase64, len(data)
}

func encodeRaw(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// wholeRunes is the length of data without the beginning of a rune at its end.
func wholeRunes(data []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		at := len(data) - back
		if !utf8.RuneStart(data[at]) {
			continue
		}
		if !utf8.FullRune(data[at:]) {
			return at
		}
		break
	}
	return len(data)
}
