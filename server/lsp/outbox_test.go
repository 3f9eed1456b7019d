// This file tests what happens when a client reads slowly or not at all.

package lsp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestOutboxKeepsOrderAndBounds(t *testing.T) {
	box := newOutbox()
	half := bytes.Repeat([]byte("a"), outboxHardBytes/2)
	require.NoError(t, box.put(t.Context(), half))
	require.NoError(t, box.put(t.Context(), half))
	require.False(t, box.offer([]byte("delta")), "what may be lost is lost first")

	ctx, cancel := context.WithCancel(t.Context())
	blocked := make(chan error)
	go func() { blocked <- box.put(ctx, []byte("x")) }()
	cancel()
	require.ErrorIs(t, <-blocked, context.Canceled)

	go func() { blocked <- box.put(t.Context(), []byte("b")) }()
	var out bytes.Buffer
	go box.run(&out)
	require.NoError(t, <-blocked, "there is room once the client reads")
	require.NoError(t, box.close(deadline))
	require.Equal(t, append(append(half, half...), 'b'), out.Bytes())
	require.ErrorIs(t, box.put(t.Context(), []byte("x")), errOutboxClosed)
	require.False(t, box.offer([]byte("x")))
}

func TestOutboxOfAClientThatIsGone(t *testing.T) {
	box := newOutbox()
	read, write := io.Pipe()
	require.NoError(t, read.CloseWithError(errors.New("gone")))
	go box.run(write)
	require.NoError(t, box.put(t.Context(), []byte("x")))
	<-box.done
	require.ErrorContains(t, box.put(t.Context(), []byte("x")), "gone")
	require.ErrorContains(t, box.close(deadline), "gone")
}

func TestOutboxDoesNotWaitForever(t *testing.T) {
	box := newOutbox()
	_, write := io.Pipe()
	go box.run(write)
	require.NoError(t, box.put(t.Context(), []byte("x")))
	require.Error(t, box.close(time.Millisecond))
}

func TestClientThatStopsReading(t *testing.T) {
	core := newFakeCore()
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	sink := core.conns[0].sink
	delta := editors.EventMessage{Event: editors.Event{Type: editors.ItemDelta, Data: longText(100 << 10)}}
	for range 1000 { // returns although nobody reads
		sink(delta)
	}
	sink(editors.EventMessage{Event: editors.Event{Type: editors.SessionUpdated}})
	deltas := 0
	for {
		m := decode[editors.EventMessage](t, e.read().Params)
		if m.Event.Type != editors.ItemDelta {
			break
		}
		deltas++
	}
	require.Less(t, deltas, 12)
	require.NoError(t, e.end())
}

func TestServerEndsWhenTheClientIsGone(t *testing.T) {
	in, send := io.Pipe() // stays open
	read, write := io.Pipe()
	require.NoError(t, read.Close())
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), newFakeCore().options(t), in, write) }()
	_, err := send.Write(frameOf([]byte(request("1", "nope", "{}"))))
	require.NoError(t, err)
	require.Equal(t, StatusFailed, Status(<-done))
}
