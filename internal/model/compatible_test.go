// This file tests the habits of compatible servers: what they refuse, leave out, or do another way.

package model_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

func twoCalls() modeltest.Answer {
	return modeltest.Answer{Reasoning: "Hm.", Text: "Now.", ToolCalls: []modeltest.ToolCall{
		{Name: "exec_command", Arguments: json.RawMessage(`{"command":"echo one"}`)},
		{Name: "exec_command", Arguments: json.RawMessage(`{"command":"echo two"}`)},
	}}
}

func TestChatHabits(t *testing.T) {
	t.Parallel()
	for name, quirks := range map[string]modeltest.Quirks{
		"usual":                          {},
		"no ids":                         {NoIDs: true},
		"no ids, whole arguments":        {NoIDs: true, WholeArguments: true},
		"no index":                       {NoIndex: true, WholeArguments: true},
		"no index, pieces":               {NoIndex: true},
		"no index, no ids, whole":        {NoIndex: true, NoIDs: true, WholeArguments: true},
		"no index, no ids, pieces":       {NoIndex: true, NoIDs: true},
		"objects as arguments":           {ObjectArgs: true},
		"no usage":                       {NoUsage: true},
		"no [DONE]":                      {NoDone: true},
		"not streamed":                   {NoStream: true},
		"not streamed, no ids":           {NoStream: true, NoIDs: true},
		"reasoning":                      {ReasoningField: "reasoning"},
		"stream_options refused":         {Refuse: []string{"stream_options"}},
		"stream_options refused vaguely": {Refuse: []string{"stream_options"}, Vague: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(modeltest.Rule{Respond: twoCalls()})
			s.Quirks = quirks
			server := modeltest.Start(t, s)
			deltas := gathered{}
			r, err := get(t, options(server, model.APIChat)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go"), Tools: []model.Tool{execTool}}, deltas.take)
			require.NoError(t, err)
			require.Len(t, r.Entries, 4)
			deltas.sameAs(t, r.Entries)
			require.Equal(t, "Hm.", r.Entries[0].Text)
			require.JSONEq(t, `{"command":"echo one"}`, r.Entries[2].Arguments)
			require.JSONEq(t, `{"command":"echo two"}`, r.Entries[3].Arguments)
			require.NotEmpty(t, r.Entries[2].CallID)
			require.NotEqual(t, r.Entries[2].CallID, r.Entries[3].CallID)
		})
	}
}

func TestRefusedOptionsAreLeftOutAndRemembered(t *testing.T) {
	t.Parallel()
	for api, refused := range map[string][]string{
		model.APIChat:      {"stream_options", "messages.reasoning_content"},
		model.APIResponses: {"reasoning.summary", "include", "prompt_cache_key", "parallel_tool_calls"},
	} {
		s := script(modeltest.Rule{Respond: modeltest.Answer{Reasoning: "Hm.", Text: "ok"}})
		s.Quirks.Refuse = refused
		server := modeltest.Start(t, s)
		registry := model.New(options(server, api))
		m, err := registry.Get("gpt-5.6-sol")
		require.NoError(t, err)
		req := model.Request{Input: user("go"), Tools: []model.Tool{execTool}, CacheKey: "k"}
		for range 3 {
			r, err := m.Respond(t.Context(), req, nil)
			require.NoError(t, err, api)
			req.Input = append(req.Input, r.Entries...)
		}
		asked := len(server.Requests())
		require.LessOrEqual(t, asked, 3+len(refused), api)
		m, err = registry.Get("gpt-5.6-sol")
		require.NoError(t, err)
		_, err = m.Respond(t.Context(), req, nil)
		require.NoError(t, err)
		require.Len(t, server.Requests(), asked+1, "what was refused is not tried again")
	}
}

func TestResponsesNotStreamed(t *testing.T) {
	t.Parallel()
	s := script(modeltest.Rule{Respond: twoCalls()})
	s.Quirks.NoStream = true
	server := modeltest.Start(t, s)
	deltas := gathered{}
	r, err := get(t, options(server, model.APIResponses)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, deltas.take)
	require.NoError(t, err)
	require.Len(t, r.Entries, 4)
	deltas.sameAs(t, r.Entries)
}

func TestWireIsFoundOutAndRemembered(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		s := script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}})
		s.Wires = []string{wire}
		server := modeltest.Start(t, s)
		registry := model.New(options(server, ""))
		for range 2 {
			m, err := registry.Get("scripted")
			require.NoError(t, err)
			_, err = m.Respond(t.Context(), model.Request{Input: user("go")}, nil)
			require.NoError(t, err)
		}
		want := map[string]int{model.APIResponses: 2, model.APIChat: 3}
		require.Len(t, server.Requests(), want[wire])
	}
}

func TestUnknownModelIsNotTakenForAnUnknownWire(t *testing.T) {
	t.Parallel()
	s := script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}})
	s.Strict = true
	server := modeltest.Start(t, s)
	_, err := get(t, options(server, "")).Respond(t.Context(), model.Request{Model: "nope", Input: user("go")}, nil)
	require.Equal(t, model.ErrUnknown, failure(t, err).Kind)
	require.Len(t, server.Requests(), 1)
}

func TestNoWireAtAll(t *testing.T) {
	t.Parallel()
	s := script(modeltest.Rule{})
	s.Wires = []string{"none"}
	server := modeltest.Start(t, s)
	_, err := get(t, options(server, "")).Respond(t.Context(), model.Request{Input: user("go")}, nil)
	e := failure(t, err)
	require.Equal(t, model.ErrRefused, e.Kind)
	require.Contains(t, e.Remedy, "/v1")
}

func TestReasoningThatCannotBeReadAnyMore(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Reasoning: "Hm.", Text: "ok"}}))
	m := get(t, options(server, model.APIResponses))
	for _, encrypted := range []string{"sealed-by-another-key", ""} {
		r, err := m.Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
		require.NoError(t, err)
		raw, err := json.Marshal(map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": encrypted})
		require.NoError(t, err)
		r.Entries[0].Raw = raw
		input := append(append(user("go"), r.Entries...), user("again")...)
		_, err = m.Respond(t.Context(), model.Request{Model: "scripted", Input: input}, nil)
		require.NoError(t, err)
	}
}
