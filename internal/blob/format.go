// This file defines how an object lies on disk: a small header, then the content, compressed when that is smaller.

package blob

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// An object on disk is headerSize bytes of header and the payload. The header is
//
//	version (1 byte) · encoding (1 byte) · reserved, zero (2 bytes) · length of the content (4 bytes, big endian)
const (
	headerSize    = 8
	formatVersion = 1

	encodingPlain = 0
	encodingZstd  = 1

	minCompress = 128 // bytes; below, compression does not pay
)

// The coders are shared by all stores: EncodeAll and DecodeAll are safe for concurrent use and pool their state.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxObject), zstd.WithDecodeAllCapLimit(true))
	})
)

// encodeObject returns what is written to disk for data.
func encodeObject(data []byte) ([]byte, error) {
	header := [headerSize]byte{formatVersion, encodingPlain}
	binary.BigEndian.PutUint32(header[4:], uint32(len(data)))
	if len(data) >= minCompress {
		enc, err := encoder()
		if err != nil {
			return nil, fmt.Errorf("preparing compression: %w", err)
		}
		header[1] = encodingZstd
		object := enc.EncodeAll(data, append(make([]byte, 0, headerSize+len(data)/2), header[:]...))
		if len(object) < headerSize+len(data) {
			return object, nil
		}
		header[1] = encodingPlain
	}
	return append(append(make([]byte, 0, headerSize+len(data)), header[:]...), data...), nil
}

// decodeObject is the inverse of encodeObject for untrusted bytes: it allocates at most MaxObject bytes and fails with
// ErrCorrupt.
func decodeObject(object []byte) ([]byte, error) {
	if len(object) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes are no object", ErrCorrupt, len(object))
	}
	header, payload := object[:headerSize], object[headerSize:]
	length := binary.BigEndian.Uint32(header[4:])
	switch {
	case header[0] != formatVersion:
		return nil, fmt.Errorf("%w: unknown format version %d", ErrCorrupt, header[0])
	case header[2] != 0 || header[3] != 0:
		return nil, fmt.Errorf("%w: unknown format flags", ErrCorrupt)
	case length > MaxObject:
		return nil, fmt.Errorf("%w: it claims a length of %d bytes", ErrCorrupt, length)
	}
	switch header[1] {
	case encodingPlain:
		if int(length) != len(payload) {
			return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrCorrupt, len(payload), length)
		}
		return payload, nil
	case encodingZstd:
		return decompress(payload, int(length))
	}
	return nil, fmt.Errorf("%w: unknown encoding %d", ErrCorrupt, header[1])
}

// decompress expands payload to exactly length bytes; the capacity of the result bounds what is made of it.
func decompress(payload []byte, length int) ([]byte, error) {
	dec, err := decoder()
	if err != nil {
		return nil, fmt.Errorf("preparing decompression: %w", err)
	}
	data, err := dec.DecodeAll(payload, make([]byte, 0, length))
	if err != nil {
		return nil, fmt.Errorf("%w: decompressing: %w", ErrCorrupt, err)
	}
	if len(data) != length {
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrCorrupt, len(data), length)
	}
	return data, nil
}
