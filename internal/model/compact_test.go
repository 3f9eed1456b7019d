// This file tests compaction by the server, and what becomes of it elsewhere.

package model_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

func TestTheServerCompacts(t *testing.T) {
	t.Parallel()
	s := script(modeltest.Rule{Respond: modeltest.Answer{Text: "Going on."}})
	s.Compacts = true
	server := modeltest.Start(t, s)
	m := get(t, options(server, model.APIResponses))
	compactor, ok := m.(model.Compactor)
	require.True(t, ok)
	input := append(user("build it"),
		model.Entry{Kind: model.KindToolCall, CallID: "c1", Name: "exec_command", Arguments: `{}`},
		model.Entry{Kind: model.KindToolResult, CallID: "c1", Text: "ok"})
	res, err := compactor.Compact(t.Context(), model.Request{Input: input, Instructions: "Be brief."})
	require.NoError(t, err)
	require.Len(t, res.Entries, 2)
	require.Equal(t, model.Entry{Kind: model.KindUser, Text: "build it"}, res.Entries[0])
	require.Equal(t, model.KindCompaction, res.Entries[1].Kind)
	require.EqualValues(t, 100, res.Usage.OutputTokens)

	res.Entries[1].Text = "what is left"
	next := slices.Concat(res.Entries, user("go on"))
	answered, err := m.Respond(t.Context(), model.Request{Input: next}, nil)
	require.NoError(t, err, "the server takes its own compaction back")
	require.Equal(t, "Going on.", answered.Entries[0].Text)
	require.Contains(t, string(server.Requests()[1].Body), `"encrypted_content":"sealed:compaction"`)
	require.NotContains(t, string(server.Requests()[1].Body), "what is left")

	_, err = get(t, options(server, model.APIChat)).Respond(t.Context(), model.Request{Input: next}, nil)
	require.NoError(t, err)
	require.Contains(t, string(server.Requests()[2].Body), "what is left", "who cannot read it gets words")
}

func TestAServerThatDoesNotCompact(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "hi"}}))
	registry := model.New(options(server, model.APIResponses))
	for range 3 {
		m, err := registry.Get("scripted")
		require.NoError(t, err)
		_, err = m.(model.Compactor).Compact(t.Context(), model.Request{Input: user("x")})
		require.Equal(t, model.ErrRefused, failure(t, err).Kind)
	}
	require.Len(t, server.Requests(), 1, "it is asked once")
	m := get(t, options(server, model.APIChat))
	_, err := m.(model.Compactor).Compact(t.Context(), model.Request{Input: user("x")})
	require.Equal(t, model.ErrRefused, failure(t, err).Kind)
	require.Len(t, server.Requests(), 1)
}

func TestCosts(t *testing.T) {
	t.Parallel()
	openAI, other := model.New(model.Options{}), model.New(model.Options{BaseURL: "http://127.0.0.1:1/v1", Facts: map[string]model.Facts{
		"mine": {Window: 8000, Price: &model.Price{Input: 1, Output: 2}},
	}})
	u := model.Usage{InputTokens: 100_000, CachedTokens: 50_000, CacheWriteTokens: 10_000, OutputTokens: 10_000}
	require.InDelta(t, 0.04*4+0.05*0.4+0.01*5+0.01*20, openAI.Facts("gpt-5.6-sol").Price.Cost(u), 1e-9)
	u.InputTokens = 300_000
	require.InDelta(t, 0.24*8+0.05*0.8+0.01*10+0.01*30, openAI.Facts("gpt-5.6-sol").Price.Cost(u), 1e-9, "a long call costs more")
	require.Nil(t, openAI.Facts("gpt-9").Price, "no price is better than a wrong one")
	require.EqualValues(t, model.DefaultWindow, openAI.Facts("gpt-9").Window)
	require.Nil(t, other.Facts("gpt-5.6-sol").Price, "another server has other prices")
	require.Equal(t, model.Facts{Window: 8000, Price: &model.Price{Input: 1, Output: 2}}, other.Facts("mine"))
	require.Zero(t, openAI.Facts(model.DemoModel).Price.Cost(u))
	require.Equal(t, "mine", other.Cheap("mine"))
	require.NotEqual(t, model.DefaultModel, openAI.Cheap(model.DefaultModel))
	for _, i := range openAI.List(t.Context()) {
		require.NotNil(t, openAI.Facts(i.ID).Price, "%s is offered without a price", i.ID)
	}
}
