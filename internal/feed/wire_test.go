// This file tests that nothing a peer sends can harm the reader.

package feed

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func encode(t testing.TB, m message) []byte {
	t.Helper()
	buf, err := appendMessage(nil, m)
	require.NoError(t, err)
	return buf
}

func decode(data []byte) (message, error) { return readMessage(bufio.NewReader(bytes.NewReader(data))) }

func TestMessagesComeBack(t *testing.T) {
	for _, m := range []message{
		{kind: kindHello, header: header{Version: 1, Epoch: "e"}, body: []byte{}},
		{kind: kindFrame, header: header{ID: 7, Item: "i\x00\"", Seq: 1 << 60, Attempt: 2, Stream: "stdout", Offset: 9}, body: []byte{0xff, 0, 1}},
		{kind: kindCall, header: header{ID: 1, Method: "m", Timeout: 5}, body: bytes.Repeat([]byte{'1'}, MaxCallBytes)},
	} {
		got, err := decode(encode(t, m))
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

func TestMalformedMessagesAreRefused(t *testing.T) {
	huge := binary.BigEndian.AppendUint32(nil, maxMessage+1)
	for name, data := range map[string][]byte{
		"huge":            append(huge, make([]byte, 100)...),
		"http":            []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"too short":       {0, 0, 0, 2, 'F', 0},
		"header too long": {0, 0, 0, 4, 'F', 0xff, 0xff, '{'},
		"no JSON":         {0, 0, 0, 5, 'F', 0, 2, '{', '{'},
		"body too long":   append(append(binary.BigEndian.AppendUint32(nil, 5+MaxCallBytes+1), 'F', 0, 2, '{', '}'), make([]byte, MaxCallBytes+1)...),
	} {
		_, err := decode(data)
		require.ErrorIs(t, err, errMalformed, name)
	}
	whole := encode(t, message{kind: kindBell, header: header{ID: 1, Seq: 2}})
	for i := range whole {
		_, err := decode(whole[:i])
		if i == 0 {
			require.ErrorIs(t, err, io.EOF)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	_, err := appendMessage(nil, message{body: make([]byte, MaxCallBytes+1)})
	require.Error(t, err)
	_, err = appendMessage(nil, message{header: header{Session: strings.Repeat("x", 1<<16)}})
	require.Error(t, err)
}

func TestErrorsAreCarried(t *testing.T) {
	sent := editors.Errorf(editors.CodeDenied, "No, %w.", io.EOF).WithRemedy("Ask again.")
	var got *editors.Error
	require.ErrorAs(t, encodeError(sent).decode(), &got)
	require.Equal(t, "No, EOF.", got.Message)
	require.Equal(t, sent.ErrorData, got.ErrorData)
	require.ErrorAs(t, encodeError(errors.New(strings.Repeat("x", 1<<20))).decode(), &got)
	require.Equal(t, editors.CodeInternal, got.Code)
	require.Len(t, got.Message, maxErrorBytes)
}

func FuzzReadMessage(f *testing.F) {
	f.Add(encode(f, message{kind: kindFrame, header: header{ID: 1, Item: "i"}, body: []byte("data")}))
	f.Add([]byte{0, 0, 0, 5, 'F', 0, 2, '{', '}'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			m, err := readMessage(r)
			if err != nil {
				return
			}
			again, err := decode(encode(t, m))
			require.NoError(t, err)
			require.Equal(t, m.header, again.header)
		}
	})
}
