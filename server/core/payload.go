// This file decodes the payloads that the SDK hands out undecoded: memos and the details of heartbeats.

package core

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	encodingZstd = "binary/zstd" // as internal/temporal writes it
	maxPayload   = 4 << 20       // of one payload when decompressed
)

// newPayloadConverter reads what internal/temporal wrote without encryption.
func newPayloadConverter() (converter.DataConverter, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPayload))
	if err != nil {
		return nil, fmt.Errorf("preparing to decode payloads: %w", err)
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), zstdReader{decoder}), nil
}

// zstdReader is a codec that only decodes.
type zstdReader struct{ decoder *zstd.Decoder }

// Encode implements converter.PayloadCodec.
func (z zstdReader) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return payloads, nil
}

// Decode implements converter.PayloadCodec.
func (z zstdReader) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		decoded[i] = p
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingZstd {
			continue
		}
		raw, err := z.decoder.DecodeAll(p.GetData(), nil)
		if err != nil {
			return nil, fmt.Errorf("decompressing a payload: %w", err)
		}
		decoded[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(raw, decoded[i]); err != nil {
			return nil, fmt.Errorf("decoding a payload: %w", err)
		}
	}
	return decoded, nil
}
