// This file tests how the agent's changes come into documents that stand unsaved in the editor.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/buffers"
)

func TestLineEditsMakeTheText(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"a\nb\nc\n", "a\nB\nc\n"},
		{"a\nb", "a\nB"},
		{"a\nb", "a\nb\nc\n"},
		{"", "a\n"},
		{"a\n", ""},
		{"a\r\nb\r\n", "a\r\nB\r\nc\r\n"},
		{"x\ry\rz\nb\n", "x\ry\rz\nB\n"},
		{"😀\n😀😀", "😀\n😀!"},
		{"a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\nf"},
		{"same\n", "same\n"},
	} {
		docs := newDocuments(documentsBytes)
		docs.Open("u", "", 1, c.before)
		edits := lineEdits(c.before, c.after)
		for i := len(edits) - 1; i >= 0; i-- { // all are positions of the text before
			require.True(t, docs.Change("u", 2, []change{{Range: &edits[i].Range, Text: edits[i].NewText}}))
		}
		doc, _ := docs.Get("u")
		require.Equal(t, c.after, doc.Text, "%q", c.before)
	}
}

func TestTheEditorMakesTheAgentsChange(t *testing.T) {
	core, asked := newFakeCore(), make(chan editors.AskParams, 1)
	handleAsk(core, asked)
	options := core.options(t)
	type serving struct {
		holder string
		apply  func(context.Context, buffers.Edit) buffers.Answer
	}
	served := make(chan serving, 2)
	options.Buffers = func(ctx context.Context, holder string, apply func(context.Context, buffers.Edit) buffers.Answer) {
		served <- serving{holder, apply}
		<-ctx.Done()
	}
	e := serve(t, options)
	e.initialize(`{"rootUri":"file:///w","capabilities":{"workspace":{"applyEdit":true}}}`)
	e.notify("textDocument/didOpen", `{"textDocument":{"uri":"file:///w/a","languageId":"text","version":6,"text":"old\nrest\n"}}`)
	e.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///w/a","version":7},"contentChanges":[{"text":"typed\nrest\n"}]}`)
	e.call("1", "sandboxAgent/ask", `{"text":"hi"}`)
	s := <-served
	require.Equal(t, s.holder, (<-asked).Context[0].Holder)
	e.call("2", "sandboxAgent/ask", `{"text":"hi"}`)
	<-asked
	require.Empty(t, served, "one holder an editor")

	change := func(from, uri string) chan buffers.Answer {
		answer := make(chan buffers.Answer, 1)
		go func() {
			answer <- s.apply(t.Context(), buffers.Edit{ID: "1", Files: []buffers.File{{URI: uri, From: from, Text: "typed\nmine\n"}}})
		}()
		return answer
	}
	got := <-change("older\n", "file:///w/a")
	require.False(t, got.Applied)
	require.Equal(t, map[string]string{"file:///w/a": "typed\nrest\n"}, got.Now)
	require.Equal(t, []string{"file:///w/closed"}, (<-change("typed\nrest\n", "file:///w/closed")).Closed)

	answer := change("typed\nrest\n", "file:///w/%61")
	m := e.until("workspace/applyEdit")
	var p struct {
		Edit struct {
			DocumentChanges []versioned `json:"documentChanges"`
		} `json:"edit"`
	}
	require.NoError(t, json.Unmarshal(m.Params, &p))
	require.Len(t, p.Edit.DocumentChanges, 1)
	require.Equal(t, 7, p.Edit.DocumentChanges[0].TextDocument.Version)
	require.Equal(t, []lineEdit{{editors.Range{Start: editors.Position{Line: 1}, End: editors.Position{Line: 2}}, "mine\n"}}, p.Edit.DocumentChanges[0].Edits)
	e.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///w/a","version":8},"contentChanges":[{"text":"typed\nmine\n"}]}`)
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"applied":true}}`, m.ID))
	got = <-answer
	require.True(t, got.Applied)
	require.Equal(t, map[string]string{"file:///w/%61": "typed\nmine\n"}, got.Now)

	for result, want := range map[string]string{
		`"result":{"applied":false,"failureReason":"not now"}`: "not now", `"result":{"applied":false}`: "no reason",
		`"error":{"code":-32601,"message":"what is that"}`: "what is that",
	} {
		answer = change("typed\nmine\n", "file:///w/a")
		m = e.until("workspace/applyEdit")
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result))
		got := <-answer
		require.False(t, got.Applied)
		require.Contains(t, got.Reason, want)
	}
	require.NoError(t, e.end())
}

func TestTheAgentsChangeIsJoinedWithWhatTheUserTypes(t *testing.T) {
	for _, c := range []struct{ text, from, to, want string }{
		{"A\nb\nc\n", "a\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"},
		{"A\nb\nc\n", "a\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\nb\nC\n"},
		{"A\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n"},
		{"A\nb\nc\n", "a\nb\nc", "a\nb\nC", "A\nb\nC\n"},
		{"A\nb\nc", "a\nb\nc", "a\nb\nC", "A\nb\nC"},
		{"a\n", "a\n", "a\nb\n", "a\nb\n"},
		{"a\nb\n", "a\n", "a\nb\n", "a\nb\n"},
		{"A\n", "a\n", "B\n", ""},
		{"mine\n", "", "other\n", ""},
	} {
		got, ok := join(c.text, buffers.File{From: c.from, Text: c.to})
		require.Equal(t, c.want, got, "%q", c)
		require.Equal(t, c.want != "", ok)
	}
}
