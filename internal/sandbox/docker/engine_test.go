// This file tests how an engine is found and what is said when it, or an image, is not there, without any engine.

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
)

// backendWith makes a backend that sees this environment only.
func backendWith(t *testing.T, env map[string]string) *Backend {
	t.Helper()
	b, err := New(Options{StateDir: t.TempDir(), HostID: "h", Env: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestFindEngine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	colima := sha256.Sum256([]byte("colima"))
	dir := hex.EncodeToString(colima[:])
	write(".docker/config.json", `{"currentContext": "colima"}`)
	write(".docker/contexts/meta/"+dir+"/meta.json", `{"Name": "colima", "Endpoints": {"docker": {"Host": "unix:///colima.sock"}}}`)
	write("plain/config.json", `{}`)
	write("damaged/config.json", `{"currentContext`)
	write("run/docker.sock", "")

	for name, c := range map[string]struct {
		env  map[string]string
		host string
	}{
		"environment":         {map[string]string{"HOME": home, "DOCKER_HOST": "tcp://10.0.0.1:2376"}, "tcp://10.0.0.1:2376"},
		"current context":     {map[string]string{"HOME": home}, "unix:///colima.sock"},
		"context by variable": {map[string]string{"HOME": home, "DOCKER_CONTEXT": "colima"}, "unix:///colima.sock"},
	} {
		found, err := backendWith(t, c.env).findEndpoint()
		require.NoError(t, err, name)
		require.Equal(t, c.host, found.host, name)
	}
	for _, config := range []string{"plain", "damaged", "none"} {
		b := backendWith(t, map[string]string{"XDG_RUNTIME_DIR": filepath.Join(home, "run"), "DOCKER_CONFIG": filepath.Join(home, config)})
		found, err := b.findEndpoint()
		require.NoError(t, err)
		require.Contains(t, []string{unixScheme + defaultSocket, unixScheme + filepath.Join(home, "run/docker.sock")}, found.host)
	}
	_, err := backendWith(t, map[string]string{"HOME": home, "DOCKER_CONTEXT": "lost"}).findEndpoint()
	require.ErrorContains(t, err, "context lost cannot be read")
	_, err = backendWith(t, map[string]string{"DOCKER_HOST": "ssh://host"}).findEndpoint()
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
	_, err = backendWith(t, map[string]string{"DOCKER_HOST": "nonsense"}).engine()
	require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err))

	write(".docker/contexts/tls/"+dir+"/docker/ca.pem", "")
	b := backendWith(t, map[string]string{"HOME": home})
	found, err := b.findEndpoint()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(home, ".docker/contexts/tls", dir, "docker"), found.certs)
	found, err = backendWith(t, map[string]string{"HOME": home, "DOCKER_HOST": "tcp://h:1", "DOCKER_TLS_VERIFY": "1"}).findEndpoint()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(home, ".docker"), found.certs)
}

func TestAbsentEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refuses := filepath.Join(dir, "refuses")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: refuses})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	silent, err := net.Listen("unix", filepath.Join(dir, "silent"))
	require.NoError(t, err)
	defer silent.Close()
	for host, want := range map[string]string{
		unixScheme + filepath.Join(dir, "absent"): "start Docker",
		unixScheme + refuses:                      "start Docker",
		unixScheme + filepath.Join(dir, "silent"): "does not answer in time",
		"tcp://127.0.0.1:1":                       "start Docker",
	} {
		b := backendWith(t, map[string]string{"DOCKER_HOST": host})
		err := b.Available(t.Context())
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), host)
		require.ErrorContains(t, err, want, host)
		require.ErrorContains(t, err, "from DOCKER_HOST", host)
	}
	b := backendWith(t, map[string]string{"DOCKER_HOST": unixScheme + refuses})
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	require.NoError(t, b.Destroy(t.Context(), sandbox.Ref{ID: "never made"}), "nothing was made")
	require.Error(t, b.Destroy(t.Context(), sandbox.Ref{ID: "s"}), "nobody can tell whether something was made")
}

func TestClasses(t *testing.T) {
	e := &engine{endpoint: endpoint{where: "at /socket"}}
	denied := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}
	err := e.unreachable(opOpen, errors.New("Cannot connect"), denied)
	require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "group docker")
	err = e.failed(opOpen, errors.New("Error response from daemon: write /x: no space left on device"))
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "disk of the Docker engine is full")
	require.NoError(t, e.failed(opOpen, nil))
}

// pretend answers like an engine that has no image and for which pulling goes as told.
func pretend(t *testing.T, status int, pull string) *engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/json"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message": "no such image"}`)
		default:
			w.WriteHeader(status)
			_, _ = io.WriteString(w, pull)
		}
	}))
	t.Cleanup(server.Close)
	e, err := backendWith(t, map[string]string{"DOCKER_HOST": "tcp://" + strings.TrimPrefix(server.URL, "http://")}).engine()
	require.NoError(t, err)
	return e
}

func TestPull(t *testing.T) {
	t.Parallel()
	b := backendWith(t, nil)
	for name, c := range map[string]struct {
		status int
		says   string
		class  sandbox.Class
		want   string
	}{
		"pulled": {http.StatusOK, `{"id": "a", "status": "Downloading", "progressDetail": {"current": 1, "total": 2}}
			{"id": "a", "status": "Pull complete"}`, "", ""},
		"broken":    {http.StatusOK, `{"id": "a", "status": "Downloading"} {"error": "connection reset"}`, sandbox.ClassUnavailable, "docker pull img"},
		"no such":   {http.StatusNotFound, `{"message": "manifest unknown"}`, sandbox.ClassNotFound, "manifest unknown"},
		"full disk": {http.StatusOK, `{"error": "write: no space left on device"}`, sandbox.ClassLimit, "free some space"},
	} {
		var notes []string
		err := b.image(t.Context(), pretend(t, c.status, c.says), "img", func(text string) { notes = append(notes, text) })
		require.Equal(t, c.class, sandbox.ClassOf(err), "%s: %v", name, err)
		require.Contains(t, fmt.Sprint(err), c.want, name)
		require.Contains(t, notes, "The image img is pulled; this happens once.")
	}
}

func TestProgramFits(t *testing.T) {
	t.Parallel()
	b := backendWith(t, nil)
	script := filepath.Join(t.TempDir(), helper.Name)
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	b.opts.HelperBinary = script
	_, err := b.findProgram("arm64")
	require.ErrorContains(t, err, "sandbox-helper-linux-arm64")
	require.Equal(t, sandbox.ClassUnsupported, sandbox.ClassOf(err))
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{StateDir: "relative", HostID: "h"},
		{StateDir: "/x"},
		{StateDir: "/x", HostID: "h", Network: "host"},
		{StateDir: "/x", HostID: "h", Memory: -1},
	} {
		_, err := New(o)
		require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err))
	}
}

// What an engine complains of while it shuts down is not the image's fault, and names the engine.
func TestStartFails(t *testing.T) {
	for says, want := range map[string]sandbox.Class{
		"failed to update store for object type *libnetwork.endpoint: open : no such file or directory": sandbox.ClassUnavailable,
		"failed to create shim task: ttrpc: closed: unknown":                                            sandbox.ClassUnavailable,
		"error while creating mount source path: mkdir /x/sleep: no such file or directory":             sandbox.ClassUnavailable,
		`OCI runtime create failed: exec: "sleep": executable file not found in $PATH: unknown`:         sandbox.ClassUnsupported,
		"crun: executable file `sleep` not found in $PATH: No such file or directory":                   sandbox.ClassUnsupported,
	} {
		message, err := json.Marshal(map[string]string{"message": says})
		require.NoError(t, err)
		e := pretend(t, http.StatusInternalServerError, string(message))
		err = e.failed(opOpen, (&box{}).start(t.Context(), e, "c", "img"))
		require.Equal(t, want, sandbox.ClassOf(err), "%v", err)
		if want == sandbox.ClassUnavailable {
			require.ErrorContains(t, err, e.where)
			continue
		}
		require.ErrorContains(t, err, "the image img has no program sleep")
	}
}

// What is no name of an image is said with what to do about it.
func TestNoNameOfAnImage(t *testing.T) {
	e := &engine{endpoint: endpoint{where: "at /socket"}}
	err := lookFailed("Bad IMAGE", e.failed(opPull, cerrdefs.ErrInvalidArgument))
	require.Equal(t, sandbox.ClassInvalid, sandbox.ClassOf(err))
	require.ErrorContains(t, err, `"Bad IMAGE" is no name of an image: choose one such as python:3-slim with --image`)
	require.ErrorContains(t, lookFailed("img", e.failed(opPull, cerrdefs.ErrInternal)), "refused")
}
