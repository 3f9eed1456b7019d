// This file reads which files git tracks.

package repo

import (
	"crypto/sha256"
	"encoding/binary"
)

// maxTracked bounds the names of an index, in bytes: version 4 lets few bytes stand for very many.
const maxTracked = 256 << 20

// Tracked returns the paths that an index stages; ok is false when it cannot be read, as one that is split.
func Tracked(index []byte) (paths []string, ok bool) {
	for _, size := range []int{20, 32} {
		if paths, ok = tracked(index, size); ok {
			return paths, true
		}
	}
	return nil, false
}

func tracked(index []byte, size int) (paths []string, ok bool) {
	if len(index) < headerBytes+size || string(index[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil, false
	}
	r := indexReader{left: index[headerBytes : len(index)-size], size: size, version: version, out: sha256.New()}
	total := 0
	for range count {
		if !r.entry() {
			return nil, false
		}
		if total += len(r.name); total > maxTracked {
			return nil, false
		}
		paths = append(paths, string(r.name))
	}
	return paths, r.extensions()
}
