// This file tests the parts of error mapping: delays, bodies of many forms, keys that must not show.

package model

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		seconds, ms string
		want        time.Duration
	}{
		{"", "", 0},
		{"3", "", 3 * time.Second},
		{" 0.5 ", "", 500 * time.Millisecond},
		{"3", "250", 250 * time.Millisecond},
		{"3", "no", 3 * time.Second},
		{now.Add(90 * time.Second).Format(http.TimeFormat), "", 90 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), "", 0},
		{"-5", "", 0},
		{"NaN", "", 0},
		{"1e300", "", maxRetryAfter},
		{"Inf", "", maxRetryAfter},
		{"tomorrow", "", 0},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.seconds)
		h.Set("Retry-After-Ms", c.ms)
		require.Equal(t, c.want, retryAfter(h, now), "%q %q", c.seconds, c.ms)
	}
}

func TestParseProblem(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]problem{
		`{"error":{"code":"c","type":"t","param":"p","message":"m"}}`: {Code: "c", Type: "t", Param: "p", Message: "m"},
		`{"error":{"code":400,"message":"m","param":null}}`:           {Code: "400", Message: "m"},
		`{"error":"text"}`:                                       {Message: "text"},
		`{"object":"error","message":"m"}`:                       {Message: "m"},
		`{"detail":[{"loc":["body","x"]}]}`:                      {Message: `[{"loc":["body","x"]}]`},
		`{"type":"error","code":"c","error":null,"message":"m"}`: {Type: "error", Code: "c", Message: "m"},
		`404 page not found`:                                     {Message: "404 page not found"},
		``:                                                       {},
		`[]`:                                                     {Message: "[]"},
	} {
		require.Equal(t, want, parseProblem([]byte(body)), body)
	}
}

func TestKeysDoNotShow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Incorrect API key provided: sk-proj-abc***xyz. See": "Incorrect API key provided: [key] See",
		"the key my-own-key was bad":                         "the key [key] was bad",
		"Authorization: Bearer abc.def":                      "Authorization: [key]",
		"task-force and disk-io are words":                   "task-force and disk-io are words",
	} {
		require.Equal(t, want, redact(text, "my-own-key"))
	}
	require.LessOrEqual(t, len(brief(string(make([]byte, 5000)), "")), 504)
	require.Equal(t, "one line", brief(" one\n line ", ""))
}

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]endpoint{
		"https://api.openai.com/v1":       {host: "api.openai.com", openAI: true},
		"http://127.0.0.1:11434/v1":       {host: "127.0.0.1:11434", local: true},
		"http://[::1]:8080/v1":            {host: "[::1]:8080", local: true},
		"http://localhost:1/v1":           {host: "localhost:1", local: true},
		"https://user:secret@llm.test/":   {host: "llm.test"},
		"https://api.openai.com.evil.com": {host: "api.openai.com.evil.com"},
	} {
		got, err := parseEndpoint(base)
		require.NoError(t, err)
		want.url = base
		require.Equal(t, want, got)
	}
	for _, base := range []string{"localhost:11434", "ftp://x/v1", "http://", "::", "http://a b/"} {
		_, err := parseEndpoint(base)
		require.Error(t, err, base)
		require.Equal(t, ErrRefused, asError(err).Kind)
	}
}

func TestWhichModelsReason(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		DefaultModel: true, "o3": true, "o4-mini": true, "gpt-5": true, "gpt-6-sol": true, "gpt-10": true, "codex-mini-latest": true,
		"gpt-4.1": false, "gpt-4o": false, "gpt-5-chat-latest": false, "gpt-5.3-chat-latest": false, "llama3": false, "": false,
	} {
		require.Equal(t, want, reasons(id), id)
	}
}

func TestEventLimit(t *testing.T) {
	t.Parallel()
	b := guardedBody{}
	for range 1000 {
		require.True(t, b.count([]byte("event: x\ndata: 0123456789\n")))
		require.True(t, b.count([]byte("\n")))
	}
	require.True(t, b.count([]byte("data: y\r\n\r\n")))
	require.Zero(t, b.event)
	require.True(t, b.count(make([]byte, maxEvent)))
	require.False(t, b.count([]byte("x")))
}

func TestAnAnswerInOnePieceIsBoundedThoughItHasEmptyLines(t *testing.T) {
	t.Parallel()
	whole, err := readWhole(strings.NewReader(strings.Repeat("\n\n", maxEvent/2)))
	require.NoError(t, err)
	require.Len(t, whole, maxEvent)
	_, err = readWhole(strings.NewReader(strings.Repeat("\n\n", maxEvent/2) + "{"))
	require.ErrorContains(t, err, "more bytes than the limit")
}
