// This file tests that messages survive the wire and that nothing else does any harm.

package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func FuzzFrame(f *testing.F) {
	f.Add(AppendFrame(nil, Frame{KindHello, 0, []byte("{}")}))
	f.Add(AppendFrame(AppendFrame(nil, Frame{KindRequest, 7, []byte{0, 0, 0, 2, '{', '}'}}), Frame{KindData, 7, []byte("ab")}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		if fr, err := ReadFrame(bytes.NewReader(b)); err == nil {
			back := AppendFrame(nil, fr)
			require.Equal(t, b[:len(back)], back)
		}
		conn := NewConn(&stream{Reader: bytes.NewReader(b)})
		for {
			m, err := conn.Recv()
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(m.Body), len(b))
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("plain")
	f.Add("\xff{\"b64\":1}\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(Text(s))
		require.NoError(t, err)
		var back Text
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, s, string(back))
	})
}

// stream is a peer that has said all it will say.
type stream struct {
	io.Reader
	out    bytes.Buffer
	closed bool
}

func (s *stream) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s *stream) Close() error                { s.closed = true; return nil }

func TestBadFramesAreRefused(t *testing.T) {
	big := binary.BigEndian.AppendUint32(nil, MaxFrame+1)
	request := func(want uint32) []byte {
		return AppendFrame(nil, Frame{KindRequest, 1, binary.BigEndian.AppendUint32(nil, want)})
	}
	many := []byte{}
	for i := range uint32(maxParts + 1) {
		many = AppendFrame(many, Frame{KindRequest, i, binary.BigEndian.AppendUint32(nil, 9)})
	}
	for name, b := range map[string][]byte{
		"too long":           append(big, make([]byte, 100)...),
		"too short":          {0, 0, 0, 4, 1, 0, 0, 0, 0},
		"unknown kind":       AppendFrame(nil, Frame{9, 0, nil}),
		"no body length":     AppendFrame(nil, Frame{KindReply, 1, []byte{0}}),
		"huge body":          request(MaxBody + 1),
		"body twice":         append(request(5), request(5)...),
		"too many at a time": many,
		"longer than said":   append(request(1), AppendFrame(nil, Frame{KindData, 1, []byte("ab")})...),
	} {
		_, err := NewConn(&stream{Reader: bytes.NewReader(b)}).Recv()
		require.ErrorIs(t, err, ErrFrame, name)
	}
	_, err := NewConn(&stream{Reader: bytes.NewReader(request(5)[:10])}).Recv()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = NewConn(&stream{Reader: strings.NewReader("")}).Recv()
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, NewConn(&stream{}).Send(Message{Kind: KindReply, Body: make([]byte, MaxBody+1)}), ErrTooLarge)
	require.ErrorIs(t, NewConn(&stream{}).Send(Message{Kind: KindReply, Header: make([]byte, MaxFrame)}), ErrTooLarge)
}

func TestMessagesInterleave(t *testing.T) {
	a, b := net.Pipe()
	from, to := NewConn(a), NewConn(b)
	defer from.Close()
	defer to.Close()
	var wg sync.WaitGroup
	want := map[uint32][]byte{}
	for i := range uint32(20) {
		body := bytes.Repeat([]byte{byte(i)}, int(i)*100_000)
		want[i] = body
		wg.Go(func() {
			if err := from.Send(Message{Kind: KindReply, Stream: i, Header: []byte("{}"), Body: body}); err != nil {
				t.Error(err)
			}
		})
	}
	for range want {
		m, err := to.Recv()
		require.NoError(t, err)
		require.Equal(t, "{}", string(m.Header))
		require.True(t, bytes.Equal(want[m.Stream], m.Body))
	}
	wg.Wait()
	require.Zero(t, to.held)
	require.Empty(t, to.parts)
}

func TestCancelForgetsTheRest(t *testing.T) {
	b := AppendFrame(nil, Frame{KindRequest, 1, []byte{0, 0, 0, 4}})
	b = AppendFrame(b, Frame{KindData, 1, []byte("ab")})
	b = AppendFrame(b, Frame{KindCancel, 1, nil})
	b = AppendFrame(b, Frame{KindData, 1, []byte("cd")})
	b = AppendFrame(b, Frame{KindRequest, 1, []byte{0, 0, 0, 0, '!'}})
	c := NewConn(&stream{Reader: bytes.NewReader(b)})
	m, err := c.Recv()
	require.NoError(t, err)
	require.Equal(t, KindCancel, m.Kind)
	m, err = c.Recv()
	require.NoError(t, err)
	require.Equal(t, "!", string(m.Header))
	require.Zero(t, c.held)
}

func TestErrorsTravel(t *testing.T) {
	e := &sandbox.Error{Class: sandbox.ClassConflict, Op: "op", Path: "a\xff", Message: "m", Err: errors.New("detail")}
	b, err := json.Marshal(FromError(e))
	require.NoError(t, err)
	var w Error
	require.NoError(t, json.Unmarshal(b, &w))
	require.Equal(t, e.Error(), w.Sandbox().Error())
	require.Equal(t, sandbox.ClassInternal, FromError(io.EOF).Class)
	require.Nil(t, FromError(nil))
	lie := Error{Class: "whatever", Message: strings.Repeat("x", 1<<20)}
	require.Equal(t, sandbox.ClassInternal, lie.Sandbox().Class)
	require.Len(t, lie.Sandbox().Message, maxMessage)
}
