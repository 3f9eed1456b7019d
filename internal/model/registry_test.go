// This file tests which models there are, and what is said when one cannot be used.

package model_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

func TestNoKey(t *testing.T) {
	t.Parallel()
	registry := model.New(model.Options{})
	_, err := registry.Get("")
	e := failure(t, err)
	require.Equal(t, model.ErrNoKey, e.Kind)
	require.Contains(t, e.Remedy, "OPENAI_API_KEY")
	require.Contains(t, e.Remedy, `"demo"`)
	_, err = registry.Get(model.DemoModel)
	require.NoError(t, err)
	infos := registry.List(t.Context())
	require.Equal(t, model.DefaultModel, infos[0].ID)
	require.False(t, infos[0].Available)
	require.NotEmpty(t, infos[0].Remedy)
	require.Equal(t, model.Info{ID: model.DemoModel, Provider: "demo", Available: true}, infos[len(infos)-1])
}

func TestKeySetLaterCounts(t *testing.T) {
	t.Parallel()
	var key atomic.Value
	key.Store("")
	registry := model.New(model.Options{Key: func() string { return key.Load().(string) }})
	_, err := registry.Get("")
	require.Error(t, err)
	key.Store(" " + canary + "\n")
	m, err := registry.Get("")
	require.NoError(t, err)
	require.True(t, registry.List(t.Context())[0].Available)
	key.Store("")
	_, err = m.Respond(t.Context(), model.Request{}, nil)
	require.Equal(t, model.ErrNoKey, failure(t, err).Kind)
}

func TestLoopbackNeedsNoKey(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}}))
	m, err := model.New(model.Options{BaseURL: server.URL}).Get("scripted")
	require.NoError(t, err)
	_, err = m.Respond(t.Context(), model.Request{Input: user("go")}, nil)
	require.NoError(t, err)
	require.False(t, server.Requests()[0].HasKey)
	_, err = model.New(model.Options{BaseURL: "https://llm.example.test/v1"}).Get("x")
	require.Equal(t, model.ErrNoKey, failure(t, err).Kind)
}

func TestLoopbackServerThatWantsAKey(t *testing.T) {
	t.Parallel()
	s := script(modeltest.Rule{})
	s.Key = "sk-needed"
	server := modeltest.Start(t, s)
	_, err := get(t, model.Options{BaseURL: server.URL}).Respond(t.Context(), model.Request{Input: user("go")}, nil)
	e := failure(t, err)
	require.Equal(t, model.ErrNoKey, e.Kind)
	require.Contains(t, e.Remedy, "OPENAI_API_KEY")
	_, err = get(t, options(server, "")).Respond(t.Context(), model.Request{Input: user("go")}, nil)
	require.Equal(t, model.ErrAuth, failure(t, err).Kind)
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://wrong.invalid")
	t.Setenv("OPENAI_ORG_ID", "org-from-the-environment")
	server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}}))
	m, err := model.New(model.Options{BaseURL: server.URL}).Get("scripted")
	require.NoError(t, err)
	_, err = m.Respond(t.Context(), model.Request{Input: user("go")}, nil)
	require.NoError(t, err)
	for _, values := range server.Requests()[0].Header {
		require.NotContains(t, strings.Join(values, " "), "from-the-environment")
	}
}

func TestOrganizationAndProject(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}}))
	opts := options(server, "")
	opts.Organization, opts.Project = "org-1", "proj-1"
	_, err := get(t, opts).Respond(t.Context(), model.Request{Input: user("go")}, nil)
	require.NoError(t, err)
	require.Equal(t, "org-1", server.Requests()[0].Header.Get("OpenAI-Organization"))
	require.Equal(t, "proj-1", server.Requests()[0].Header.Get("OpenAI-Project"))
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for _, opts := range []model.Options{{BaseURL: "localhost:11434"}, {API: "grpc"}} {
		registry := model.New(opts)
		_, err := registry.Get("x")
		e := failure(t, err)
		require.Equal(t, model.ErrRefused, e.Kind)
		require.NotEmpty(t, e.Remedy)
		infos := registry.List(t.Context())
		require.False(t, infos[0].Available)
		require.True(t, infos[len(infos)-1].Available)
	}
}

func TestListOfACompatibleServerIsCached(t *testing.T) {
	t.Parallel()
	s := script(modeltest.Rule{})
	s.Models = []string{"small", "large"}
	server := modeltest.Start(t, s)
	registry := model.New(model.Options{BaseURL: server.URL})
	for range 3 {
		infos := registry.List(t.Context())
		require.Equal(t, model.Info{ID: "small", Provider: "compatible", Available: true}, infos[0])
		require.Len(t, infos, 3)
	}
	require.Len(t, server.Requests(), 1)
}

func TestListDoesNotHangOnASilentServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	began := time.Now()
	infos := model.New(model.Options{BaseURL: server.URL + "/v1"}).List(t.Context())
	require.Equal(t, model.DefaultModel, infos[0].ID)
	require.Less(t, time.Since(began), 10*time.Second)
}
