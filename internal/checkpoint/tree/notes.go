// This file encodes what a picture could not hold, so that nobody takes it for the whole.

package tree

import (
	"cmp"
	"slices"
	"strings"
)

// Reason says why a path is not in a picture, or not as it was.
type Reason byte

// The reasons. All but Changing mean that the path and what is below it are not in the picture.
const (
	Pipe       Reason = 1
	Socket     Reason = 2
	Device     Reason = 3
	Mount      Reason = 4  // another file system
	TooLarge   Reason = 5  // a single file over the limit
	Excluded   Reason = 6  // by a pattern
	Unreadable Reason = 7  // the picture is partial
	TooDeep    Reason = 8  // more than MaxDepth directories; the picture is partial
	Changing   Reason = 9  // it kept changing while it was read: what was read may never have been there at one time
	Unfinished Reason = 10 // a restore that is being made, or was cut short: half of it may be in the picture, which is partial
)

var reasons = map[Reason]string{
	Pipe: "a pipe", Socket: "a socket", Device: "a device", Mount: "another file system", TooLarge: "larger than the limit",
	Excluded: "excluded", Unreadable: "cannot be read", TooDeep: "too deep", Changing: "kept changing while it was read",
	Unfinished: "an unfinished restore, of which half may be in the checkpoint",
}

// String says it in words.
func (r Reason) String() string { return reasons[r] }

// Left tells whether the path is not in the picture.
func (r Reason) Left() bool { return r != Changing }

// Partial tells whether the picture lacks what it should hold.
func (r Reason) Partial() bool { return r == Unreadable || r == TooDeep || r == Unfinished }

// Holds tells whether what is there has content that is nowhere else: all but pipes, sockets and devices.
func (r Reason) Holds() bool {
	return r.Left() && r != Pipe && r != Socket && r != Device && r != Unfinished
}

// Note is one path with its reason.
type Note struct {
	Path   string
	Reason Reason
	Size   int64 // bytes of a file, where that is the reason
}

// MaxNotes bounds the notes of one picture; one with more of them is refused.
const MaxNotes = 50_000

const maxPath = 1 << 20 // bytes

// EncodeNotes returns the object of notes, which it sorts by path. There is none for no notes.
func EncodeNotes(notes []Note) []byte {
	slices.SortFunc(notes, func(a, b Note) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	var e Encoder
	for _, n := range notes {
		e.Byte(byte(n.Reason))
		e.Uint(uint64(n.Size))
		e.Text(n.Path)
	}
	return e.Buf
}

// DecodeNotes is the inverse of EncodeNotes.
func DecodeNotes(object []byte) ([]Note, error) {
	var notes []Note
	d := NewDecoder(object)
	for d.More() {
		n := Note{Reason: Reason(d.Byte()), Size: int64(d.Uint()), Path: d.Text(maxPath)}
		if reasons[n.Reason] == "" || n.Size < 0 || len(notes) >= MaxNotes {
			d.Fail("reason %d, size %d", n.Reason, n.Size)
		}
		notes = append(notes, n)
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return notes, nil
}
