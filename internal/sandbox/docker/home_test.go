// This file tests that a sandbox is not given up because another engine is reached than the one it lives on.

package docker

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/sandboxtest"
)

// emptyEngine is the address of an engine that has nothing; what is to be made or removed in it fails the test.
func emptyEngine(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		say := func(status int, text string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
		switch {
		case r.URL.Path == "/_ping":
		case r.Method == http.MethodPost && strings.HasSuffix(path, "/stop"), r.Method == http.MethodGet && strings.HasSuffix(path, "/json") && path != "containers/json":
			say(http.StatusNotFound, `{"message": "no such container"}`)
		case r.Method != http.MethodGet:
			t.Errorf("the other engine was asked to %s %s", r.Method, path)
		case path == "info":
			say(http.StatusOK, `{"ID": "B", "DockerRootDir": "/b"}`)
		case path == "version":
			say(http.StatusOK, `{"Os": "linux", "Arch": "amd64"}`)
		case path == "containers/json":
			say(http.StatusOK, `[]`)
		case path == "volumes":
			say(http.StatusOK, `{"Volumes": []}`)
		default:
			say(http.StatusNotFound, `{"message": "no such volume"}`)
		}
	}))
	t.Cleanup(server.Close)
	return "tcp://" + strings.TrimPrefix(server.URL, "http://")
}

func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	b := backendWith(t, map[string]string{"DOCKER_HOST": emptyEngine(t)})
	b.opts.HelperBinary = sandboxtest.Helper(t)
	for _, r := range []record{
		{ID: "s", Born: "1", Image: "img", Epoch: 2, Complete: true, Engine: "A /a", EngineAt: "at unix:///a.sock"},
		{ID: "here", Born: "2", Image: "img", Complete: true, Engine: "B /b"},
		{ID: "old", Born: "3", Image: "img", Complete: true},
	} {
		require.NoError(t, os.MkdirAll(b.stateDir(r.ID), 0o700))
		require.NoError(t, b.writeRecord(r))
	}
	ref := sandbox.Ref{ID: "s"}
	_, opened := b.Open(t.Context(), sandbox.Spec{ID: "s"})
	_, lost := b.Lost(t.Context(), ref)
	for what, err := range map[string]error{
		"open": opened, "lost": lost, "stop": b.Stop(t.Context(), ref), "destroy": b.Destroy(t.Context(), ref),
	} {
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), "%s: %v", what, err)
		require.ErrorContains(t, err, "lives on the Docker engine that was reached at unix:///a.sock", what)
		require.ErrorContains(t, err, "set DOCKER_HOST or the Docker context back", what)
	}
	r, err := b.loadRecord("s")
	require.NoError(t, err)
	require.Equal(t, []any{"1", "A /a", false}, []any{r.Born, r.Engine, r.Stopped}, "nothing is forgotten")
	for _, id := range []string{"here", "old"} {
		gone, err := b.Lost(t.Context(), sandbox.Ref{ID: id})
		require.NoError(t, err)
		require.True(t, gone, id)
		require.NoError(t, b.Destroy(t.Context(), sandbox.Ref{ID: id}))
	}
	found, err := b.List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "on the Docker engine that was reached at unix:///a.sock", found[0].Away)
	require.DirExists(t, b.opts.StateDir)
}

// What is found on an engine lives there, whatever was noted, and the last that is destroyed leaves nothing.
func TestAdopted(t *testing.T) {
	t.Parallel()
	b := newBackend(t, func(o *Options) { o.StateDir = filepath.Join(o.StateDir, "docker") })
	s := open(t, b, sandbox.Spec{})
	succeed(t, s, "echo mine > file")
	e, err := b.engine()
	require.NoError(t, err)
	id, err := e.identity(t.Context())
	require.NoError(t, err)
	for _, noted := range []string{"", "A /a"} {
		r, err := b.loadRecord("s")
		require.NoError(t, err)
		require.Equal(t, id, r.Engine)
		r.Engine = noted
		require.NoError(t, b.writeRecord(r))
		lost, err := b.Lost(t.Context(), s.Ref())
		require.NoError(t, err)
		require.False(t, lost)
		if noted != "" {
			require.NoError(t, e.ContainerRemove(t.Context(), b.names("s").container, removal))
		}
		require.Equal(t, "mine", succeed(t, open(t, again(t, b), sandbox.Spec{}), "cat file"))
	}
	require.NoError(t, b.Destroy(t.Context(), s.Ref()))
	require.NoDirExists(t, b.opts.StateDir)
}
