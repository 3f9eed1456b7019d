// This file tests what the server makes of malformed input.

package lsp

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestWrongFraming(t *testing.T) {
	for name, input := range map[string]string{
		"bare JSON":          `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		"one byte":           `{`,
		"batch":              `[{}]`,
		"HTTP":               "GET / HTTP/1.1\r\n\r\n",
		"text without colon": "hello\r\n\r\n",
		"no length":          "Content-Type: application/json\r\n\r\n{}",
		"blank":              "\r\n\r\n",
		"negative length":    "Content-Length: -5\r\n\r\n",
		"signed length":      "Content-Length: +5\r\n\r\n",
		"no number":          "Content-Length: many\r\n\r\n",
		"empty length":       "Content-Length: \r\n\r\n",
		"two lengths":        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"huge length":        "Content-Length: 99999999999999\r\n\r\n",
		"beyond int64":       "Content-Length: 9999999999999999999999\r\n\r\n",
		"endless header":     "X-Pad: " + strings.Repeat("x", maxHeaderBytes+1),
		"endless headers":    strings.Repeat("X-Pad: xxxxxxxxxxxxxxxxxxxxxxxx\r\n", maxHeaderBytes/20),
		"binary":             "\x00\x01\x02",
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, newFakeCore().options(t))
			go func() { _, _ = io.WriteString(e.in, input) }() // the input stays open
			m := e.read()
			require.Equal(t, "null", string(m.ID))
			require.Contains(t, m.Error.Message, "Content-Length framing")
			require.Equal(t, StatusFraming, Status(e.result()))
		})
	}
}

func TestMalformedMessages(t *testing.T) {
	for _, tt := range []struct {
		name, body, id string
		code           int
	}{
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null", -32700},
		{"not JSON", `{"jsonrpc":`, "null", -32700},
		{"empty", ``, "null", -32700},
		{"deep", strings.Repeat("[", 100_000), "null", -32700},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"x"}]`, "null", -32600},
		{"scalar", `42`, "null", -32600},
		{"null", `null`, "null", -32600},
		{"no version", `{"id":1,"method":"x"}`, "1", -32600},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"x"}`, "1", -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", -32600},
		{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, "1", -32600},
		{"method is no string", `{"jsonrpc":"2.0","id":"a","method":7}`, `"a"`, -32600},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"x"}`, "null", -32600},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}`, "1", -32601},
		{"unknown command", `{"jsonrpc":"2.0","id":1,"method":"sandboxAgent/nope"}`, "1", -32601},
		{"params are a number", `{"jsonrpc":"2.0","id":1,"method":"sandboxAgent/sessions","params":3}`, "1", -32602},
		{"param of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"sandboxAgent/sessions","params":{"limit":"x"}}`, "1", -32602},
		{"unknown executeCommand", `{"jsonrpc":"2.0","id":1,"method":"workspace/executeCommand","params":{"command":"x"}}`, "1", -32602},
		{"two arguments", `{"jsonrpc":"2.0","id":1,"method":"workspace/executeCommand","params":{"command":"sandboxAgent.sessions","arguments":[{},{}]}}`, "1", -32602},
	} {
		t.Run(tt.name, func(t *testing.T) {
			core := newFakeCore()
			handleSessions(core)
			e := serve(t, core.options(t))
			e.initialize(`{}`)
			e.send(tt.body)
			m := e.read()
			require.Equal(t, tt.id, string(m.ID))
			require.Equal(t, tt.code, m.Error.Code, m.Error.Message)
			require.NotEmpty(t, m.Error.Data.Code, m.Error.Message)
			require.Nil(t, e.call(`"after"`, "sandboxAgent/sessions", "{}").Error, "the server goes on")
			require.NoError(t, e.end())
		})
	}
}

func TestHintsForUnknownMethods(t *testing.T) {
	e := serve(t, newFakeCore().options(t))
	e.initialize(`{}`)
	m := e.call("1", "sandboxAgent/aks", "{}")
	require.Equal(t, editors.CodeUnsupported, m.Error.Data.Code)
	require.Contains(t, m.Error.Data.Remedy, "sandboxAgent/ask")
	require.NoError(t, e.end())
}

func TestHalfAMessage(t *testing.T) {
	for _, input := range []string{
		"Content-Len", "Content-Length: 50\r\n", "Content-Length: 50\r\n\r\n", "Content-Length: 50\r\n\r\n{\"jso",
		"Content-Length: 5000000\r\n\r\n{\"jso",
	} {
		e := serve(t, newFakeCore().options(t))
		e.initialize(`{}`)
		e.raw(input)
		require.NoError(t, e.end(), input)
	}
}

func TestTooLargeMessages(t *testing.T) {
	large := quoted(longText(2 << 20))
	for name, body := range map[string]string{
		"20 MB":         `{"jsonrpc":"2.0","id":"big","method":"sandboxAgent/ask","params":{"text":` + quoted(longText(20<<20)) + `}}`,
		"id first":      `{"jsonrpc":"2.0","id":"big","method":"sandboxAgent/ask","params":{"id":1,"text":` + large + `}}`,
		"id last":       `{"params":{"id":1,"text":` + large + `,"list":[{"id":3}]},"method":"sandboxAgent/ask", "id" : "big" }`,
		"id in strings": `{"x":"\"id\":7,","id":"big","params":[` + large + `],"y":"}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			core := newFakeCore()
			handleSessions(core)
			e := serve(t, core.options(t))
			e.initialize(`{}`)
			e.send(body)
			m := e.read()
			require.Equal(t, `"big"`, string(m.ID))
			require.Equal(t, editors.CodeLimit, m.Error.Data.Code)
			require.Nil(t, e.call("2", "sandboxAgent/sessions", "{}").Error)
			require.NoError(t, e.end())
		})
	}
}

func TestTooLargeNotificationForgetsTheDocument(t *testing.T) {
	core, asked := newFakeCore(), make(chan editors.AskParams, 1)
	handleAsk(core, asked)
	e := serve(t, core.options(t))
	e.initialize(`{"rootUri":"file:///w"}`)
	e.notify("textDocument/didOpen", `{"textDocument":{"uri":"file:///w/a","languageId":"go","version":1,"text":"a"}}`)
	e.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///w/a","version":2},"contentChanges":[{"text":"b"}]}`)
	e.notify("textDocument/didChange", `{"contentChanges":[{"text":`+quoted(longText(2<<20))+`}],"textDocument":{"version":3,"uri":"file:///w/a"}}`)
	e.call("1", "sandboxAgent/ask", `{"text":"hi"}`)
	require.Empty(t, (<-asked).Context)
	require.NoError(t, e.end())
}

func TestAnswersStayBelowTheLimit(t *testing.T) {
	core := newFakeCore()
	session := editors.Session{Title: longText(editors.MaxMessageBytes)}
	handleSessions(core, session)
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	require.Equal(t, editors.CodeLimit, e.call("1", "sandboxAgent/sessions", "{}").Error.Data.Code)
	require.NoError(t, e.end())
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("content-length:2\nContent-Type: x\n\n{}Content-Length: 0\r\n\r\n"))
	f.Add([]byte("Content-Length: 1048577\r\n\r\n" + longText(64)))
	f.Add([]byte(`{"id":1}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := newFrameReader(bytes.NewReader(input))
		for {
			frame, err := r.next()
			var framing *FramingError
			if err != nil {
				require.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &framing), "%v", err)
				return
			}
			require.LessOrEqual(t, len(frame.body), len(input))
			if e, bad := decodeEnvelope(frame.body); bad == nil {
				require.True(t, e.Method != nil || e.ID != nil)
			}
		}
	})
}

func FuzzOutline(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m","params":{"textDocument":{"uri":"u"},"x":[{"id":2}]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		scan := newOutliner()
		n, err := scan.Write(input)
		require.NoError(t, err)
		require.Equal(t, len(input), n)
		found := scan.outline()
		require.LessOrEqual(t, len(found.ID)+len(found.Method)+len(found.URI), 3*outlineValue)
	})
}

func TestOutline(t *testing.T) {
	for input, want := range map[string]outline{
		`{"id":1,"method":"m","params":{"textDocument":{"uri":"u"},"id":2,"x":[{"id":3}]}}`: {"1", `"m"`, `"u"`},
		`{"params":{"x":{"y":{"z":{"id":4}}},"t":"\"id\":5"}, "id" : "a,b" ,"method":"m"}`:  {`"a,b"`, `"m"`, ""},
		`[{"id":1,"method":"m"}]`: {},
		`}}}]]],,,:::"id":1`:      {},
	} {
		scan := newOutliner()
		for i := range input { // in the smallest pieces
			_, err := scan.Write([]byte(input[i : i+1]))
			require.NoError(t, err)
		}
		require.Equal(t, want, *scan.outline(), input)
	}
}

func TestFrames(t *testing.T) {
	input := "Content-Length: 2\r\n\r\n{}content-length:3\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n[1]"
	r := newFrameReader(strings.NewReader(input))
	for _, want := range []string{"{}", "[1]"} {
		frame, err := r.next()
		require.NoError(t, err)
		require.Equal(t, want, string(frame.body))
	}
	_, err := r.next()
	require.ErrorIs(t, err, io.EOF)
}

func BenchmarkSkip(b *testing.B) {
	body := `{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":` + quoted(longText(20<<20)) + `}}`
	input := "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newFrameReader(strings.NewReader(input)).next(); err != nil {
			b.Fatal(err)
		}
	}
}
