// This file defines the messages on the socket: a length, a kind, a JSON header and raw bytes.

package feed

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sandboxagent/editors"
)

// A message is
//
//	length of the rest (4 bytes) · kind (1 byte) · length of the header (2 bytes) · header (JSON) · body
//
// with lengths in big endian.
const (
	kindHello       = 'H' // hub → client, first: version, epoch
	kindSubscribe   = 'S' // client → hub: id, session
	kindUnsubscribe = 'U' // client → hub: id
	kindFrame       = 'F' // hub → client: id of the subscription, item, seq, attempt, stream, offset; body: data
	kindBell        = 'B' // hub → client: id of the subscription, seq
	kindCall        = 'C' // client → hub: id, method, timeout; body: params
	kindCancel      = 'X' // client → hub: id of a call
	kindResult      = 'R' // hub → client: id of a call, error; body: result
)

const (
	wireVersion   = 1
	prefixSize    = 4
	fixedSize     = 3 // kind and length of the header
	maxHeader     = 1<<16 - 1
	maxMessage    = fixedSize + maxHeader + MaxCallBytes
	maxErrorBytes = 4 << 10 // of each text of an error
)

// errMalformed means that the peer does not speak this protocol.
var errMalformed = errors.New("malformed message on the feed")

type header struct {
	Version int        `json:"v,omitempty"`
	Epoch   string     `json:"epoch,omitempty"` // of the hub; another epoch has other offsets
	ID      uint64     `json:"id,omitempty"`
	Session string     `json:"session,omitempty"`
	Item    string     `json:"item,omitempty"`
	Seq     int64      `json:"seq,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	Stream  string     `json:"stream,omitempty"`
	Offset  int64      `json:"offset,omitempty"`
	Method  string     `json:"method,omitempty"`
	Timeout int64      `json:"timeoutMs,omitempty"`
	Error   *callError `json:"error,omitempty"`
}

// callError is an *editors.Error on the wire.
type callError struct {
	editors.ErrorData
	Message string `json:"message"`
}

type message struct {
	kind   byte
	header header
	body   []byte
}

// appendMessage appends m to buf. Messages that break a limit are the sender's fault and an error.
func appendMessage(buf []byte, m message) ([]byte, error) {
	head, err := json.Marshal(m.header)
	if err != nil {
		return buf, fmt.Errorf("encoding a message for the feed: %w", err)
	}
	if len(head) > maxHeader || len(m.body) > MaxCallBytes {
		return buf, fmt.Errorf("message for the feed is too large: %d and %d bytes", len(head), len(m.body))
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(fixedSize+len(head)+len(m.body)))
	buf = append(buf, m.kind)
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(head)))
	buf = append(buf, head...)
	return append(buf, m.body...), nil
}

// readMessage reads one message. Its error is io.EOF between messages, and errMalformed for what is none.
func readMessage(r *bufio.Reader) (message, error) {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return message{}, err
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if length < fixedSize || length > maxMessage {
		return message{}, fmt.Errorf("%w: it claims a length of %d bytes", errMalformed, length)
	}
	buf := make([]byte, length)
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return message{}, fmt.Errorf("reading a message of the feed: %w", err)
	}
	end := fixedSize + int(binary.BigEndian.Uint16(buf[1:]))
	if end > len(buf) || len(buf)-end > MaxCallBytes {
		return message{}, fmt.Errorf("%w: its parts do not fit", errMalformed)
	}
	m := message{kind: buf[0], body: buf[end:]}
	if err := json.Unmarshal(buf[fixedSize:end], &m.header); err != nil {
		return message{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return m, nil
}

// encodeError turns the error of a handler into what is sent; it bounds the texts.
func encodeError(err error) *callError {
	var known *editors.Error
	if !errors.As(err, &known) {
		known = editors.Errorf(editors.CodeInternal, "%w", err)
	}
	e := &callError{ErrorData: known.ErrorData, Message: cut(known.Message)}
	e.Detail, e.Remedy = cut(e.Detail), cut(e.Remedy)
	return e
}

func cut(s string) string { return s[:min(len(s), maxErrorBytes)] }

// decode turns what was sent into the error that the caller gets.
func (e *callError) decode() error {
	return &editors.Error{ErrorData: e.ErrorData, Message: e.Message}
}
