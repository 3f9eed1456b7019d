// This file checks that commands reach their handlers, and that what is wrong with their params is told plainly.

package editors_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// echo registers a handler that remembers the params it got.
func echo[P, R any](m *editors.Mux, d editors.Def[P, R], got *any) {
	editors.Handle(m, d, func(_ context.Context, p P) (R, error) {
		*got = p
		var r R
		return r, nil
	})
}

func TestDispatch(t *testing.T) {
	var mux editors.Mux
	var got any
	echo(&mux, editors.Ask, &got)
	echo(&mux, editors.Backends, &got)
	echo(&mux, editors.AnswerApproval, &got)

	for name, test := range map[string]struct {
		command, params string
		want            any
	}{
		"bare":           {"ask", `{"text":"hi"}`, editors.AskParams{Text: "hi"}},
		"method":         {"sandboxAgent/ask", `{"text":"hi"}`, editors.AskParams{Text: "hi"}},
		"executeCommand": {"sandboxAgent.ask", `[{"text":"hi"}]`, editors.AskParams{Text: "hi"}},
		"new field":      {"ask", `{"text":"hi","later":{"x":1}}`, editors.AskParams{Text: "hi"}},
		"null optional":  {"ask", `{"text":"hi","model":null,"context":null}`, editors.AskParams{Text: "hi"}},
		"nested": {
			"ask", `{"text":"","context":[{"kind":"file","range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4}}}]}`,
			editors.AskParams{Context: []editors.Context{{
				Kind:  "file",
				Range: &editors.Range{Start: editors.Position{Line: 1, Character: 2}, End: editors.Position{Line: 3, Character: 4}},
			}}},
		},
		"absent":     {"backends", ``, editors.Empty{}},
		"null":       {"backends", ` null `, editors.Empty{}},
		"null in []": {"backends", `[null]`, editors.Empty{}},
		"longest id": {
			"ask", `{"text":"hi","requestId":"` + strings.Repeat("x", editors.MaxRequestID) + `"}`,
			editors.AskParams{Text: "hi", RequestID: strings.Repeat("x", editors.MaxRequestID)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got = nil
			_, err := mux.Dispatch(t.Context(), test.command, json.RawMessage(test.params))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestDispatchTellsWhatIsWrong(t *testing.T) {
	var mux editors.Mux
	var got any
	echo(&mux, editors.New, &got)
	echo(&mux, editors.Ask, &got)
	echo(&mux, editors.Steer, &got)
	echo(&mux, editors.AnswerApproval, &got)
	echo(&mux, editors.SetSecret, &got)

	for _, test := range []struct {
		command, params string
		code            editors.Code
		message         string
	}{
		{"ask", `{}`, editors.CodeInvalidParams, `ask: text is missing; it must be a string`},
		{"ask", ``, editors.CodeInvalidParams, `ask: text is missing; it must be a string`},
		{"ask", `{"text":null}`, editors.CodeInvalidParams, `ask: text is missing; it must be a string`},
		{"ask", `{"text":7}`, editors.CodeInvalidParams, `ask: text must be a string, not the number 7`},
		{"ask", `{"text":["a"]}`, editors.CodeInvalidParams, `ask: text must be a string, not an array`},
		{"ask", `{"Text":"a"}`, editors.CodeInvalidParams, `ask: Text is not known; did you mean text?`},
		{"ask", `{"text":"a","context":{}}`, editors.CodeInvalidParams, `ask: context must be an array, not an object`},
		{"ask", `{"text":"a","context":[null]}`, editors.CodeInvalidParams, `ask: context[0] must be an object, not null`},
		{"ask", `{"text":"a","context":[{"kind":"moon"}]}`, editors.CodeInvalidParams, `ask: context[0].kind must be one of file, selection, diagnostics, text, image`},
		{"ask", `{"text":"a","context":[{"kind":"file","range":{"start":{"line":true}}}]}`, editors.CodeInvalidParams, `ask: context[0].range.start.line must be a whole number, not true`},
		{"ask", `"hi"`, editors.CodeInvalidParams, `ask: params must be an object, not a string`},
		{"ask", `[{"text":"a"},{"text":"b"}]`, editors.CodeInvalidParams, `ask: the params must be one object, not an array of 2`},
		{"setSecret", `[]`, editors.CodeInvalidParams, `setSecret: the params must be one object, not an array of 0`},
		{"ask", `{"text":`, editors.CodeInvalidParams, `ask: the params are not valid JSON`},
		{"ask", "{\"text\":\"\xff\"}", editors.CodeInvalidParams, `ask: the params are not valid UTF-8`},
		{"ask", `{"text":"a","requestId":"` + strings.Repeat("é", 65) + `"}`, editors.CodeInvalidParams, `ask: requestId has 130 bytes; at most 128 are allowed`},
		{"steer", `{"sessionId":"s","text":"a","expectedTurnId":1.5}`, editors.CodeInvalidParams, `steer: expectedTurnId must be a whole number, not the number 1.5`},
		{"new", `{"approvalMode":"sometimes"}`, editors.CodeInvalidParams, `new: approvalMode must be one of ask, auto, never, readOnly`},
		{"new", `{"backend":{}}`, editors.CodeInvalidParams, `new: backend.kind is missing; it must be one of local, docker, e2b, daytona`},
		{"answerApproval", `{"sessionId":"s","approvalId":"a","decision":"withdrawn"}`, editors.CodeInvalidParams, `answerApproval: decision must be one of allow, allowAlways, deny`},
		{"setSecret", `{"name":"sk-canary","value":"OPENAI_API_KEY"}`, editors.CodeInvalidParams, `setSecret: name must be one of OPENAI_API_KEY, E2B_API_KEY, DAYTONA_API_KEY`},
		{"sessions", `{}`, editors.CodeUnsupported, `this server does not offer the command "sessions"`},
		{"sandboxAgent/fly", `{}`, editors.CodeUnsupported, `there is no command "fly"`},
	} {
		_, err := mux.Dispatch(t.Context(), test.command, json.RawMessage(test.params))
		require.EqualError(t, err, test.message)
		require.Equal(t, test.code, editors.CodeOf(err), test.message)
	}
	require.Nil(t, got, "no handler ran")

	_, err := mux.Dispatch(t.Context(), "fly", nil)
	var e *editors.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Remedy, "new, ask, steer", "an unknown command lists the known ones")
}

func TestDispatchPassesErrorsAndResultsOn(t *testing.T) {
	var mux editors.Mux
	failure := errors.New("no")
	editors.Handle(&mux, editors.Doctor, func(context.Context, editors.Empty) (editors.DoctorResult, error) {
		return editors.DoctorResult{}, failure
	})
	editors.Handle(&mux, editors.Attach, func(context.Context, editors.AttachParams) (editors.AttachResult, error) {
		return editors.AttachResult{}, nil
	})
	_, err := mux.Dispatch(t.Context(), "doctor", nil)
	require.Equal(t, failure, err)

	result, err := mux.Dispatch(t.Context(), "attach", json.RawMessage(`{"sessionId":"s"}`))
	require.NoError(t, err)
	text, err := json.Marshal(result)
	require.NoError(t, err)
	require.Contains(t, string(text), `"pendingApprovals":[],"queued":[]`, "arrays are never null")
	require.NotContains(t, string(text), `"items"`, "optional ones stay absent")
	text, err = json.Marshal(editors.AttachResult{Items: []editors.Item{}})
	require.NoError(t, err)
	require.Contains(t, string(text), `"items":[]`, "a snapshot has items though there are none")
	require.NotContains(t, string(text), `"events"`)
}

func TestMissing(t *testing.T) {
	var mux editors.Mux
	require.Len(t, mux.Missing(), len(editors.Commands()))
	var got any
	echo(&mux, editors.New, &got)
	require.NotContains(t, mux.Missing(), "new")
	require.Equal(t, "ask", mux.Missing()[0])
	require.Panics(t, func() { echo(&mux, editors.New, &got) })
}

func FuzzDispatch(f *testing.F) {
	var mux editors.Mux
	var got any
	echo(&mux, editors.New, &got)
	echo(&mux, editors.Ask, &got)
	echo(&mux, editors.Sessions, &got)
	echo(&mux, editors.Attach, &got)
	echo(&mux, editors.ReadOutput, &got)
	names := []string{"new", "ask", "sessions", "attach", "readOutput"}
	for i := range names {
		f.Add(uint8(i), []byte(`{"sessionId":"s","text":"t","afterSeq":3,"includeForks":true,"limit":-1,"offset":9e99}`))
	}
	f.Add(uint8(1), []byte(`[{"text":"\ud800","context":[{"kind":"file","range":{}}]}]`))
	f.Add(uint8(0), []byte(`{"backend":{"kind":"docker"},"Title":"x"}`))
	f.Fuzz(func(t *testing.T, which uint8, params []byte) {
		got = nil
		_, err := mux.Dispatch(t.Context(), names[int(which)%len(names)], params)
		if err != nil {
			require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
			require.True(t, utf8.ValidString(err.Error()))
			require.Less(t, len(err.Error()), 400)
			require.Nil(t, got)
			return
		}
		// What was accepted is accepted again, and means the same.
		first := got
		again, err := json.Marshal(first)
		require.NoError(t, err)
		_, err = mux.Dispatch(t.Context(), names[int(which)%len(names)], again)
		require.NoError(t, err)
		require.Equal(t, normal(first), normal(got))
	})
}

// normal is what JSON keeps of v: an empty array that may be absent is absent.
func normal(v any) any {
	text, _ := json.Marshal(v)
	n := reflect.New(reflect.TypeOf(v))
	_ = json.Unmarshal(text, n.Interface())
	return n.Elem().Interface()
}
