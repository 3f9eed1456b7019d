// This file assembles frames into messages and keeps concurrent senders apart.

package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Bounds of what a connection carries.
const (
	MaxBody   = 64 << 20  // bytes of one message's body
	maxHeld   = 96 << 20  // bytes of all bodies being assembled
	maxParts  = 64        // bodies being assembled
	dataSize  = 256 << 10 // bytes of one data frame
	writeTime = 30 * time.Second
)

// ErrTooLarge says that a message exceeds what one may carry; nothing was sent.
var ErrTooLarge = errors.New("message too large")

// Message is a control payload (JSON) with an optional body of raw bytes.
type Message struct {
	Kind   Kind
	Stream uint32
	Header []byte
	Body   []byte
}

// Conn carries messages over a byte stream. Send may be called concurrently, Recv by one goroutine.
type Conn struct {
	rwc    io.ReadWriteCloser
	r      *bufio.Reader
	parts  map[uint32]*part
	held   int
	wmu    sync.Mutex
	closed sync.Once
}

type part struct {
	msg  Message
	want int
}

// NewConn makes a connection of rwc, which it owns from then on.
func NewConn(rwc io.ReadWriteCloser) *Conn {
	return &Conn{rwc: rwc, r: bufio.NewReaderSize(rwc, 64<<10), parts: map[uint32]*part{}}
}

// Close closes the stream below; a blocked Send or Recv returns.
func (c *Conn) Close() error {
	var err error
	c.closed.Do(func() { err = c.rwc.Close() })
	return err
}

// SetReadDeadline bounds Recv where the stream below can do that; elsewhere it does nothing.
func (c *Conn) SetReadDeadline(t time.Time) {
	if d, ok := c.rwc.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(t)
	}
}

// Send writes m. Large bodies go out in pieces between which other senders get their turn. After any error but
// ErrTooLarge the connection is closed.
func (c *Conn) Send(m Message) error {
	if len(m.Header) > MaxFrame-headSize-lengthSize || len(m.Body) > MaxBody {
		return ErrTooLarge
	}
	payload := m.Header
	if m.Kind == KindRequest || m.Kind == KindReply {
		payload = binary.BigEndian.AppendUint32(make([]byte, 0, lengthSize+len(m.Header)), uint32(len(m.Body)))
		payload = append(payload, m.Header...)
	}
	first := m.Body[:min(len(m.Body), dataSize)]
	buf := AppendFrame(make([]byte, 0, len(payload)+len(first)+32), Frame{m.Kind, m.Stream, payload})
	if len(first) > 0 {
		buf = AppendFrame(buf, Frame{KindData, m.Stream, first})
	}
	if err := c.write(buf); err != nil {
		return err
	}
	for rest := m.Body[len(first):]; len(rest) > 0; {
		piece := rest[:min(len(rest), dataSize)]
		rest = rest[len(piece):]
		buf = AppendFrame(buf[:0], Frame{KindData, m.Stream, piece})
		if err := c.write(buf); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) write(b []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if d, ok := c.rwc.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(writeTime))
	}
	if _, err := c.rwc.Write(b); err != nil {
		_ = c.Close()
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// Recv returns the next complete message.
func (c *Conn) Recv() (Message, error) {
	for {
		f, err := ReadFrame(c.r)
		if err != nil {
			return Message{}, err
		}
		switch f.Kind {
		case KindHello, KindCancel:
			c.drop(f.Stream)
			return Message{Kind: f.Kind, Stream: f.Stream, Header: f.Payload}, nil
		case KindRequest, KindReply:
			m, done, err := c.begin(f)
			if err != nil || done {
				return m, err
			}
		case KindData:
			m, done, err := c.extend(f)
			if err != nil || done {
				return m, err
			}
		}
	}
}

func (c *Conn) begin(f Frame) (Message, bool, error) {
	if len(f.Payload) < lengthSize {
		return Message{}, false, fmt.Errorf("%w: no body length", ErrFrame)
	}
	want := int(binary.BigEndian.Uint32(f.Payload))
	m := Message{Kind: f.Kind, Stream: f.Stream, Header: f.Payload[lengthSize:]}
	if want == 0 {
		return m, true, nil
	}
	if want > MaxBody || len(c.parts) >= maxParts || c.parts[f.Stream] != nil {
		return Message{}, false, fmt.Errorf("%w: body of %d bytes", ErrFrame, want)
	}
	c.parts[f.Stream] = &part{msg: m, want: want}
	return Message{}, false, nil
}

func (c *Conn) extend(f Frame) (Message, bool, error) {
	p := c.parts[f.Stream]
	if p == nil { // of a cancelled stream
		return Message{}, false, nil
	}
	if len(p.msg.Body)+len(f.Payload) > p.want || c.held+len(f.Payload) > maxHeld {
		return Message{}, false, fmt.Errorf("%w: body longer than announced or allowed", ErrFrame)
	}
	p.msg.Body = append(p.msg.Body, f.Payload...)
	c.held += len(f.Payload)
	if len(p.msg.Body) < p.want {
		return Message{}, false, nil
	}
	c.drop(f.Stream)
	return p.msg, true, nil
}

func (c *Conn) drop(stream uint32) {
	if p := c.parts[stream]; p != nil {
		c.held -= len(p.msg.Body)
		delete(c.parts, stream)
	}
}
