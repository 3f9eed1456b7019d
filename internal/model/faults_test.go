// This file tests every fault by both wires: its kind, whether it may be retried, and what is left of the answer.

package model_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

func at(n int) *int { return &n }

type faultCase struct {
	name      string
	fault     modeltest.Fault
	kind      model.ErrorKind
	retryable bool
	after     time.Duration // RetryAfter
	partial   string
	says      string // part of the whole error text
}

var faultCases = []faultCase{
	{name: "rate limit, milliseconds", fault: modeltest.Fault{Status: 429, RetryAfterMS: 1500, Code: "rate_limit_exceeded"}, kind: model.ErrRateLimited, retryable: true, after: 1500 * time.Millisecond},
	{name: "rate limit, seconds", fault: modeltest.Fault{Status: 429, RetryAfter: "7"}, kind: model.ErrRateLimited, retryable: true, after: 7 * time.Second},
	{name: "rate limit, in the message", fault: modeltest.Fault{Status: 429, Message: "Rate limit reached. Please try again in 1.5s."}, kind: model.ErrRateLimited, retryable: true, after: 1500 * time.Millisecond},
	{name: "rate limit, nonsense header", fault: modeltest.Fault{Status: 429, RetryAfter: "soon"}, kind: model.ErrRateLimited, retryable: true},
	{name: "quota", fault: modeltest.Fault{Status: 429, Code: "insufficient_quota", Message: "You exceeded your current quota."}, kind: model.ErrQuota, says: "quota"},
	{name: "no money", fault: modeltest.Fault{Status: 402}, kind: model.ErrQuota},
	{name: "key refused", fault: modeltest.Fault{Status: 401, Message: "Incorrect API key provided: " + canary + "."}, kind: model.ErrAuth, says: "The key was refused by 127.0.0.1"},
	{name: "forbidden", fault: modeltest.Fault{Status: 403}, kind: model.ErrAuth},
	{name: "unknown model", fault: modeltest.Fault{Status: 404, Code: "model_not_found", Message: "The model does not exist."}, kind: model.ErrUnknown, says: `"scripted"`},
	{name: "unknown model, other words", fault: modeltest.Fault{Status: 404, Body: json.RawMessage(`{"error":"model \"scripted\" not found, try pulling it first"}`)}, kind: model.ErrUnknown},
	{name: "too long, code", fault: modeltest.Fault{Status: 400, Code: "context_length_exceeded"}, kind: model.ErrTooLong},
	{name: "too long, words", fault: modeltest.Fault{Status: 400, Message: "This model's maximum context length is 10 tokens."}, kind: model.ErrTooLong},
	{name: "too long, llama.cpp", fault: modeltest.Fault{Status: 400, Body: json.RawMessage(`{"error":{"code":400,"type":"exceed_context_size_error","message":"request exceeds"}}`)}, kind: model.ErrTooLong},
	{name: "too large", fault: modeltest.Fault{Status: 413}, kind: model.ErrTooLong},
	{name: "other 4xx", fault: modeltest.Fault{Status: 418, Message: "I am a teapot."}, kind: model.ErrRefused, says: "teapot"},
	{name: "no such address", fault: modeltest.Fault{Status: 404, Body: json.RawMessage(`{"detail":"Not Found"}`)}, kind: model.ErrRefused, says: "no such address"},
	{name: "500", fault: modeltest.Fault{Status: 500}, kind: model.ErrOverloaded, retryable: true},
	{name: "503", fault: modeltest.Fault{Status: 503, RetryAfter: "2"}, kind: model.ErrOverloaded, retryable: true, after: 2 * time.Second},
	{name: "request timeout", fault: modeltest.Fault{Status: 408}, kind: model.ErrOverloaded, retryable: true},
	{name: "redirect", fault: modeltest.Fault{Status: 304}, kind: model.ErrRefused},
	{name: "cut", fault: modeltest.Fault{CutAfterChunks: at(2)}, kind: model.ErrCut, retryable: true, partial: "A sent"},
	{name: "cut before the first delta", fault: modeltest.Fault{CutAfterChunks: at(0)}, kind: model.ErrCut, retryable: true},
	{name: "end without an end", fault: modeltest.Fault{EndAfterChunks: at(2)}, kind: model.ErrCut, retryable: true, partial: "A sent"},
	{name: "stall", fault: modeltest.Fault{StallAfterChunks: at(2)}, kind: model.ErrStalled, retryable: true, partial: "A sent", says: "sent nothing for 200ms"},
	{name: "stall before headers", fault: modeltest.Fault{StallAfterChunks: at(-1)}, kind: model.ErrStalled, retryable: true, says: "did not begin to answer within 300ms"},
	{name: "not JSON", fault: modeltest.Fault{Malformed: "json"}, kind: model.ErrMalformed, retryable: true},
	{name: "endless line", fault: modeltest.Fault{Malformed: "longLine"}, kind: model.ErrMalformed},
	{name: "error event", fault: modeltest.Fault{ErrorAfterChunks: at(2), Code: "server_error", Message: "The server had an error with " + canary}, kind: model.ErrOverloaded, retryable: true, partial: "A sent"},
	{name: "error event, quota", fault: modeltest.Fault{ErrorAfterChunks: at(2), Code: "insufficient_quota"}, kind: model.ErrQuota, partial: "A sent"},
	{name: "error event, status as code", fault: modeltest.Fault{ErrorAfterChunks: at(2), Code: "429", Message: "Provider returned error"}, kind: model.ErrRateLimited, retryable: true, partial: "A sent"},
	{name: "error event, no code", fault: modeltest.Fault{ErrorAfterChunks: at(2), Message: "something broke"}, kind: model.ErrOverloaded, retryable: true, partial: "A sent"},
	{name: "failed, rate limit", fault: modeltest.Fault{Failed: true, Code: "rate_limit_exceeded", Message: "Please try again in 20ms."}, kind: model.ErrRateLimited, retryable: true, after: 20 * time.Millisecond, partial: "A sentence."},
	{name: "failed, too long", fault: modeltest.Fault{Failed: true, Code: "context_length_exceeded", Message: "too long"}, kind: model.ErrTooLong, partial: "A sentence."},
	{name: "failed, prompt", fault: modeltest.Fault{Failed: true, Code: "invalid_prompt", Message: "no"}, kind: model.ErrRefused, partial: "A sentence."},
}

func TestFaults(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		for _, c := range faultCases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				server := modeltest.Start(t, script(modeltest.Rule{
					Respond: modeltest.Answer{Text: "A sentence."}, Chunking: modeltest.Chunking{Bytes: 3}, Fault: &c.fault,
				}))
				opts := options(server, api)
				if c.kind == model.ErrStalled {
					opts.IdleTimeout, opts.HeaderTimeout = 200*time.Millisecond, 300*time.Millisecond
				}
				r, err := get(t, opts).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
				e := failure(t, err)
				require.Equal(t, c.kind, e.Kind, "%v", err)
				require.Equal(t, c.retryable, e.Retryable)
				require.Equal(t, c.after, e.RetryAfter)
				require.Equal(t, c.fault.Status, e.Status)
				require.Contains(t, e.Error(), c.says)
				require.Equal(t, c.partial, textOf(r))
			})
		}
	})
}

func textOf(r model.Response) string {
	var b strings.Builder
	for _, e := range r.Entries {
		b.WriteString(e.Text)
	}
	return b.String()
}

func TestHarmlessFaults(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		for _, kind := range []string{"unknown", "empty", "comment"} {
			server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "Fine."}, Fault: &modeltest.Fault{Malformed: kind}}))
			r, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
			require.NoError(t, err, kind)
			require.Equal(t, "Fine.", textOf(r))
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		answers := map[string]modeltest.Answer{
			"text": {HugeTextBytes: 8<<20 + 1},
			"arguments": {
				ToolCalls:         []modeltest.ToolCall{{Name: "exec_command", Arguments: json.RawMessage(`"{"`)}},
				HugeArgumentBytes: 4 << 20,
			},
		}
		for what, answer := range answers {
			server := modeltest.Start(t, script(modeltest.Rule{Respond: answer, Chunking: modeltest.Chunking{Bytes: 1 << 20}}))
			_, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
			e := failure(t, err)
			require.Equal(t, model.ErrMalformed, e.Kind)
			require.False(t, e.Retryable)
			require.Contains(t, e.Message, what)
		}
	})
}

func TestLargeAnswerFits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		server := modeltest.Start(t, script(modeltest.Rule{
			Respond: modeltest.Answer{HugeTextBytes: 8 << 20}, Chunking: modeltest.Chunking{Bytes: 1 << 20},
		}))
		r, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
		require.NoError(t, err)
		require.Len(t, r.Entries[0].Text, 8<<20)
	})
}

func TestCallsThatAreNotWholeAreLeftOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, api string) {
		server := modeltest.Start(t, script(modeltest.Rule{
			Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{{Name: "exec_command", Arguments: json.RawMessage(`{"command":"rm -rf everything"}`)}}},
			Fault:   &modeltest.Fault{CutAfterChunks: at(1)},
		}))
		r, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Model: "scripted", Input: user("go")}, nil)
		require.Equal(t, model.ErrCut, failure(t, err).Kind)
		require.Empty(t, r.Entries)
	})
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + listener.Addr().String() + "/v1"
	require.NoError(t, listener.Close())
	for _, base := range []string{closed, "http://no-such-host.invalid/v1"} {
		m := get(t, model.Options{Key: func() string { return canary }, BaseURL: base})
		_, err := m.Respond(t.Context(), model.Request{Input: user("go")}, nil)
		e := failure(t, err)
		require.Equal(t, model.ErrUnreachable, e.Kind)
		require.True(t, e.Retryable)
		require.NotEmpty(t, e.Remedy)
	}
}

func TestHugeErrorBodyIsNotRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("<html>", 1000))); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	m := get(t, model.Options{Key: func() string { return canary }, BaseURL: server.URL, API: model.APIChat})
	_, err := m.Respond(t.Context(), model.Request{Input: user("go")}, nil)
	e := failure(t, err)
	require.Equal(t, model.ErrOverloaded, e.Kind)
	require.Less(t, len(e.Error()), 1000)
}
