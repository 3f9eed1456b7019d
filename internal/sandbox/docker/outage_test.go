// This file tests that sandboxes and their commands outlast an engine that goes away and comes back.

package docker

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// wire is a socket that leads to the engine and can be cut.
type wire struct {
	path, to string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newWire(t *testing.T) *wire {
	t.Helper()
	e, err := backendWith(t, map[string]string{"HOME": os.Getenv("HOME"), "DOCKER_HOST": os.Getenv("DOCKER_HOST")}).engine()
	require.NoError(t, err)
	to, local := strings.CutPrefix(e.host, unixScheme)
	if !local {
		t.Skip("the engine is behind a network")
	}
	w := &wire{path: filepath.Join(t.TempDir(), "docker.sock"), to: to}
	t.Cleanup(w.cut)
	return w
}

func (w *wire) join(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", w.path)
	require.NoError(t, err)
	w.mu.Lock()
	w.listener = l
	w.mu.Unlock()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(conn)
		}
	}()
}

func (w *wire) carry(conn net.Conn) {
	engine, err := net.Dial("unix", w.to)
	if err != nil {
		_ = conn.Close()
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, conn, engine)
	w.mu.Unlock()
	go func() { _, _ = io.Copy(engine, conn); _ = engine.Close() }()
	_, _ = io.Copy(conn, engine)
	_ = conn.Close()
}

// cut ends every connection and takes no more.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != nil {
		_ = w.listener.Close()
	}
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
}

func TestEngineGoesAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	b := newBackend(t)
	reaching := b.opts
	reaching.Env = func(name string) (string, bool) { return unixScheme + w.path, name == "DOCKER_HOST" }
	far, err := New(reaching)
	require.NoError(t, err)
	t.Cleanup(func() { _ = far.Close() })
	w.join(t)
	s := open(t, far, sandbox.Spec{})
	require.NoError(t, s.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count; echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done"}))
	require.Eventually(t, func() bool { return output(t, s, "long", sandbox.Stdout) != "" }, patience, 10*time.Millisecond)

	w.cut()
	require.Eventually(t, func() bool {
		err := s.Health(t.Context())
		return sandbox.ClassOf(err) == sandbox.ClassUnavailable && strings.Contains(err.Error(), "start Docker")
	}, patience, 10*time.Millisecond)
	_, err = far.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))

	w.join(t)
	succeed(t, s, "touch go")
	require.Zero(t, await(t, s, "long").ExitCode)
	require.Equal(t, "begun\ndone\n", output(t, s, "long", sandbox.Stdout))
	require.Equal(t, "once", succeed(t, s, "cat count"))
}

// A container paused while a command runs is noticed by who waits, and goes on, also where the engine fails at that first.
func TestPausedWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	e, err := b.engine()
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), "long", sandbox.Command{Script: "sleep 1; echo done"}))
	require.NoError(t, e.ContainerPause(t.Context(), b.names("s").container))
	refused := refuse(t, b, "unpause", "the engine is busy")
	require.Zero(t, await(t, s, "long").ExitCode)
	require.True(t, refused.Load())
	require.Equal(t, "done\n", output(t, s, "long", sandbox.Stdout))
}

// An engine that was killed with its containerd may find what it ran before in its way, in any of its layers.
func TestEngineLeavesPiecesBehind(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	for _, says := range []string{
		"failed to create task for container: task %s already exists: unknown",
		"AlreadyExists: task %s: already exists",
		"failed to create shim: mkdir /run/containerd/io.containerd.runtime.v2.task/moby/%s: file exists: unknown",
		"OCI runtime create failed: container with id exists: %s: unknown",
		"OCI runtime create failed: runc create failed: container with given ID already exists: unknown",
	} {
		succeed(t, s, "echo kept > file")
		e, err := b.engine()
		require.NoError(t, err)
		before, err := e.inspect(t.Context(), b.names("s").container)
		require.NoError(t, err)
		require.NoError(t, e.ContainerKill(t.Context(), before.ID, "KILL"))
		refuse(t, b, "start", strings.ReplaceAll(says, "%s", before.ID))
		var notes []string
		s = open(t, b, sandbox.Spec{Notify: func(text string) { notes = append(notes, text) }})
		require.Equal(t, "kept", succeed(t, s, "cat file"))
		require.Contains(t, strings.Join(notes, " "), "left pieces of the container's last run behind", says)
		after, err := e.inspect(t.Context(), b.names("s").container)
		require.NoError(t, err)
		require.NotEqual(t, before.ID, after.ID)
	}
}

// What else is there already is no reason to give up what was installed in a container.
func TestNothingLeftBehind(t *testing.T) {
	require.False(t, leftBehind(nil, "abc"))
	require.False(t, leftBehind(errors.New("endpoint with name sandbox already exists in network bridge"), "abc"))
	require.False(t, leftBehind(errors.New("container abc does not exist"), "abc"))
}

// refuse makes the engine of a backend refuse the next start of a container, or what else is done to one, and tells when it has.
func refuse(t *testing.T, b *Backend, what, says string) *atomic.Bool {
	t.Helper()
	e, err := b.engine()
	require.NoError(t, err)
	c, err := client.NewClientWithOpts(client.WithHost(e.host), client.WithAPIVersionNegotiation())
	require.NoError(t, err)
	refusing := &refusal{RoundTripper: c.HTTPClient().Transport, what: what, says: says}
	c, err = client.NewClientWithOpts(client.WithHost(e.host), client.WithAPIVersionNegotiation(), client.WithHTTPClient(&http.Client{Transport: refusing}))
	require.NoError(t, err)
	b.mu.Lock()
	b.client = &engine{c, e.endpoint}
	b.mu.Unlock()
	return &refusing.done
}

// refusal is a way to an engine that answers the first request to do something to a container itself.
type refusal struct {
	http.RoundTripper
	what, says string
	done       atomic.Bool
}

func (r *refusal) RoundTrip(q *http.Request) (*http.Response, error) {
	meant := strings.HasSuffix(q.URL.Path, "/"+r.what) && strings.Contains(q.URL.Path, "/containers/")
	if !meant || r.done.Swap(true) {
		return r.RoundTripper.RoundTrip(q)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": r.says})
	return w.Result(), nil
}
