// This file tests the client against peers that lie, babble, stall or break.

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

// against makes a client whose every connection is served by peer.
func against(t *testing.T, peer func(conn net.Conn)) *Client {
	t.Helper()
	var wg sync.WaitGroup
	c := New(Options{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		wg.Go(func() { defer theirs.Close(); peer(theirs) })
		return ours, nil
	}})
	t.Cleanup(func() { _ = c.Close(); wg.Wait() })
	return c
}

// polite greets and answers every request with what answer returns; nil ends the connection.
func polite(answer func(req wire.Request) *wire.Message) func(net.Conn) {
	return func(rwc net.Conn) {
		conn := wire.NewConn(rwc)
		for {
			m, err := conn.Recv()
			if err != nil {
				return
			}
			reply := &wire.Message{Kind: wire.KindHello, Header: []byte(`{"protocol":1}`)}
			if m.Kind == wire.KindRequest {
				var req wire.Request
				_ = json.Unmarshal(m.Header, &req)
				reply = answer(req)
			}
			if reply == nil {
				return
			}
			reply.Stream = m.Stream
			if m.Kind != wire.KindCancel && conn.Send(*reply) != nil {
				return
			}
		}
	}
}

func says(result string) func(wire.Request) *wire.Message {
	return func(wire.Request) *wire.Message {
		return &wire.Message{Kind: wire.KindReply, Header: []byte(`{"result":` + result + `}`), Body: []byte("12345")}
	}
}

func TestLies(t *testing.T) {
	ctx := t.Context()
	wait := func(c *Client) error { _, err := c.Wait(ctx, "a", sandbox.Offsets{}, 0); return err }
	output := func(c *Client) error { _, err := c.Output(ctx, "a", sandbox.Stdout, 10, 3); return err }
	for name, c := range map[string]struct {
		answer string
		call   func(*Client) error
	}{
		"other command":    {`{"id":"b","state":"exited"}`, wait},
		"unknown state":    {`{"id":"a","state":"fine"}`, wait},
		"negative total":   {`{"id":"a","state":"exited","total":{"stdout":-1}}`, wait},
		"wrong type":       {`[]`, wait},
		"no JSON":          {`nonsense`, wait},
		"too much":         {`{"offset":10,"total":100}`, output},
		"before the range": {`{"offset":5,"total":100}`, func(c *Client) error { _, err := c.Output(ctx, "a", sandbox.Stdout, 10, 9); return err }},
		"beyond the total": {`{"offset":99,"total":100}`, func(c *Client) error { _, err := c.Output(ctx, "a", sandbox.Stdout, 10, 9); return err }},
		"more of a file":   {`{"size":3}`, func(c *Client) error { _, err := c.ReadFile(ctx, "a", 0, 3); return err }},
		"commands":         {`[{"state":"fine"}]`, func(c *Client) error { _, err := c.Commands(ctx); return err }},
	} {
		require.Equal(t, sandbox.ClassCorrupt, sandbox.ClassOf(c.call(against(t, polite(says(c.answer))))), name)
	}
}

func TestGarbage(t *testing.T) {
	for seed := range int64(20) {
		c := against(t, func(conn net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			r := rand.New(rand.NewSource(seed))
			b := make([]byte, 4096)
			for range 10 {
				r.Read(b)
				b[0], b[1] = 0, byte(seed%3) // often a length that is allowed
				if _, err := conn.Write(b); err != nil {
					return
				}
			}
		})
		require.Error(t, c.Health(t.Context()))
	}
}

func TestBrokenConnections(t *testing.T) {
	var calls atomic.Int32
	second := against(t, polite(func(wire.Request) *wire.Message {
		if calls.Add(1) == 1 {
			return nil
		}
		return says("null")(wire.Request{})
	}))
	require.NoError(t, second.Start(t.Context(), "a", sandbox.Command{}), "what may be repeated is")
	require.Equal(t, int32(2), calls.Load())

	calls.Store(0)
	never := against(t, polite(func(wire.Request) *wire.Message { calls.Add(1); return nil }))
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(never.Health(t.Context())))
	require.Equal(t, int32(tries), calls.Load())
	calls.Store(0)
	require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(never.Input(t.Context(), "a", []byte("x"), false)))
	require.Equal(t, int32(1), calls.Load(), "input is never sent twice")

	refused := New(Options{Dial: func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.New("refused") }})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(refused.Input(t.Context(), "a", nil, true)))
	require.NoError(t, never.Close())
	require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(never.Health(t.Context())))
}

func TestOtherProtocol(t *testing.T) {
	c := against(t, func(rwc net.Conn) {
		conn := wire.NewConn(rwc)
		if _, err := conn.Recv(); err == nil {
			_ = conn.Send(wire.Message{Kind: wire.KindHello, Header: []byte(`{"protocol":99}`)})
		}
	})
	err := c.Health(t.Context())
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
	require.Contains(t, err.Error(), "99")
}

func TestSilentPeer(t *testing.T) {
	for name, peer := range map[string]func(net.Conn){
		"never greets":  func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"never reads":   func(conn net.Conn) { <-t.Context().Done() },
		"never answers": polite(func(wire.Request) *wire.Message { return &wire.Message{Kind: wire.KindCancel} }),
	} {
		c := against(t, peer)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := c.Health(ctx)
		cancel()
		require.Error(t, err, name)
		require.Contains(t, []sandbox.Class{sandbox.ClassCanceled, sandbox.ClassUnavailable}, sandbox.ClassOf(err), name)
		if name == "never reads" {
			return // its goroutine ends with the test
		}
	}
}
