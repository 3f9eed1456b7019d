// This file reads and writes the numbers and strings that objects are made of.

package tree

import (
	"encoding/binary"
	"fmt"
)

// Encoder appends values to a buffer.
type Encoder struct{ Buf []byte }

// Byte appends one byte.
func (e *Encoder) Byte(b byte) { e.Buf = append(e.Buf, b) }

// Uint appends an unsigned number.
func (e *Encoder) Uint(n uint64) { e.Buf = binary.AppendUvarint(e.Buf, n) }

// Int appends a signed number.
func (e *Encoder) Int(n int64) { e.Buf = binary.AppendVarint(e.Buf, n) }

// Hash appends a hash.
func (e *Encoder) Hash(h Hash) { e.Buf = append(e.Buf, h[:]...) }

// Text appends a string with its length.
func (e *Encoder) Text(s string) {
	e.Uint(uint64(len(s)))
	e.Buf = append(e.Buf, s...)
}

// Decoder takes values from a buffer that nobody vouches for. After the first error, which wraps ErrFormat, all values
// are zero.
type Decoder struct {
	buf []byte
	err error
}

// NewDecoder reads from b, which must not change while strings taken from it are in use.
func NewDecoder(b []byte) *Decoder { return &Decoder{buf: b} }

// Err returns the first error.
func (d *Decoder) Err() error { return d.err }

// More tells whether there is more to take.
func (d *Decoder) More() bool { return d.err == nil && len(d.buf) > 0 }

// End is Err, and an error also when something is left.
func (d *Decoder) End() error {
	if d.err == nil && len(d.buf) > 0 {
		d.Fail("%d bytes too many", len(d.buf))
	}
	return d.err
}

// Fail makes the decoder fail.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
	}
}

// Bytes takes n bytes; they belong to the buffer.
func (d *Decoder) Bytes(n int) []byte {
	if d.err == nil && (n < 0 || n > len(d.buf)) {
		d.Fail("it is cut short")
	}
	if d.err != nil {
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

// Byte takes one byte.
func (d *Decoder) Byte() byte {
	if b := d.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint takes an unsigned number.
func (d *Decoder) Uint() uint64 {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 {
		d.Fail("no number")
	}
	if d.err != nil {
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

// Int takes a signed number.
func (d *Decoder) Int() int64 {
	n, size := binary.Varint(d.buf)
	if size <= 0 {
		d.Fail("no number")
	}
	if d.err != nil {
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

// Hash takes a hash.
func (d *Decoder) Hash() Hash {
	var h Hash
	copy(h[:], d.Bytes(len(h)))
	return h
}

// Text takes a string of at most limit bytes.
func (d *Decoder) Text(limit int) string {
	n := d.Uint()
	if n > uint64(limit) {
		d.Fail("a text of %d bytes", n)
		return ""
	}
	return string(d.Bytes(int(n)))
}
