// This file tests a hub over pipes in a bubble of virtual time: who gets what when somebody is slow.

package feed

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipeHub starts a hub without a socket.
func pipeHub(t *testing.T) *Hub {
	t.Helper()
	h := newHub(nil)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// pipeClient connects a client to h.
func pipeClient(t *testing.T, h *Hub) *Client {
	t.Helper()
	near, far := net.Pipe()
	h.serve(far)
	c, err := newClient(t.Context(), near, true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// rawClient is a peer that reads only when told to. A pipe has no buffer: what it does not read blocks the writer.
type rawClient struct {
	conn net.Conn
	r    *bufio.Reader
}

func newRawClient(t *testing.T, h *Hub) *rawClient {
	t.Helper()
	near, far := net.Pipe()
	h.serve(far)
	t.Cleanup(func() { _ = near.Close() })
	return &rawClient{near, bufio.NewReader(near)}
}

func (c *rawClient) send(t *testing.T, m message) {
	t.Helper()
	_, err := c.conn.Write(encode(t, m))
	require.NoError(t, err)
}

func (c *rawClient) receive(t *testing.T) message {
	t.Helper()
	m, err := readMessage(c.r)
	require.NoError(t, err)
	return m
}

func TestFramesArriveInOrderAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		s := pipeClient(t, h).Subscribe("s")
		synctest.Wait()
		began := time.Now()
		for i, word := range []string{"one ", "two ", "three "} {
			h.Publish(frame("i", "text", word))
			got := <-s.Frames()
			require.Equal(t, Frame{
				Session: "s", Item: "i", Seq: 1, Attempt: 1, Stream: "text", N: int64(i),
				Offset: []int64{0, 4, 8}[i], Data: []byte(word),
			}, got)
		}
		require.Zero(t, time.Since(began), "nothing waits for a timer")
	})
}

func TestASlowSubscriberDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		slow := newRawClient(t, h)
		slow.send(t, message{kind: kindSubscribe, header: header{ID: 1, Session: "s"}})
		fast := pipeClient(t, h).Subscribe("s")
		synctest.Wait()
		for i := range int64(1000) {
			h.Publish(frame("i", "text", "word "))
			got := <-fast.Frames()
			require.Equal(t, i, got.N)
		}
		h.Ring("s", 4)
		require.EqualValues(t, 4, <-fast.Bells())

		require.Equal(t, byte(kindHello), slow.receive(t).kind)
		var heard strings.Builder
		frames, bells := 0, 0
		for heard.Len() < 5000 || bells == 0 {
			m := slow.receive(t)
			if m.kind == kindBell {
				bells++
				continue
			}
			heard.Write(m.body)
			frames++
		}
		require.Equal(t, strings.Repeat("word ", 1000), heard.String())
		require.LessOrEqual(t, frames, 3, "what gathered comes as one")
	})
}

func TestASlowSubscriberLosesTheOldestButNoBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		slow := newRawClient(t, h)
		slow.send(t, message{kind: kindSubscribe, header: header{ID: 1, Session: "s"}})
		for range 1000 {
			h.Publish(frame("i", "stdout", strings.Repeat("x", 1000)))
			h.Ring("s", 1)
		}
		h.Ring("s", 9)
		require.Equal(t, byte(kindHello), slow.receive(t).kind)
		bell := slow.receive(t)
		require.EqualValues(t, 9, bell.header.Seq)
		first := slow.receive(t)
		require.EqualValues(t, 1000*1000-RingBytes, first.header.Offset)
	})
}

func TestAPeerThatTakesNothingIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		slow := newRawClient(t, h)
		time.Sleep(writeTimeout + time.Second)
		synctest.Wait()
		_, err := readMessage(slow.r)
		require.Error(t, err)
		h.mu.Lock()
		defer h.mu.Unlock()
		require.Empty(t, h.conns)
	})
}

func TestGarbageEndsOnlyItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		s := pipeClient(t, h).Subscribe("s")
		for _, garbage := range [][]byte{
			[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
			{0xff, 0xff, 0xff, 0xff, 'C'},
			encode(t, message{kind: 'Z'}),
			encode(t, message{kind: kindSubscribe, header: header{ID: 1, Session: strings.Repeat("x", MaxNameBytes+1)}}),
		} {
			raw := newRawClient(t, h)
			require.Equal(t, byte(kindHello), raw.receive(t).kind)
			_, _ = raw.conn.Write(garbage)
			_, err := raw.r.ReadByte()
			require.Error(t, err)
		}
		h.Publish(frame("i", "text", "alive"))
		require.Equal(t, "alive", string((<-s.Frames()).Data))
	})
}

func TestTwoClientsSeeTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		first, second := pipeClient(t, h), pipeClient(t, h)
		subs := []*Subscription{first.Subscribe("s"), second.Subscribe("s"), second.Subscribe("s")}
		other := second.Subscribe("other")
		synctest.Wait()
		for range 100 {
			h.Publish(frame("i", "text", "word "))
		}
		synctest.Wait()
		for _, s := range subs {
			var heard strings.Builder
			for heard.Len() < 500 {
				heard.Write((<-s.Frames()).Data)
			}
			require.Equal(t, strings.Repeat("word ", 100), heard.String())
		}
		select {
		case f := <-other.Frames():
			require.Fail(t, "a frame of another session", "%v", f)
		default:
		}
	})
}

func TestASlowConsumerDelaysNoOtherSubscriptionOfItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		c := pipeClient(t, h)
		idle, busy := c.Subscribe("s"), c.Subscribe("s")
		synctest.Wait()
		for range 2000 {
			h.Publish(frame("i", "stdout", strings.Repeat("x", 1000)))
			<-busy.Frames()
		}
		synctest.Wait()
		require.LessOrEqual(t, idle.queue.bytes, queueBytes)
		first, next := <-idle.Frames(), <-idle.Frames()
		require.Zero(t, first.Offset, "it was in the consumer's hands before the queue filled")
		require.EqualValues(t, 2, next.N, "the gap shows")
	})
}

func TestBellsAreRememberedAndTheLatestWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		h.Ring("s", 3)
		h.Ring("s", 5)
		h.Ring("s", 4)
		c := pipeClient(t, h)
		s := c.Subscribe("s")
		require.EqualValues(t, 5, <-s.Bells())
		h.Ring("s", 6)
		synctest.Wait()
		h.Ring("s", 7)
		synctest.Wait()
		require.EqualValues(t, 7, <-s.Bells())
		s.Close()
		s.Close()
		synctest.Wait()
		h.mu.Lock()
		require.Empty(t, h.topics.sessions["s"].subs, "Close reaches the hub")
		h.mu.Unlock()
		_, open := <-s.Bells()
		require.False(t, open)
		_, open = <-s.Frames()
		require.False(t, open)
	})
}

func TestOddFramesAreIgnored(t *testing.T) {
	h := pipeHub(t)
	h.Publish(frame("i", "text", ""))
	h.Publish(frame(strings.Repeat("x", MaxNameBytes+1), "text", "x"))
	h.Ring(strings.Repeat("x", MaxNameBytes+1), 1)
	require.Empty(t, h.topics.sessions)
}

func TestSubscriptionsEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		c := pipeClient(t, h)
		s := c.Subscribe("s")
		synctest.Wait()
		h.Publish(frame("i", "text", "last words"))
		synctest.Wait()
		require.NoError(t, h.Close())
		<-c.Done()
		require.ErrorIs(t, c.Err(), io.EOF)
		require.Equal(t, "last words", string((<-s.Frames()).Data))
		_, open := <-s.Frames()
		require.False(t, open)
		_, open = <-c.Subscribe("s").Frames()
		require.False(t, open)
	})
}

func TestAHubThatSaysNothingIsNoHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := newClient(ctx, near, true)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		near, far = net.Pipe()
		go func() { _, _ = far.Write(encode(t, message{kind: kindHello, header: header{Version: 99}})) }()
		_, err = newClient(t.Context(), near, true)
		require.ErrorContains(t, err, "version 99")
	})
}
