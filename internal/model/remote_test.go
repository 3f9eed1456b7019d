// This file tests both wires against the scripted server: what goes out, what comes back, and whole rounds with tools.

package model_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

const canary = "sk-canary-0123456789abcdef"

var wires = []string{model.APIResponses, model.APIChat}

var execTool = model.Tool{Name: "exec_command", Description: "Runs a command.", Parameters: map[string]any{
	"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}},
}}

// onBoth runs a test by each wire.
func onBoth(t *testing.T, test func(t *testing.T, api string)) {
	t.Helper()
	for _, api := range wires {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			test(t, api)
		})
	}
}

func script(rules ...modeltest.Rule) modeltest.Script { return modeltest.Script{Rules: rules} }

func options(server *modeltest.Server, api string) model.Options {
	return model.Options{Key: func() string { return canary }, BaseURL: server.URL, API: api}
}

func get(t *testing.T, opts model.Options) model.Model {
	t.Helper()
	m, err := model.New(opts).Get("scripted")
	require.NoError(t, err)
	return m
}

func user(text string) []model.Entry { return []model.Entry{{Kind: model.KindUser, Text: text}} }

// gathered collects deltas per entry, as a client would show them.
type gathered map[int]string

func (g gathered) take(d model.Delta) { g[d.Entry] += d.Data }

// sameAs checks that the deltas of every entry add up to it.
func (g gathered) sameAs(t *testing.T, entries []model.Entry) {
	t.Helper()
	for i, e := range entries {
		require.Equal(t, e.Text+e.Arguments, g[i], "deltas of entry %d", i)
	}
}

func failure(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Message)
	for cause := error(e); cause != nil; {
		require.NotContains(t, cause.Error(), canary)
		u, ok := cause.(interface{ Unwrap() error })
		if !ok {
			break
		}
		cause = u.Unwrap()
	}
	return e
}

func TestAnswerWithReasoningTextAndParallelCalls(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{
			Reasoning: "Thinking — wide characters too: 日本語.",
			Text:      "Some text before the calls.",
			ToolCalls: []modeltest.ToolCall{
				{Name: "exec_command", Arguments: json.RawMessage(`{"command":"echo one"}`)},
				{Name: "exec_command", Arguments: json.RawMessage(`{"command":"echo two"}`)},
			},
			Usage: &modeltest.Usage{Input: 10, Cached: 4, Output: 7, Reasoning: 3},
		}, Chunking: modeltest.Chunking{Bytes: 3}}))
		deltas := gathered{}
		r, err := get(t, options(server, api)).Respond(t.Context(), model.Request{
			Model: "scripted", Instructions: "Be short.", Input: user("go"), Tools: []model.Tool{execTool}, CacheKey: "session-1",
		}, deltas.take)
		require.NoError(t, err)
		require.Len(t, r.Entries, 4)
		deltas.sameAs(t, r.Entries)
		require.Equal(t, model.KindReasoning, r.Entries[0].Kind)
		require.Equal(t, "Thinking — wide characters too: 日本語.", r.Entries[0].Text)
		require.NotEmpty(t, r.Entries[0].Raw)
		require.Equal(t, "Some text before the calls.", r.Entries[1].Text)
		require.JSONEq(t, `{"command":"echo one"}`, r.Entries[2].Arguments)
		require.JSONEq(t, `{"command":"echo two"}`, r.Entries[3].Arguments)
		require.NotEqual(t, r.Entries[2].CallID, r.Entries[3].CallID)
		require.Equal(t, model.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 7, ReasoningTokens: 3}, r.Usage)
		require.Equal(t, "scripted", r.Model)
		require.Empty(t, r.Incomplete)
	})
}

func TestRoundWithTools(t *testing.T) {
	t.Parallel()
	basic, err := modeltest.Load("../../testdata/models/basic.json")
	require.NoError(t, err)
	onBoth(t, func(t *testing.T, api string) {
		server := modeltest.Start(t, basic)
		m := get(t, options(server, api))
		req := model.Request{Model: "scripted", Input: user("please run the command"), Tools: []model.Tool{execTool}}
		for range 3 {
			r, err := m.Respond(t.Context(), req, nil)
			require.NoError(t, err)
			req.Input = append(req.Input, r.Entries...)
			last := r.Entries[len(r.Entries)-1]
			if last.Kind != model.KindToolCall {
				require.Equal(t, "The tool said: scripted\nexit code 3", last.Text)
				break
			}
			req.Input = append(req.Input, model.Entry{Kind: model.KindToolResult, CallID: last.CallID, Text: "scripted\nexit code 3"})
		}
		requests := server.Requests()
		require.Len(t, requests, 2)
		require.Equal(t, "Bearer "+canary, requests[0].Authorization)
	})
}

func TestResponsesRequestIsStateless(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}}))
	_, err := get(t, options(server, model.APIResponses)).Respond(t.Context(), model.Request{
		Model: "gpt-5.6-sol", Effort: "high", Input: user("go"), Tools: []model.Tool{execTool}, CacheKey: strings.Repeat("k", 100),
	}, nil)
	require.NoError(t, err)
	var body struct {
		Store     *bool             `json:"store"`
		Stream    bool              `json:"stream"`
		Include   []string          `json:"include"`
		Reasoning map[string]string `json:"reasoning"`
		Parallel  bool              `json:"parallel_tool_calls"`
		CacheKey  string            `json:"prompt_cache_key"`
	}
	require.NoError(t, json.Unmarshal(server.Requests()[0].Body, &body))
	require.False(t, *body.Store)
	require.True(t, body.Stream)
	require.True(t, body.Parallel)
	require.Equal(t, []string{"reasoning.encrypted_content"}, body.Include)
	require.Equal(t, map[string]string{"effort": "high", "summary": "auto"}, body.Reasoning)
	require.Len(t, body.CacheKey, 64)
}

func TestIncompleteAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		for _, reason := range []string{"max_output_tokens", "content_filter"} {
			server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "half", Incomplete: reason}}))
			r, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
			require.NoError(t, err)
			require.Equal(t, reason, r.Incomplete)
			require.Equal(t, "half", r.Entries[0].Text)
		}
	})
}

func TestRefusalIsText(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Refusal: "I will not."}}))
		r, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
		require.NoError(t, err)
		require.Equal(t, "I will not.", r.Entries[0].Text)
	})
}

func TestSwitchingWiresKeepsToolCallsAndDropsReasoning(t *testing.T) {
	t.Parallel()
	basic, err := modeltest.Load("../../testdata/models/basic.json")
	require.NoError(t, err)
	for _, order := range [][2]string{{model.APIResponses, model.APIChat}, {model.APIChat, model.APIResponses}} {
		server := modeltest.Start(t, basic)
		req := model.Request{Model: "scripted", Input: user("run the command"), Tools: []model.Tool{execTool}}
		r, err := get(t, options(server, order[0])).Respond(t.Context(), req, nil)
		require.NoError(t, err)
		call := r.Entries[len(r.Entries)-1]
		req.Input = append(append(req.Input, r.Entries...), model.Entry{Kind: model.KindToolResult, CallID: call.CallID, Text: "done"})
		r, err = get(t, options(server, order[1])).Respond(t.Context(), req, nil)
		require.NoError(t, err)
		require.Equal(t, "The tool said: done", r.Entries[len(r.Entries)-1].Text)
		require.NotContains(t, string(server.Requests()[1].Body), "I should run it")
	}
}

func TestReasoningGoesBackToItsMaker(t *testing.T) {
	t.Parallel()
	basic, err := modeltest.Load("../../testdata/models/basic.json")
	require.NoError(t, err)
	onBoth(t, func(t *testing.T, api string) {
		server := modeltest.Start(t, basic)
		m := get(t, options(server, api))
		req := model.Request{Model: "scripted", Input: user("run the command"), Tools: []model.Tool{execTool}}
		r, err := m.Respond(t.Context(), req, nil)
		require.NoError(t, err)
		req.Input = append(req.Input, r.Entries...) // and no result: it is synthesised
		_, err = m.Respond(t.Context(), req, nil)
		require.NoError(t, err)
		body := string(server.Requests()[1].Body)
		require.Contains(t, body, "I should run it")
		require.Contains(t, body, "No result was recorded")
	})
}

func TestRepeatedCallIDsBecomeUnique(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		s := script(modeltest.Rule{Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{{Name: "exec_command", Arguments: json.RawMessage(`{}`)}}}})
		s.Quirks.SameIDs = true
		server := modeltest.Start(t, s)
		m := get(t, options(server, api))
		req := model.Request{Model: "scripted", Input: user("go"), Tools: []model.Tool{execTool}}
		seen := map[string]bool{}
		for range 3 {
			r, err := m.Respond(t.Context(), req, nil)
			require.NoError(t, err)
			require.False(t, seen[r.Entries[0].CallID])
			seen[r.Entries[0].CallID] = true
			req.Input = append(append(req.Input, r.Entries...), model.Entry{Kind: model.KindToolResult, CallID: r.Entries[0].CallID, Text: "ok"})
		}
	})
}

func TestCancelIsPromptAndKeepsTheText(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		two := 2
		server := modeltest.Start(t, script(modeltest.Rule{
			Respond: modeltest.Answer{Text: "0123456789"}, Chunking: modeltest.Chunking{Bytes: 2}, Fault: &modeltest.Fault{StallAfterChunks: &two},
		}))
		ctx, cancel := context.WithCancel(t.Context())
		got := ""
		began := time.Now()
		r, err := get(t, options(server, api)).Respond(ctx, model.Request{Model: "scripted", Input: user("go")}, func(d model.Delta) {
			if got += d.Data; got == "0123" {
				cancel()
			}
		})
		e := failure(t, err)
		require.Equal(t, model.ErrCanceled, e.Kind)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "0123", r.Entries[0].Text)
		require.Less(t, time.Since(began), 5*time.Second)
	})
}
