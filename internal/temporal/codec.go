// This file exists to make payloads small and, where asked for, unreadable to the Temporal service.

package temporal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	encodingZstd    = "binary/zstd"
	encodingAES     = "binary/aes-256-gcm"
	metadataKeyID   = "encryption-key-id"
	compressFrom    = 256      // bytes; below this compression does not pay
	maxDecompressed = 32 << 20 // bytes; a payload that claims more is an attack or damage
)

// KeyEnv is the environment variable LoadKeys reads when no file is configured.
const KeyEnv = "SANDBOX_AGENT_PAYLOAD_KEY"

// Key is one AES-256 key. It prints as its id, never as itself.
type Key struct{ secret [32]byte }

// ID is a public name of the key: it stands beside what the key encrypted.
func (k Key) ID() string {
	sum := sha256.Sum256(append([]byte("payload key id\x00"), k.secret[:]...))
	return hex.EncodeToString(sum[:4])
}

// String returns the id.
func (k Key) String() string { return "key " + k.ID() }

// GoString returns the id, so that %#v shows no secret either.
func (k Key) GoString() string { return k.String() }

// LoadKeys reads keys, one base64 line each (32 bytes), from file, or when file is "" from KeyEnv by lookup (nil: the
// process environment). The first encrypts; the others still decrypt older payloads. No key is no error. A file that
// other users can read is refused.
func LoadKeys(file string, lookup func(string) (string, bool)) ([]Key, error) {
	if file == "" {
		if lookup == nil {
			lookup = os.LookupEnv
		}
		text, _ := lookup(KeyEnv)
		return parseKeys(text, KeyEnv)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("reading the payload key file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the payload key file %s is open to other users; run chmod 600 on it: %w", file, fs.ErrPermission)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the payload key file: %w", err)
	}
	return parseKeys(string(text), file)
}

func parseKeys(text, source string) ([]Key, error) {
	var keys []Key
	for i, line := range strings.Fields(text) {
		b, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(b) != 32 {
			return nil, fmt.Errorf("payload key %d of %s is not 32 bytes in base64", i+1, source) // never quote it
		}
		keys = append(keys, Key{[32]byte(b)})
	}
	return keys, nil
}

// NewDataConverter is what a Client made by Dial converts payloads and memos with: JSON, then zstd, then encryption when
// there are keys.
func NewDataConverter(keys []Key) (converter.DataConverter, error) {
	z, err := newZstdCodec()
	if err != nil {
		return nil, err
	}
	codecs := []converter.PayloadCodec{z} // encoding runs from the last to the first
	if len(keys) > 0 {
		a, err := newAESCodec(keys)
		if err != nil {
			return nil, err
		}
		codecs = []converter.PayloadCodec{a, z}
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs...), nil
}

type zstdCodec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newZstdCodec() (*zstdCodec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("making the compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxDecompressed))
	if err != nil {
		return nil, fmt.Errorf("making the decompressor: %w", err)
	}
	return &zstdCodec{enc, dec}, nil
}

func (z *zstdCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return mapPayloads(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if proto.Size(p) < compressFrom {
			return p, nil
		}
		raw, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("compressing a payload: %w", err)
		}
		small := &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingZstd)},
			Data:     z.enc.EncodeAll(raw, nil),
		}
		if proto.Size(small) >= len(raw) {
			return p, nil
		}
		return small, nil
	})
}

func (z *zstdCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return mapPayloads(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingZstd {
			return p, nil
		}
		raw, err := z.dec.DecodeAll(p.Data, nil)
		if err != nil {
			return nil, fmt.Errorf("decompressing a payload: %w", err)
		}
		return unmarshalPayload(raw)
	})
}

// aesCodec encrypts whole payloads with a random nonce in front of each.
type aesCodec struct {
	current string
	keys    map[string]cipher.AEAD
}

func newAESCodec(keys []Key) (*aesCodec, error) {
	c := &aesCodec{current: keys[0].ID(), keys: make(map[string]cipher.AEAD, len(keys))}
	for _, k := range keys {
		block, err := aes.NewCipher(k.secret[:])
		if err != nil {
			return nil, fmt.Errorf("using %s: %w", k, err)
		}
		if c.keys[k.ID()], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("using %s: %w", k, err)
		}
	}
	return c, nil
}

func (c *aesCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return mapPayloads(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		raw, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypting a payload: %w", err)
		}
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingAES), metadataKeyID: []byte(c.current)},
			Data:     c.keys[c.current].Seal(nil, nil, raw, []byte(c.current)),
		}, nil
	})
}

// Decode passes payloads that were written before encryption was switched on.
func (c *aesCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return mapPayloads(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingAES {
			return p, nil
		}
		id := string(p.Metadata[metadataKeyID])
		key, ok := c.keys[id]
		if !ok {
			return nil, fmt.Errorf("decrypting a payload: it needs key %q, which is not configured here", id)
		}
		raw, err := key.Open(nil, nil, p.Data, []byte(id))
		if err != nil {
			return nil, errors.New("decrypting a payload: it was changed or belongs to another key")
		}
		return unmarshalPayload(raw)
	})
}

func unmarshalPayload(raw []byte) (*commonpb.Payload, error) {
	p := new(commonpb.Payload)
	if err := proto.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("reading a decoded payload: %w", err)
	}
	return p, nil
}

func mapPayloads(in []*commonpb.Payload, f func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		var err error
		if out[i], err = f(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}
