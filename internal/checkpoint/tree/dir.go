// This file encodes entries and the directories that they make up.

package tree

import "encoding/binary"

const (
	flagChunked = 0x10
	flagGroup   = 0x20
	kindMask    = 0x0f
)

// Entry appends an entry.
func (e *Encoder) Entry(x *Entry) {
	kind := byte(x.Kind)
	if x.Chunked {
		kind |= flagChunked
	}
	if x.Group != 0 {
		kind |= flagGroup
	}
	e.Byte(kind)
	e.Buf = binary.LittleEndian.AppendUint16(e.Buf, x.Mode)
	e.Int(x.Mtime)
	e.Text(x.Name)
	switch x.Kind {
	case File:
		e.Uint(uint64(x.Size))
		e.Hash(x.Hash)
	case Dir:
		e.Hash(x.Hash)
	case Link:
		e.Text(x.Target)
	}
	if x.Group != 0 {
		e.Buf = binary.LittleEndian.AppendUint64(e.Buf, x.Group)
	}
}

// Entry takes an entry whose name and values may stand in a tree.
func (d *Decoder) Entry() Entry {
	kind := d.Byte()
	x := Entry{Kind: Kind(kind & kindMask), Chunked: kind&flagChunked != 0}
	if b := d.Bytes(2); b != nil {
		x.Mode = binary.LittleEndian.Uint16(b)
	}
	x.Mtime = d.Int()
	x.Name = d.Text(MaxName)
	switch x.Kind {
	case File:
		x.Size = int64(d.Uint())
		x.Hash = d.Hash()
	case Dir:
		x.Hash = d.Hash()
	case Link:
		x.Target = d.Text(MaxTarget)
	default:
		d.Fail("kind %d", kind)
	}
	if kind&flagGroup != 0 {
		if b := d.Bytes(8); b != nil {
			x.Group = binary.LittleEndian.Uint64(b)
		}
	}
	if kind&^(kindMask|flagChunked|flagGroup) != 0 || (x.Kind != File && (x.Chunked || x.Group != 0)) {
		d.Fail("flags %x", kind)
	}
	if d.err == nil {
		d.err = x.check()
	}
	return x
}

// EncodeDir returns the object of a directory. The entries must be sorted by name.
func EncodeDir(entries []Entry) []byte {
	e := Encoder{Buf: make([]byte, 0, len(entries)*80)}
	for i := range entries {
		e.Entry(&entries[i])
	}
	return e.Buf
}

// DecodeDir is the inverse of EncodeDir, for bytes that nobody vouches for: the entries are sorted and no name is there
// twice.
func DecodeDir(object []byte) ([]Entry, error) {
	entries := make([]Entry, 0, len(object)/80)
	d := NewDecoder(object)
	for d.More() {
		x := d.Entry()
		if n := len(entries); d.err == nil && n > 0 && x.Name <= entries[n-1].Name {
			d.Fail("%q stands behind %q", x.Name, entries[n-1].Name)
		}
		entries = append(entries, x)
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return entries, nil
}
