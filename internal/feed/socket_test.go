// This file tests the feed over real sockets: who may listen, and what survives a restart of the worker.

package feed

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// socketPath returns a short path in a private directory.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "feed")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "w.sock")
}

func listenOn(t testing.TB, path string) *Hub {
	t.Helper()
	h, err := Listen(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func TestListenIsPrivateAndAlone(t *testing.T) {
	path := socketPath(t)
	h := listenOn(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = Listen(path, nil)
	require.ErrorIs(t, err, ErrInUse)
	c, err := Dial(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	require.NoError(t, h.Close())
	<-c.Done()
	require.NoFileExists(t, path)
	_, err = Dial(t.Context(), path)
	require.Error(t, err)
	require.NoError(t, listenOn(t, path).Close())
}

func TestListenTakesOnlyAStaleSocket(t *testing.T) {
	path := socketPath(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	listener.SetUnlinkOnClose(false)
	_, err = Listen(path, nil)
	require.ErrorIs(t, err, ErrInUse, "somebody answers, lock or not")
	require.NoError(t, listener.Close())
	require.FileExists(t, path)
	require.NoError(t, listenOn(t, path).Close())

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	require.NoError(t, listenOn(t, path).Close(), "a file in our private directory is in the way")
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = Listen(path, nil)
	require.ErrorContains(t, err, "remove it")
	require.DirExists(t, path)
}

func TestListenRefusesUnsafePlaces(t *testing.T) {
	_, err := Listen("/"+strings.Repeat("x", MaxSocketPath), nil)
	require.ErrorContains(t, err, "too long")
	path := socketPath(t)
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o755))
	_, err = Listen(path, nil)
	require.ErrorContains(t, err, "chmod 700")
}

func TestDialRefusesWhatIsNoHub(t *testing.T) {
	path := socketPath(t)
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}
	}()
	_, err = Dial(t.Context(), path)
	require.ErrorIs(t, err, errMalformed)
}

func TestPeerIsThisUser(t *testing.T) {
	path := socketPath(t)
	listenOn(t, path)
	conn, err := connect(t.Context(), path)
	require.NoError(t, err)
	defer conn.Close()
	unixConn, ok := conn.(*net.UnixConn)
	require.True(t, ok)
	uid, known, err := peerUID(unixConn)
	require.NoError(t, err)
	if known {
		require.Equal(t, os.Getuid(), uid)
	}
}

// watch follows path and reports changes.
func watch(t *testing.T, path string) (*Watcher, <-chan bool) {
	t.Helper()
	changes := make(chan bool, 100)
	w := Watch(func() string { return path }, func(connected bool) { changes <- connected })
	t.Cleanup(w.Close)
	return w, changes
}

func TestWatcherSurvivesARestartOfTheWorker(t *testing.T) {
	path := socketPath(t)
	w, changes := watch(t, path)
	s := w.Subscribe("s")
	require.False(t, w.Connected())
	require.Equal(t, editors.CodeWorkerUnavailable, editors.CodeOf(w.Call(t.Context(), "ping", nil, nil)))

	h := listenOn(t, path)
	w.Retry()
	require.True(t, <-changes)
	require.NoError(t, w.WaitConnected(t.Context()))
	require.NoError(t, w.Err())
	h.Handle("ping", handlePing)
	require.NoError(t, w.Call(t.Context(), "ping", nil, nil))
	h.Publish(frame("i", "text", "before"))
	require.Equal(t, "before", string((<-s.Frames()).Data))
	require.NoError(t, h.Close())
	require.False(t, <-changes)

	h = listenOn(t, path)
	h.Ring("s", 9)
	h.Publish(frame("i", "text", "after"))
	require.EqualValues(t, 9, <-s.Bells())
	got := <-s.Frames()
	require.Equal(t, "after", string(got.Data))
	require.Zero(t, got.N, "another hub counts anew")

	w.Close()
	w.Close()
	_, open := <-s.Frames()
	require.False(t, open)
	_, open = <-w.Subscribe("s").Frames()
	require.False(t, open)
	require.Error(t, w.WaitConnected(t.Context()))
}

func TestNothingComesTwiceAfterALostConnection(t *testing.T) {
	path := socketPath(t)
	h := listenOn(t, path)
	w, changes := watch(t, path)
	s := w.Subscribe("s")
	require.True(t, <-changes)
	h.Publish(frame("i", "text", "one "))
	require.Equal(t, "one ", string((<-s.Frames()).Data))
	client, _ := w.current()
	require.NoError(t, client.Close())
	require.False(t, <-changes)
	h.Publish(frame("i", "text", "two"))
	require.True(t, <-changes)
	got := <-s.Frames()
	require.Equal(t, "two", string(got.Data))
	require.EqualValues(t, 1, got.N)
	s.Close()
	_, open := <-s.Frames()
	require.False(t, open)
}

func TestWatcherFollowsTheSocket(t *testing.T) {
	var path atomic.Value
	path.Store(socketPath(t))
	w := Watch(func() string { return path.Load().(string) }, nil)
	defer w.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.WaitConnected(cancelled), context.Canceled)
	other := socketPath(t)
	listenOn(t, other)
	path.Store(other)
	require.NoError(t, w.WaitConnected(t.Context()))
}

func BenchmarkPublishToReceive(b *testing.B) {
	path := socketPath(b)
	h := listenOn(b, path)
	c, err := Dial(b.Context(), path)
	require.NoError(b, err)
	defer c.Close()
	s := c.Subscribe("s")
	for b.Loop() {
		h.Publish(frame("i", "text", "word "))
		<-s.Frames()
	}
}

func BenchmarkPublishWithoutReader(b *testing.B) {
	h := newHub(nil)
	f := frame("i", "text", "word ")
	b.ReportAllocs()
	for b.Loop() {
		h.Publish(f)
	}
}

func BenchmarkCall(b *testing.B) {
	path := socketPath(b)
	h := listenOn(b, path)
	h.Handle("now", func(context.Context, json.RawMessage) (any, error) { return time.Now(), nil })
	c, err := Dial(b.Context(), path)
	require.NoError(b, err)
	defer c.Close()
	for b.Loop() {
		require.NoError(b, c.Call(b.Context(), "now", nil, nil))
	}
}
