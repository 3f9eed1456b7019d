// This file reads git's index as far as it says what is staged, leaving out when files were last looked at.

package repo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

const (
	headerBytes = 12
	statBytes   = 40 // of an entry: times, device, inode, mode, owner, size
	modeAt      = 24 // in those
	nameMask    = 0x0fff
	extendedBit = 0x4000
	padding     = 8
	maxName     = 4096 // bytes; version 4 lets few bytes stand for very many
)

// SameIndex tells whether two index files stage the same: paths, permissions, objects and stages. Of what it cannot read it
// compares the bytes.
func SameIndex(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	for _, size := range []int{20, 32} {
		x, ok := staged(a, size)
		if !ok {
			continue
		}
		if y, ok := staged(b, size); ok {
			return bytes.Equal(x, y)
		}
	}
	return false
}

// staged returns a digest of what an index stages. size is that of object names, in bytes.
func staged(index []byte, size int) ([]byte, bool) {
	if len(index) < headerBytes+size || string(index[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil, false
	}
	r := indexReader{left: index[headerBytes : len(index)-size], size: size, version: version, out: sha256.New()}
	for range count {
		if !r.entry() {
			return nil, false
		}
	}
	return r.out.Sum(nil), r.extensions()
}

type indexReader struct {
	left    []byte
	size    int // of object names
	version uint32
	name    []byte // of the entry before
	out     hash.Hash
}

// entry reads one entry: stat data, object, flags, name.
func (r *indexReader) entry() bool {
	fixed := statBytes + r.size + 2
	if len(r.left) < fixed {
		return false
	}
	entry := r.left
	flags := binary.BigEndian.Uint16(entry[fixed-2:])
	meaning := []byte{byte(flags >> 12), 0, 0} // assumed unchanged, extended, stage
	if flags&extendedBit != 0 {
		if r.version < 3 || len(entry) < fixed+2 {
			return false
		}
		copy(meaning[1:], entry[fixed:fixed+2])
		fixed += 2
	}
	name, end, ok := r.entryName(entry[fixed:], int(flags&nameMask))
	if !ok {
		return false
	}
	end += fixed
	if len(name) > maxName {
		return false
	}
	if r.version < 4 {
		end = end/padding*padding + padding // at least one NUL
	}
	if end > len(entry) {
		return false
	}
	r.out.Write(entry[modeAt : modeAt+4])
	r.out.Write(entry[statBytes : statBytes+r.size])
	r.out.Write(meaning)
	r.out.Write(name)
	r.out.Write([]byte{0})
	r.name, r.left = name, entry[end:]
	return true
}

// entryName returns the name at the beginning of b, and where it ends: in version 4 behind its NUL, else before it.
func (r *indexReader) entryName(b []byte, length int) (name []byte, end int, ok bool) {
	if r.version < 4 {
		if length == nameMask { // or longer
			length = bytes.IndexByte(b, 0)
		}
		if length < 0 || length > len(b) {
			return nil, 0, false
		}
		return b[:length], length, true
	}
	drop, n := offset(b)
	if n == 0 || drop > uint64(len(r.name)) {
		return nil, 0, false
	}
	stop := bytes.IndexByte(b[n:], 0)
	if stop < 0 {
		return nil, 0, false
	}
	kept := r.name[:len(r.name)-int(drop)]
	return append(append([]byte{}, kept...), b[n:n+stop]...), n + stop + 1, true
}

// offset reads a number as git's packs write offsets; n is 0 when there is none.
func offset(b []byte) (value uint64, n int) {
	for i, c := range b {
		if i > 0 {
			value++
		}
		value = value<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
		if i == 8 {
			break
		}
	}
	return 0, 0
}

// extensions tells whether everything behind the entries may be passed over: those that may not have names in lower case.
func (r *indexReader) extensions() bool {
	for len(r.left) > 0 {
		if len(r.left) < 8 || r.left[0] < 'A' || r.left[0] > 'Z' {
			return false
		}
		size := uint64(binary.BigEndian.Uint32(r.left[4:])) + 8
		if size > uint64(len(r.left)) {
			return false
		}
		r.left = r.left[size:]
	}
	return true
}
