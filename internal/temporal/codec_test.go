// These tests exist because a payload that cannot be decoded is a session that cannot be opened.

package temporal

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

func testKey(t *testing.T) (Key, string) {
	t.Helper()
	var b [32]byte
	_, err := rand.Read(b[:])
	require.NoError(t, err)
	return Key{b}, base64.StdEncoding.EncodeToString(b[:])
}

func TestPayloadsSurvive(t *testing.T) {
	key, _ := testKey(t)
	old, _ := testKey(t)
	random := make([]byte, 50_000)
	_, err := rand.Read(random)
	require.NoError(t, err)
	for name, keys := range map[string][]Key{"compressed": nil, "encrypted": {key, old}} {
		t.Run(name, func(t *testing.T) {
			dc, err := NewDataConverter(keys)
			require.NoError(t, err)
			for _, in := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("many "), 10_000), random} {
				p, err := dc.ToPayload(in)
				require.NoError(t, err)
				var out []byte
				require.NoError(t, dc.FromPayload(p, &out))
				require.True(t, bytes.Equal(in, out))
			}
		})
	}
}

func TestCompressionOnlyWhenSmaller(t *testing.T) {
	dc, err := NewDataConverter(nil)
	require.NoError(t, err)
	encoding := func(v any) string {
		p, err := dc.ToPayload(v)
		require.NoError(t, err)
		return string(p.Metadata[converter.MetadataEncoding])
	}
	random := make([]byte, 4096)
	_, err = rand.Read(random)
	require.NoError(t, err)
	require.Equal(t, encodingZstd, encoding(strings.Repeat("again ", 1000)))
	require.Equal(t, converter.MetadataEncodingJSON, encoding("short"))
	require.Equal(t, converter.MetadataEncodingBinary, encoding(random))
}

func TestEncryption(t *testing.T) {
	key, _ := testKey(t)
	other, _ := testKey(t)
	plain, err := NewDataConverter(nil)
	require.NoError(t, err)
	sealed, err := NewDataConverter([]Key{key})
	require.NoError(t, err)
	rotated, err := NewDataConverter([]Key{other, key})
	require.NoError(t, err)
	stranger, err := NewDataConverter([]Key{other})
	require.NoError(t, err)

	p, err := sealed.ToPayload("a secret word")
	require.NoError(t, err)
	again, err := sealed.ToPayload("a secret word")
	require.NoError(t, err)
	require.NotEqual(t, p.Data, again.Data, "each payload has its own nonce")
	require.NotContains(t, p.String(), "secret")

	var out string
	require.NoError(t, rotated.FromPayload(p, &out))
	require.Equal(t, "a secret word", out)
	require.ErrorContains(t, stranger.FromPayload(p, &out), key.ID())

	tampered := proto.CloneOf(p)
	tampered.Data[len(tampered.Data)-1] ^= 1
	require.Error(t, sealed.FromPayload(tampered, &out))

	earlier, err := plain.ToPayload("before encryption")
	require.NoError(t, err)
	require.NoError(t, sealed.FromPayload(earlier, &out))
	require.Equal(t, "before encryption", out)
}

func TestBombIsRefused(t *testing.T) {
	z, err := newZstdCodec()
	require.NoError(t, err)
	dc, err := NewDataConverter(nil)
	require.NoError(t, err)
	p, err := dc.ToPayload("x")
	require.NoError(t, err)
	p.Metadata[converter.MetadataEncoding] = []byte(encodingZstd)
	p.Data = z.enc.EncodeAll(make([]byte, maxDecompressed+1), nil)
	var out string
	require.Error(t, dc.FromPayload(p, &out))
}

func TestLoadKeys(t *testing.T) {
	key, text := testKey(t)
	second, secondText := testKey(t)
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(text+"\n"+secondText+"\n"), 0o600))
	keys, err := LoadKeys(file, nil)
	require.NoError(t, err)
	require.Equal(t, []Key{key, second}, keys)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		shown := fmt.Sprintf(format, keys)
		require.NotContains(t, shown, fmt.Sprint(key.secret[0], " ", key.secret[1]), format)
		require.Contains(t, shown, key.ID(), format)
	}

	require.NoError(t, os.Chmod(file, 0o644))
	_, err = LoadKeys(file, nil)
	require.ErrorIs(t, err, os.ErrPermission)

	keys, err = LoadKeys("", environment{KeyEnv: text}.LookupEnv)
	require.NoError(t, err)
	require.Equal(t, []Key{key}, keys)
	keys, err = LoadKeys("", environment{}.LookupEnv)
	require.NoError(t, err)
	require.Empty(t, keys)
	_, err = LoadKeys("", environment{KeyEnv: "too-short"}.LookupEnv)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "too-short")
}
