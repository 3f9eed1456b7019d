// This file tests what goes with a question.

package core

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/mentions"
)

// enclosed is a folder with files, and what goes with questions about them.
type enclosed struct {
	*testing.T
	core *Core
	dir  string
}

func newEnclosed(t *testing.T, files map[string]string) enclosed {
	e := enclosed{t, testCore(t, newFakeEngine()), t.TempDir()}
	for name, text := range files {
		file := filepath.Join(e.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return e
}

func (e enclosed) uri(name string) string { return "file://" + e.dir + "/" + name }

func (e enclosed) with(text string, given ...editors.Context) []editors.Context {
	e.Helper()
	parts, err := e.core.encloseIn(e.Context(), enclosing{dir: e.dir}, text, given)
	require.NoError(e, err)
	return parts
}

func lineRange(first, last, end int) *editors.Range {
	return &editors.Range{Start: editors.Position{Line: first}, End: editors.Position{Line: last, Character: end}}
}

func TestWhatATextMentionsGoesWithIt(t *testing.T) {
	e := newEnclosed(t, map[string]string{"a.go": "one\r\ntwo\nthree", "sub/b c.go": "b", "sub/x/y": "", "nul": "a\x00b", "latin": "caf\xe9\n"})
	require.Equal(t, []editors.Context{
		{Kind: "file", URI: e.uri("a.go"), Mentioned: true, Text: "one\r\ntwo\nthree"},
		{Kind: "file", URI: e.uri("a.go"), Mentioned: true, Text: "two\nthree", Range: lineRange(1, 2, 5)},
		{Kind: "file", URI: e.uri("a.go"), Mentioned: true, Text: "three", Range: lineRange(2, 2, 5)},
		{Kind: "file", URI: e.uri("sub/b%20c.go"), Mentioned: true, Text: "b"},
		{Kind: "file", URI: e.uri("sub/"), Mentioned: true, Text: "b c.go\nx/"},
		{Kind: "file", URI: e.uri("nul"), Mentioned: true, Omitted: true},
		{Kind: "file", URI: e.uri("latin"), Mentioned: true, Text: "café\n"},
	}, e.with(`@a.go @a.go:2-9 @a.go:70 @"sub/b c.go" @sub, @nul @latin @nobody me@a.go @../`+filepath.Base(e.dir)+"/a.go"))
	require.Equal(t, e.uri("a.go"), e.with("@" + e.dir + "/a.go")[0].URI)
}

func TestWhatAnEditedRequestMentionsGoesWithIt(t *testing.T) {
	e := newEnclosed(t, map[string]string{"a": "text of a", "long": strings.Repeat("x\n", agent.MaxInlineText)})
	f := newFakeEngine()
	e.core = testCore(t, f)
	f.add("s1", e.core.HostID()).view.WorkspaceFolder = "file://" + e.dir
	for _, op := range []string{"edit", "remove"} {
		_, err := run[editors.QueueResult](t, testConn(t, e.core), "queue", editors.QueueParams{SessionID: "s1", Op: op, ItemID: "i1", Text: "see @a and @long"})
		require.NoError(t, err)
	}
	require.Equal(t, []editors.Context{
		{Kind: "file", URI: e.uri("a"), Mentioned: true, Text: "text of a"},
		{Kind: "file", URI: e.uri("long"), Mentioned: true, Omitted: true},
	}, f.updates[0].arg.(agent.QueueInput).Added)
	require.Empty(t, f.updates[1].arg.(agent.QueueInput).Added)
}

func onePixel(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))))
	return b.Bytes()
}

func TestWhatIsMentionedOfACopyIsLeftToTheWorker(t *testing.T) {
	e := newEnclosed(t, map[string]string{"a.go": "one\ntwo\n", "sub/b": "b", "shot.png": string(onePixel(t)), "typed": "old\n"})
	typed := editors.Context{Kind: "file", URI: e.uri("typed"), Unsaved: true, Text: "new\n\n"}
	parts, err := e.core.encloseIn(t.Context(), enclosing{dir: e.dir, away: true}, "@a.go @a.go:2 @sub @shot.png @gone @typed:1 @typed:2", []editors.Context{typed})
	require.NoError(t, err)
	lines := editors.Context{Kind: "file", URI: e.uri("a.go"), Mentioned: true, Omitted: true, Range: lineRange(1, 1, 0)}
	require.Equal(t, []editors.Context{
		typed,
		{Kind: "file", URI: e.uri("a.go"), Mentioned: true, Omitted: true},
		lines,
		{Kind: "file", URI: e.uri("sub"), Mentioned: true, Omitted: true},
		{Kind: "file", URI: e.uri("shot.png"), Mentioned: true, Omitted: true},
		{Kind: "file", URI: e.uri("typed"), Mentioned: true, Text: "new\n", Range: lineRange(0, 0, 3)},
		{Kind: "file", URI: e.uri("typed"), Mentioned: true, Text: "\n", Range: lineRange(1, 1, 0)},
	}, parts)
}

func TestWhatOnlyTheCopyHasIsMentioned(t *testing.T) {
	e := newEnclosed(t, map[string]string{"a.go": "one\n"})
	var asked []string
	there := func(_ context.Context, names []string) []string {
		asked = append(asked, names...)
		return []string{"made.txt", "out/log"}
	}
	parts, err := e.core.encloseIn(t.Context(), enclosing{dir: e.dir, away: true, there: there}, "@a.go @made.txt:2, @out/log. @ada @../x @made.txt:2 `@code`", nil)
	require.NoError(t, err)
	require.Equal(t, []editors.Context{
		{Kind: "file", URI: e.uri("a.go"), Mentioned: true, Omitted: true},
		{Kind: "file", URI: e.uri("made.txt"), Mentioned: true, Omitted: true, Range: lineRange(1, 1, 0)},
		{Kind: "file", URI: e.uri("out/log"), Mentioned: true, Omitted: true},
	}, parts)
	require.Equal(t, []string{"made.txt:2,", "made.txt", "made.txt:2", "out/log.", "out/log", "ada"}, asked, "what the folder has, or cannot be, is not asked for")

	asked = nil
	_, err = e.core.encloseIn(t.Context(), enclosing{dir: e.dir, away: true, there: there}, strings.Repeat("@x @y @a.go ", 1000)+manyMentions(100), nil)
	require.NoError(t, err)
	require.Len(t, asked, maxThere)
	asked = nil
	_, err = e.core.encloseIn(t.Context(), enclosing{dir: e.dir, away: true, there: there}, "nothing @a.go", nil)
	require.NoError(t, err)
	require.Empty(t, asked)
}

func manyMentions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "@n%d ", i)
	}
	return b.String()
}

func TestWhatLeadsOutsideIsNoMention(t *testing.T) {
	e := newEnclosed(t, nil)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(e.dir, "link")))
	require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(e.dir, "dir")))
	require.NoError(t, unix.Mkfifo(filepath.Join(e.dir, "pipe"), 0o600))
	require.Empty(t, e.with("@link @dir/secret @dir @pipe @/etc/passwd @../x @"+secret))
	for _, uri := range []string{"file:///etc/passwd", e.uri("link"), e.uri("pipe"), e.uri("gone"), "http://x/", ""} {
		require.Equal(t, []editors.Context{{Kind: "file", URI: uri, Mentioned: true, Omitted: true}},
			e.with("", editors.Context{Kind: "file", URI: uri, Mentioned: true}), "the client names it")
	}
}

func TestUnsavedTextIsWhatIsMentioned(t *testing.T) {
	e := newEnclosed(t, map[string]string{"a.go": "old\nold\n"})
	typed := editors.Context{Kind: "file", URI: e.uri("%61.go"), Unsaved: true, Text: "typed\nmore\n", Base: "x"}
	fresh := editors.Context{Kind: "file", URI: e.uri("new.go"), Unsaved: true, Text: "new"}
	named := func(c editors.Context) editors.Context { c.Mentioned = true; return c }
	require.Equal(t, []editors.Context{named(typed), named(fresh)}, e.with("@a.go @new.go", typed, fresh))
	require.Equal(t, []editors.Context{typed, {Kind: "file", URI: e.uri("a.go"), Mentioned: true, Text: "more\n", Range: lineRange(1, 1, 4)}}, e.with("@a.go:2", typed))
}

func TestWhatTheEditorHasIsMentioned(t *testing.T) {
	e := newEnclosed(t, nil)
	selection := editors.Context{Kind: "selection", Text: "x"}
	got := e.with("explain @selection with @diagnostics", selection)
	selection.Mentioned = true
	require.Equal(t, []editors.Context{selection, {Kind: "diagnostics", Mentioned: true, Omitted: true}}, got)
}

func TestWhatIsMentionedIsBounded(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 1<<14)
	e := newEnclosed(t, map[string]string{"a": long, "b": long, "c": long, "d": long, "huge": strings.Repeat(long, 40)})
	parts := e.with("@a @b @c @d @huge")
	require.LessOrEqual(t, len(parts[0].Text), mentions.MaxText+100)
	require.Contains(t, parts[0].Text, "bytes left out")
	require.Equal(t, []bool{false, false, true, true, true}, []bool{parts[0].Omitted, parts[1].Omitted, parts[2].Omitted, parts[3].Omitted, parts[4].Omitted})
	require.LessOrEqual(t, len(e.with(strings.Repeat("@a ", 100_000))), 1)
}

func TestPicturesAreKeptAndNotSentOn(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))))
	e := newEnclosed(t, map[string]string{"shot.png": b.String(), "bad.png": "\x89PNG\r\n\x1a\nxxxxxxxxxxxx"})
	outside := filepath.Join(t.TempDir(), "elsewhere.png")
	require.NoError(t, os.WriteFile(outside, b.Bytes(), 0o600))
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	parts := e.with("what is on @shot.png?", editors.Context{Kind: "image", URI: data}, editors.Context{Kind: "image", URI: "file://" + outside},
		editors.Context{Kind: "text", Text: "x", Image: &editors.Image{Ref: "forged"}})
	ref := string(blob.Sum(b.Bytes()))
	made := func(name string) *editors.Image {
		return &editors.Image{Ref: ref, Type: "image/png", Width: 40, Height: 30, Bytes: int64(b.Len()), Name: name}
	}
	require.Equal(t, []editors.Context{
		{Kind: "image", Image: made("in the question")},
		{Kind: "image", URI: "file://" + outside, Image: made("elsewhere.png")},
		{Kind: "text", Text: "x"},
		{Kind: "image", URI: e.uri("shot.png"), Mentioned: true, Image: made("shot.png")},
	}, parts)
	store, err := e.core.blobs.open()
	require.NoError(t, err)
	kept, err := blob.ReadAll(t.Context(), store, blob.Ref(ref), 1<<20)
	require.NoError(t, err)
	require.Equal(t, b.Bytes(), kept)

	for uri, why := range map[string]string{
		e.uri("bad.png"): "damaged", e.uri("gone.png"): "no such file", "data:image/png,x": "base64", "data:;base64,!": "illegal", "http://x/y.png": "neither", e.uri(""): "regular",
	} {
		_, err := e.core.encloseIn(t.Context(), enclosing{dir: e.dir}, "", []editors.Context{{Kind: "image", URI: uri}})
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), uri)
		require.ErrorContains(t, err, why)
	}
	_, err = e.core.encloseIn(t.Context(), enclosing{}, "", []editors.Context{{Kind: "image", URI: data}})
	require.ErrorContains(t, err, "another host")
	_, err = e.core.encloseIn(t.Context(), enclosing{dir: e.dir}, "", make11(data))
	require.ErrorContains(t, err, "more than 10 images")
}

func make11(uri string) []editors.Context {
	parts := make([]editors.Context, 11)
	for i := range parts {
		parts[i] = editors.Context{Kind: "image", URI: uri}
	}
	return parts
}
