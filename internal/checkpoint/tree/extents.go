// This file encodes how a large file is made up of pieces. Pieces that are all zero are left out, so that a sparse file
// costs what is in it.

package tree

// Extent is a piece of a large file that is not all zero.
type Extent struct {
	Offset int64 // a multiple of ChunkSize
	Size   int   // bytes
	Hash   Hash
}

const minExtent = 1 + 32

// EncodeExtents returns the object of a file of that many bytes. The extents must be in order.
func EncodeExtents(extents []Extent) []byte {
	e := Encoder{Buf: make([]byte, 0, len(extents)*(minExtent+3))}
	for _, x := range extents {
		e.Uint(uint64(x.Offset / ChunkSize))
		e.Hash(x.Hash)
	}
	return e.Buf
}

// DecodeExtents is the inverse of EncodeExtents for a file of size bytes.
func DecodeExtents(object []byte, size int64) ([]Extent, error) {
	d := NewDecoder(object)
	extents := make([]Extent, 0, len(object)/minExtent)
	next := uint64(0)
	for d.More() {
		chunk, hash := d.Uint(), d.Hash()
		if d.err == nil && (chunk < next || chunk > uint64(size-1)/ChunkSize) {
			d.Fail("piece %d of %d bytes behind piece %d", chunk, size, next)
		}
		next = chunk + 1
		offset := int64(chunk) * ChunkSize
		extents = append(extents, Extent{Offset: offset, Size: int(min(ChunkSize, size-offset)), Hash: hash})
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return extents, nil
}

// IsZero tells whether b is all zero.
func IsZero(b []byte) bool {
	for len(b) >= 8 {
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			return false
		}
		b = b[8:]
	}
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
