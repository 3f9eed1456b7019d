// This file keeps the latest bytes of one item.

package feed

import (
	"sort"
	"unicode/utf8"
)

const (
	maxSegments  = 1024     // of one item
	segmentBytes = 8 << 10  // deltas are joined up to this size
	maxFrameData = 32 << 10 // of one frame on the wire
)

// item is an item that is being made. Positions count its bytes over all streams, in the order they came.
type item struct {
	topic    *topic
	id       string
	seq      int64
	attempt  int
	done     bool // no more comes; kept for subscribers that are behind
	segments []segment
	end      int64            // position after the last byte
	offsets  map[string]int64 // how many bytes of each stream came
}

// segment is a run of bytes of one stream. Its data only grows at the end, so that slices of it stay as they are.
type segment struct {
	stream string
	pos    int64 // in the item
	offset int64 // in the stream
	data   []byte
}

// size is the number of bytes kept.
func (it *item) size() int64 {
	if len(it.segments) == 0 {
		return 0
	}
	return it.end - it.segments[0].pos
}

// append adds data and drops the oldest bytes that are too many.
func (it *item) append(stream string, data []byte) {
	if skip := len(data) - RingBytes; skip > 0 { // the beginning could not stay anyway
		skip = nextRune(data, skip)
		it.segments = it.segments[:0:0]
		it.end += int64(skip)
		it.offsets[stream] += int64(skip)
		data = data[skip:]
	}
	it.add(stream, data)
	it.end += int64(len(data))
	it.offsets[stream] += int64(len(data))
	it.trim()
}

func (it *item) add(stream string, data []byte) {
	if n := len(it.segments); n > 0 {
		last := &it.segments[n-1]
		if last.stream == stream && len(last.data)+len(data) <= segmentBytes {
			last.data = append(last.data, data...)
			return
		}
	}
	it.segments = append(it.segments, segment{
		stream: stream, pos: it.end, offset: it.offsets[stream], data: append([]byte(nil), data...),
	})
}

// trim drops the oldest bytes beyond the limits.
func (it *item) trim() {
	for len(it.segments) > maxSegments {
		it.dropFirst()
	}
	for excess := it.size() - RingBytes; excess > 0; excess = it.size() - RingBytes {
		first := &it.segments[0]
		if excess >= int64(len(first.data)) {
			it.dropFirst()
			continue
		}
		n := nextRune(first.data, int(excess))
		first.data, first.pos, first.offset = first.data[n:], first.pos+int64(n), first.offset+int64(n)
	}
}

func (it *item) dropFirst() {
	it.segments[0] = segment{}
	it.segments = it.segments[1:]
}

// next returns the bytes from position pos on that fit one frame, and the position after them. Without any, data is empty.
func (it *item) next(pos int64) (run segment, after int64) {
	i := sort.Search(len(it.segments), func(i int) bool {
		return it.segments[i].pos+int64(len(it.segments[i].data)) > pos
	})
	if i == len(it.segments) {
		return segment{}, it.end
	}
	s := it.segments[i]
	skip := max(pos-s.pos, 0)
	data := s.data[skip:]
	if len(data) > maxFrameData {
		data = data[:lastRune(data, maxFrameData)]
	}
	s.pos, s.offset, s.data = s.pos+skip, s.offset+skip, data[:len(data):len(data)]
	return s, s.pos + int64(len(data))
}

// nextRune returns the first index from i on where no UTF-8 sequence is split.
func nextRune(data []byte, i int) int {
	for range utf8.UTFMax - 1 {
		if i == len(data) || utf8.RuneStart(data[i]) {
			break
		}
		i++
	}
	return i
}

// lastRune returns the last index up to i where no UTF-8 sequence is split.
func lastRune(data []byte, i int) int {
	for back := range utf8.UTFMax {
		if utf8.RuneStart(data[i-back]) {
			return i - back
		}
	}
	return i
}
