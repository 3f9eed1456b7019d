// This file makes text of files that are not UTF-8, so that editing a line leaves the bytes of all others as they are.

package patch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// encoding is how a file's bytes become text and text becomes its bytes.
type encoding int

// The encodings. Bytes that do not fit the UTF-8 around them stand in text as characters from beyond those that are used.
const (
	utf8Text encoding = iota
	eightBit          // every byte is a character
	strayed           // UTF-8 with bytes in between that are not
)

// firstStray stands for the byte 0.
const firstStray = 0x10FF00

// DecodeEightBit returns the text of a file whose every byte is a character, as Windows-1252 has them: it is the encoding most
// files that are not UTF-8 are in, and no byte is lost in any other.
func DecodeEightBit(data []byte) string {
	var out strings.Builder
	for _, b := range data {
		out.WriteRune(character(b))
	}
	return out.String()
}

// character is what a byte stands for in Windows-1252; bytes that stand for nothing are taken for control characters.
func character(b byte) rune {
	if r := charmap.Windows1252.DecodeByte(b); r != utf8.RuneError {
		return r
	}
	return rune(b)
}

// byteOf is the byte of a character.
func byteOf(r rune) (b byte, ok bool) {
	if b, ok := charmap.Windows1252.EncodeRune(r); ok {
		return b, true
	}
	return byte(r), r >= 0x80 && r < 0xA0 && character(byte(r)) == r
}

// EightBit says whether data is text of that kind: it is not UTF-8, nor is any of it.
func EightBit(data []byte) bool {
	return !utf8.Valid(data) && !hasLongRunes(data)
}

// decode returns data as text; ok is false when it cannot be told from what encode would make of other bytes.
func decode(data []byte) (text string, e encoding, ok bool) {
	if utf8.Valid(data) {
		return string(data), utf8Text, true
	}
	if EightBit(data) {
		return DecodeEightBit(data), eightBit, true
	}
	var out strings.Builder
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case isStray(r):
			return "", strayed, false
		case r == utf8.RuneError && n == 1:
			r = firstStray + rune(data[0])
		}
		out.WriteRune(r)
		data = data[n:]
	}
	return out.String(), strayed, true
}

// hasLongRunes says whether any UTF-8 beyond ASCII is in data.
func hasLongRunes(data []byte) bool {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if n > 1 && r != utf8.RuneError {
			return true
		}
		data = data[n:]
	}
	return false
}

// encode returns the bytes of text; it names the first character that they cannot hold.
func (e encoding) encode(text string) (data []byte, alien rune) {
	if e == utf8Text {
		return []byte(text), 0
	}
	var out bytes.Buffer
	for _, r := range text {
		b, fits := byteOf(r)
		switch {
		case e == strayed && isStray(r):
			out.WriteByte(byte(r - firstStray))
		case e == strayed:
			out.WriteRune(r)
		case fits:
			out.WriteByte(b)
		default:
			return nil, r
		}
	}
	return out.Bytes(), 0
}

func isStray(r rune) bool { return r >= firstStray && r <= firstStray+0xFF }

// blurred returns text with every run of stray bytes as a reader is shown it.
func blurred(text string) string {
	if !strings.ContainsFunc(text, isStray) {
		return text
	}
	var out strings.Builder
	before := false
	for _, r := range text {
		stray := isStray(r)
		switch {
		case stray && !before:
			out.WriteRune(utf8.RuneError)
		case !stray:
			out.WriteRune(r)
		}
		before = stray
	}
	return out.String()
}
