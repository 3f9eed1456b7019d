// This file tests document sync: positions by example, edits against a naive model, and what of it reaches a question.

package lsp

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/patch"
)

func TestOffset(t *testing.T) {
	const text = "a😀b\r\nzwei\rdrei\nü"
	for _, tt := range []struct{ line, character, want int }{
		{0, 0, 0},
		{0, 1, 1},
		{0, 2, 1}, // within the surrogate pair
		{0, 3, 5},
		{0, 4, 6},
		{0, 99, 6}, // before \r\n
		{1, 0, 8},
		{1, 99, 12}, // before \r
		{2, 4, 17},
		{3, 0, 18},
		{3, 1, 20},
		{3, 2, 20},
		{4, 0, 20},
		{-1, 0, 20},
	} {
		require.Equal(t, tt.want, offset(text, editors.Position{Line: tt.line, Character: tt.character}), "%+v", tt)
	}
	require.Equal(t, 2, offset("a\n", editors.Position{Line: 1}))
	require.Equal(t, 0, offset("", editors.Position{Line: 3, Character: 3}))
}

func TestSplice(t *testing.T) {
	at := func(l1, c1, l2, c2 int) editors.Range {
		return editors.Range{Start: editors.Position{Line: l1, Character: c1}, End: editors.Position{Line: l2, Character: c2}}
	}
	require.Equal(t, "aXc", splice("abc", at(0, 1, 0, 2), "X"))
	require.Equal(t, "aXc", splice("abc", at(0, 2, 0, 1), "X"), "ends in the wrong order")
	require.Equal(t, "ab", splice("a\nb", at(0, 1, 1, 0), ""))
	require.Equal(t, "a\nb!", splice("a\nb", at(9, 0, 9, 9), "!"))
	require.Equal(t, "a!b", splice("a😀b", at(0, 1, 0, 3), "!"))
}

// naive is document sync done slowly: the text as UTF-16 code units, lines found by splitting.
type naive []uint16

func (n naive) index(p editors.Position) int {
	line, i := 0, 0
	for ; line < p.Line && i < len(n); i++ {
		if n[i] == '\n' || n[i] == '\r' && (i+1 == len(n) || n[i+1] != '\n') {
			line++
		}
	}
	if line < p.Line {
		return len(n)
	}
	for c := 0; c < p.Character && i < len(n) && n[i] != '\n' && n[i] != '\r'; c++ {
		i++
	}
	if i > 0 && i < len(n) && utf16.IsSurrogate(rune(n[i])) && n[i] >= 0xDC00 {
		i--
	}
	return i
}

func (n naive) edit(r editors.Range, text string) naive {
	from, to := n.index(r.Start), n.index(r.End)
	if from > to {
		from, to = to, from
	}
	out := append(naive{}, n[:from]...)
	out = append(out, utf16.Encode([]rune(text))...)
	return append(out, n[to:]...)
}

func TestEditsLikeANaiveModel(t *testing.T) {
	pieces := []string{"a", "ß", "€", "😀", "\n", "\r", "\r\n", "xyz", "𝄞𝄞", ""}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		piece := func() string {
			var b strings.Builder
			for range rnd.IntN(6) {
				b.WriteString(pieces[rnd.IntN(len(pieces))])
			}
			return b.String()
		}
		position := func() editors.Position { return editors.Position{Line: rnd.IntN(6), Character: rnd.IntN(8)} }
		docs := newDocuments(documentsBytes)
		start := piece()
		docs.Open("u", "go", 0, start)
		model := naive(utf16.Encode([]rune(start)))
		for version := range 40 {
			r, text := editors.Range{Start: position(), End: position()}, piece()
			require.True(t, docs.Change("u", version, []change{{Range: &r, Text: text}}))
			model = model.edit(r, text)
			doc, _ := docs.Get("u")
			require.Equal(t, string(utf16.Decode(model)), doc.Text, "seed %d, version %d, %+v %q", seed, version, r, text)
			require.Equal(t, len(doc.Text), docs.bytes)
		}
	}
}

func TestDocumentIsUnsavedFromChangeToSave(t *testing.T) {
	docs := newDocuments(documentsBytes)
	docs.Open("u", "go", 1, "one")
	require.Empty(t, docs.Unsaved())
	require.True(t, docs.Change("u", 2, []change{{Text: "two"}}))
	require.Len(t, docs.Unsaved(), 1)
	require.True(t, docs.Change("u", 3, []change{{Text: "one"}}))
	require.Empty(t, docs.Unsaved(), "undone")
	require.True(t, docs.Change("u", 4, []change{{Text: "two"}}))
	docs.Save("u", nil)
	require.Empty(t, docs.Unsaved())
	saved := "three"
	docs.Save("u", &saved)
	doc, ok := docs.Get("u")
	require.True(t, ok)
	require.Equal(t, document{URI: "u", LanguageID: "go", Version: 4, Text: "three", saved: doc.saved, touched: doc.touched}, doc)
	docs.Close("u")
	require.False(t, docs.Change("u", 5, nil))
	docs.Save("u", nil)
	require.Zero(t, docs.bytes)
}

func TestDocumentsAreBounded(t *testing.T) {
	docs := newDocuments(10)
	docs.Open("a", "", 1, "12345")
	docs.Open("b", "", 1, "12345")
	require.True(t, docs.Change("a", 2, []change{{Text: "123456"}}))
	_, ok := docs.Get("b")
	require.False(t, ok, "the one that rested longest is forgotten")
	docs.Open("c", "", 1, "12345678901")
	require.Empty(t, docs.open)
	require.Zero(t, docs.bytes)
}

func TestUnsavedTextGoesWithAQuestion(t *testing.T) {
	core, asked := newFakeCore(), make(chan editors.AskParams, 1)
	handleAsk(core, asked)
	e := serve(t, core.options(t))
	e.initialize(`{"rootUri":"file:///w%20s"}`)
	open := func(uri string) {
		e.notify("textDocument/didOpen", `{"textDocument":{"uri":"`+uri+`","languageId":"go","version":1,"text":"old"}}`)
		e.notify("textDocument/didChange", `{"textDocument":{"uri":"`+uri+`","version":2},"contentChanges":[
			{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"un"},{"range":{"start":{"line":0,"character":5},"end":{"line":0,"character":5}},"text":"!"}]}`)
	}
	for _, uri := range []string{"file:///w%20s/a.go", "file:///w%20s-other/b.go", "untitled:Untitled-1", "file:///w%20s/saved.go"} {
		open(uri)
	}
	e.notify("textDocument/didSave", `{"textDocument":{"uri":"file:///w%20s/saved.go"}}`)
	unsaved := editors.Context{Kind: "file", URI: "file:///w%20s/a.go", Text: "unold!"}

	e.call("1", "sandboxAgent/ask", `{"text":"hi"}`)
	require.Equal(t, editors.AskParams{Text: "hi", Context: []editors.Context{unsaved}}, clean(<-asked))
	e.call("2", "sandboxAgent/ask", `[{"text":"hi","context":[{"kind":"text","text":"x"}]}]`)
	require.Equal(t, []editors.Context{{Kind: "text", Text: "x"}, unsaved}, clean(<-asked).Context)
	e.call("3", "sandboxAgent/ask", `{"text":"hi","context":[{"kind":"file","uri":"file:///w%20s/a.go","text":"mine"}]}`)
	require.Len(t, (<-asked).Context, 1, "the client gave it itself")
	e.call("4", "sandboxAgent/ask", `{"text":"hi","workspaceFolder":"file:///elsewhere"}`)
	require.Empty(t, (<-asked).Context)
	require.Equal(t, -32602, e.call("5", "sandboxAgent/ask", `{"text":"hi","context":7}`).Error.Code)
	e.notify("textDocument/didClose", `{"textDocument":{"uri":"file:///w%20s/a.go"}}`)
	e.call("6", "sandboxAgent/ask", `{"text":"hi"}`)
	require.Empty(t, (<-asked).Context)
	require.NoError(t, e.end())
}

// clean returns params with only the parts of contexts that this package sets.
func clean(p editors.AskParams) editors.AskParams {
	for i, c := range p.Context {
		p.Context[i] = editors.Context{Kind: c.Kind, URI: c.URI, Text: c.Text}
	}
	return p
}

func TestUnsavedTextIsBounded(t *testing.T) {
	var docs []document
	for i := range 5 {
		docs = append(docs, document{URI: fmt.Sprintf("file:///w/%d", i), Text: longText(100 << 10)})
	}
	whole := 0
	items := unsavedItems(docs, []string{"file:///w"}, nil, "me")
	for _, item := range items {
		if !item.Omitted {
			whole++
			require.NotEmpty(t, item.Text)
		}
	}
	require.Equal(t, 2, whole)
	require.True(t, len(items) == 5, "the others are named")
	require.True(t, len(unsavedItems(slices.Repeat(docs, 100), []string{"file:///w"}, nil, "me")) == maxUnsaved)
}

func TestOddNotificationsDoNoHarm(t *testing.T) {
	core := newFakeCore()
	handleSessions(core)
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	for _, method := range []string{
		"textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose",
		"workspace/didChangeWorkspaceFolders", "workspace/didChangeConfiguration", "window/workDoneProgress/cancel", "$/setTrace",
		"$/cancelRequest", "$/unknown", "unknown",
	} {
		for _, params := range []string{`null`, `7`, `[]`, `{}`, `{"textDocument":7}`, `{"textDocument":{"uri":"file:///nobody"}}`} {
			e.notify(method, params)
		}
	}
	require.Nil(t, e.call("1", "sandboxAgent/sessions", "{}").Error)
	require.NoError(t, e.end())
}

func TestUnsavedTextNamesTheFileItChanges(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a b"), []byte("\uFEFFdisk\r\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "dir"), 0o700))
	docs := []document{{URI: "file://" + folder + "/a%20b", Text: "typed"}, {URI: "file://" + folder + "/new", Text: "n"}, {URI: "file://" + folder + "/dir", Text: "d"}}
	items := unsavedItems(docs, []string{"file://" + folder}, nil, "me")
	require.Len(t, items, 3)
	require.Equal(t, patch.TextSum([]byte("disk\n")), items[0].Base)
	require.Empty(t, items[1].Base)
	require.Empty(t, items[2].Base)
}

func TestWhatIsUnsavedIsToldAsItChanges(t *testing.T) {
	core := newFakeCore()
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	conn := <-core.made
	told := func(want ...[]string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			conn.mu.Lock()
			defer conn.mu.Unlock()
			assert.Equal(c, want, conn.unsaved)
		}, 10*time.Second, time.Millisecond)
	}
	e.notify("textDocument/didOpen", `{"textDocument":{"uri":"file:///w/a","languageId":"go","version":1,"text":"old"}}`)
	e.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///w/a","version":2},"contentChanges":[{"text":"new"}]}`)
	told([]string{"/w/a"})
	e.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///w/a","version":3},"contentChanges":[{"text":"newer"}]}`)
	e.notify("textDocument/didSave", `{"textDocument":{"uri":"file:///w/a"}}`)
	told([]string{"/w/a"}, nil)
	require.NoError(t, e.end())
}
