// This file frames the messages of a streamed call: a byte of flags, a length, and JSON.

package e2b

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

const (
	flagEnd  = 0x02    // the last message, which says whether the call succeeded
	maxFrame = 4 << 20 // bytes; the daemon sends 32 KiB of output at a time
)

// enframe puts the one message of a request into a frame.
func enframe(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text)))
	return append(head, text...), nil
}

// deframe reads a frame, using buf if it is large enough.
func deframe(r *bufio.Reader, buf []byte) (flags byte, message []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[1:]))
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a message of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	message = buf[:n]
	if _, err := io.ReadFull(r, message); err != nil {
		return 0, nil, fmt.Errorf("message cut short: %w", io.ErrUnexpectedEOF)
	}
	return head[0], message, nil
}
