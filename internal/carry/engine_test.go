// This file stops the engine in the middle of a carry.

package carry

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// engineSocket is the way to the engine, which can be cut.
type engineSocket struct {
	path, to string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newEngineSocket(t *testing.T) *engineSocket {
	t.Helper()
	to := "/var/run/docker.sock"
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		path, local := strings.CutPrefix(host, "unix://")
		if !local {
			t.Skip("the engine is behind a network")
		}
		to = path
	}
	s := &engineSocket{path: filepath.Join(t.TempDir(), "docker.sock"), to: to}
	t.Cleanup(s.cut)
	return s
}

func (s *engineSocket) join(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", s.path)
	require.NoError(t, err)
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.carry(conn)
		}
	}()
}

func (s *engineSocket) carry(conn net.Conn) {
	defer conn.Close()
	engine, err := net.Dial("unix", s.to)
	if err != nil {
		return
	}
	defer engine.Close()
	s.mu.Lock()
	s.conns = append(s.conns, conn, engine)
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(engine, conn)
		if half, ok := engine.(*net.UnixConn); ok {
			_ = half.CloseWrite()
		}
	}()
	_, _ = io.Copy(conn, engine)
	_ = conn.Close()
	<-done
}

func (s *engineSocket) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}

// An engine that stops before or in the middle is named, and nothing of the session has changed.
func TestEngineStops(t *testing.T) {
	socket := newEngineSocket(t)
	w := newWorld(t, "unix://"+socket.path)
	require.NoError(t, os.WriteFile(filepath.Join(w.home, "f"), []byte("1"), 0o644))
	sent := w.picture(w.place(w.folders, w.home))
	for _, step := range []string{"", StepOpened, StepFilled, StepVerified} {
		if step != "" {
			socket.join(t)
		}
		w.Fault = func(at string) error {
			if at == step {
				socket.cut()
			}
			return nil
		}
		to := w.place(w.boxes, w.home)
		_, err := w.open(to, Origin{Local: true, Folder: w.home}, sent.ID, sent.ID)
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), "%s: %v", step, err)
		require.ErrorContains(t, err, socket.path, "it says which engine")
		require.Equal(t, sent.Root, w.picture(w.place(w.folders, w.home)).Root)
		socket.cut()
		_ = os.Remove(socket.path)
	}
	socket.join(t)
	w.Fault = nil
	found, err := w.boxes.List(t.Context(), "")
	require.NoError(t, err)
	require.NotEmpty(t, found, "what could not be removed is found")
	for _, f := range found {
		require.NoError(t, w.boxes.Destroy(t.Context(), f.Ref))
	}
}
