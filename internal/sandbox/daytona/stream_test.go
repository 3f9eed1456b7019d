//go:build linux

// This file tests the way to the helper: pieces are told apart wherever they are cut, and those who fall behind lose nothing.

package daytona

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
)

func TestSplit(t *testing.T) {
	mark := markOf("ABAB")
	want := [][]byte{[]byte("one"), []byte("\x02AB\x02"), bytes.Repeat([]byte("\x02ABA"), 50), []byte("\x02"), {}}
	var sent, said []byte
	for _, piece := range want {
		said = append(said, piece...)
		sent = append(append(sent, piece...), mark...)
	}
	dice := rand.New(rand.NewSource(1))
	for range 200 {
		p := splitter{mark: mark}
		var out []byte
		var pieces int
		var last bool
		for rest := sent; len(rest) > 0; {
			require.False(t, last, "before the end")
			n := min(len(rest), 1+dice.Intn(9))
			var more int
			out, more, last = p.split(out, rest[:n])
			pieces += more
			rest = rest[n:]
		}
		require.True(t, last)
		require.Equal(t, len(want), pieces)
		require.Equal(t, said, out)
	}
}

// gate is a stream whose reader stops, soon after it began, until the gate is opened.
type gate struct {
	*stream
	passed int
	open   chan struct{}
}

func (g *gate) Read(p []byte) (int, error) {
	if g.passed > 10_000 {
		<-g.open
	}
	n, err := g.stream.Read(p[:min(len(p), 4096)])
	g.passed += n
	return n, err
}

// A worker that does not read for a while is not dropped, and the sandbox is not asked for more than there is room for.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b := newBackend(t, s)
	succeed(t, open(t, b, "s"), "head -c 8388608 /dev/zero | tr '\\0' x > large")
	way, f := b.boxes.Known("s").reach(t.Context())
	require.NoError(t, f.Fault())
	g := &gate{stream: way, open: make(chan struct{})}
	c := client.New(client.Options{Dial: func(context.Context) (io.ReadWriteCloser, error) { return g, nil }})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	read := make(chan error, 1)
	var content sandbox.FileContent
	go func() {
		var err error
		content, err = c.ReadFile(t.Context(), "large", 0, 8<<20)
		read <- err
	}()
	eventually(t, "that no more is asked for", func() bool {
		way.mu.Lock()
		defer way.mu.Unlock()
		return way.asked == 0 && len(way.buf) > (window-1)*pieceSize
	})
	way.mu.Lock()
	require.LessOrEqual(t, len(way.buf), window*pieceSize)
	way.mu.Unlock()
	close(g.open)
	require.NoError(t, <-read, "on the same connection: there is no other")
	require.Equal(t, bytes.Repeat([]byte("x"), 8<<20), content.Data)
}

// Large files pass each way while this process's memory stays bounded.
func TestLargeFiles(t *testing.T) {
	size := 32 << 20
	if os.Getenv("SANDBOX_TEST_FULL") == "1" {
		size = 304 << 20
	}
	s := daytonatest.New(t, daytonatest.Options{})
	box := open(t, newBackend(t, s), "s")
	const piece = 8 << 20
	data := make([]byte, piece)
	_, _ = rand.New(rand.NewSource(1)).Read(data)
	heap := liveHeap()
	for i := range size / piece {
		require.NoError(t, box.Apply(t.Context(), fmt.Sprint("write ", i), []sandbox.Edit{{Path: fmt.Sprint("part", i), Content: data}}))
	}
	succeed(t, box, "cat part* > large; rm part*")
	for at := 0; at < size; at += piece {
		got, err := box.ReadFile(t.Context(), "large", int64(at), piece)
		require.NoError(t, err)
		require.Equal(t, int64(size), got.Size)
		require.True(t, bytes.Equal(data, got.Data), "at %d", at)
	}
	require.Less(t, liveHeap()-heap, int64(16<<20))
}

// liveHeap is how many bytes are in use.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// How much passes in a second, each way.
func BenchmarkThroughput(b *testing.B) {
	s := daytonatest.New(b, daytonatest.Options{})
	back := newBackend(b, s)
	box, err := back.Open(b.Context(), sandbox.Spec{ID: "s"})
	require.NoError(b, err)
	data := bytes.Repeat([]byte("0123456789abcdef"), 512<<10)
	require.NoError(b, box.Apply(b.Context(), "w", []sandbox.Edit{{Path: "f", Content: data}}))
	b.Run("out", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			got, err := box.ReadFile(b.Context(), "f", 0, len(data))
			require.NoError(b, err)
			require.Len(b, got.Data, len(data))
		}
	})
	b.Run("in", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for i := 0; b.Loop(); i++ {
			require.NoError(b, box.Apply(b.Context(), string(rune('a'+i%26))+b.Name()+time.Now().String(), []sandbox.Edit{{Path: "f", Before: "*", Content: data}}))
		}
	})
	b.Run("round trip", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, box.Health(b.Context()))
		}
	})
}
