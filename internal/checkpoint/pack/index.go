// This file encodes what a pack holds and where.

package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"sandboxagent/internal/checkpoint/tree"
)

// An index is the magic, a record for each object (its hash, then the position and size of the frame in the pack, the
// size of the frame's content, and the position and size of the object in that), and the SHA-256 of all that.
const (
	indexMagic  = "sbxidx1\n"
	packMagic   = "sbxpack1"
	indexRecord = sha256.Size + 8 + 4*4
)

type record struct {
	hash tree.Hash
	location
}

func encodeIndex(records []record) []byte {
	b := make([]byte, 0, len(indexMagic)+len(records)*indexRecord+sha256.Size)
	b = append(b, indexMagic...)
	for _, r := range records {
		b = append(b, r.hash[:]...)
		b = binary.LittleEndian.AppendUint64(b, uint64(r.at))
		for _, n := range []uint32{r.packed, r.raw, r.offset, r.objectBytes} {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decodeIndex reads the index of a pack of size bytes.
func decodeIndex(b []byte, size int64) ([]record, error) {
	if len(b) < len(indexMagic)+sha256.Size || !bytes.HasPrefix(b, []byte(indexMagic)) {
		return nil, fmt.Errorf("%w: no index of this version", tree.ErrFormat)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if tree.Sum(body) != tree.Hash(sum) {
		return nil, fmt.Errorf("%w: the checksum of an index", tree.ErrFormat)
	}
	body = body[len(indexMagic):]
	if len(body)%indexRecord != 0 {
		return nil, fmt.Errorf("%w: an index cut short", tree.ErrFormat)
	}
	records := make([]record, 0, len(body)/indexRecord)
	for ; len(body) > 0; body = body[indexRecord:] {
		var r record
		copy(r.hash[:], body)
		n := body[sha256.Size:]
		r.at = int64(binary.LittleEndian.Uint64(n))
		r.packed, r.raw = binary.LittleEndian.Uint32(n[8:]), binary.LittleEndian.Uint32(n[12:])
		r.offset, r.objectBytes = binary.LittleEndian.Uint32(n[16:]), binary.LittleEndian.Uint32(n[20:])
		if r.at < int64(len(packMagic)) || r.at > size-int64(r.packed) || r.raw > maxFrame || uint64(r.offset)+uint64(r.objectBytes) > uint64(r.raw) {
			return nil, fmt.Errorf("%w: an index that leads out of its pack", tree.ErrFormat)
		}
		records = append(records, r)
	}
	return records, nil
}
