// Package wire is the protocol between a worker and the helper inside a sandbox: bounded frames over any byte stream,
// assembled into messages, of which every request gets exactly one reply.
//
// A frame is a big-endian u32 length of what follows, a u8 kind, a u32 stream and a payload. The stream pairs a reply
// with its request; bodies travel in small data frames so that a large one never blocks the others for long.
// This file holds the frames.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Protocol is the version of everything in this package; the two ends must agree on it.
const Protocol = 1

// MaxFrame bounds a frame in bytes, its length field not counted. A sandbox is not trusted: this bounds what one frame
// can make the other end allocate.
const MaxFrame = 4 << 20

const (
	lengthSize = 4
	headSize   = 5 // kind and stream
)

// ErrFrame says that the peer does not speak this protocol. The connection is of no use afterwards.
var ErrFrame = errors.New("malformed frame")

// Kind tells what a frame carries.
type Kind byte

// The kinds of frame.
const (
	KindHello   Kind = 1 // the first frame of either direction
	KindRequest Kind = 2
	KindReply   Kind = 3
	KindData    Kind = 4 // a piece of the body of the request or reply of the same stream
	KindCancel  Kind = 5 // the requester lost interest in the stream
)

// Frame is the unit on the wire.
type Frame struct {
	Kind    Kind
	Stream  uint32
	Payload []byte
}

// AppendFrame appends f, encoded, to b. The payload must fit into MaxFrame.
func AppendFrame(b []byte, f Frame) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(headSize+len(f.Payload)))
	b = append(b, byte(f.Kind))
	b = binary.BigEndian.AppendUint32(b, f.Stream)
	return append(b, f.Payload...)
}

// ReadFrame reads one frame. It returns io.EOF only between frames, and ErrFrame for what is none.
func ReadFrame(r io.Reader) (Frame, error) {
	var head [lengthSize + headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < headSize || n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: length %d", ErrFrame, n)
	}
	f := Frame{Kind: Kind(head[lengthSize]), Stream: binary.BigEndian.Uint32(head[lengthSize+1:]), Payload: make([]byte, n-headSize)}
	if f.Kind < KindHello || f.Kind > KindCancel {
		return Frame{}, fmt.Errorf("%w: kind %d", ErrFrame, f.Kind)
	}
	if _, err := io.ReadFull(r, f.Payload); err != nil {
		return Frame{}, fmt.Errorf("frame cut short: %w", io.ErrUnexpectedEOF)
	}
	return f, nil
}
