package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/mentions"
	"sandboxagent/internal/sandbox"
)

func mentioned(name string) editors.Context {
	return editors.Context{Kind: "file", URI: "file:///w/" + name, Mentioned: true, Omitted: true}
}

func TestMentionedFilesAreThoseOfTheSandbox(t *testing.T) {
	a, _ := withModel(t, anyAnswer)
	a.Backends[editors.Docker] = newPlaces(t, sandbox.KindDocker)
	in := stepOf("what is in @a?")
	in.Backend = editors.Backend{Kind: editors.Docker}
	lines := mentioned("sub/b")
	lines.Range = &editors.Range{Start: editors.Position{Line: 1}, End: editors.Position{Line: 98}}
	in.Pending[0].Context = []editors.Context{
		mentioned("a"), lines, mentioned("sub"), mentioned("nul"), mentioned("gone"), mentioned("shot.png"),
		{Kind: "file", URI: "file:///w/a", Mentioned: true, Unsaved: true, Omitted: true},
		{Kind: "selection", Mentioned: true, Omitted: true},
	}

	require.Equal(t, in.Pending[0].Context, a.readMentioned(t.Context(), in.Sandbox, in.Folder, in.Pending[0].Context, false), "nobody made the sandbox")

	sb, err := a.open(t.Context(), in.Sandbox, nil)
	require.NoError(t, err)
	require.NoError(t, sb.Close())
	box := a.inside(t, in.Sandbox)
	box.Put("a", "of the copy\n", 0o644)
	box.Put("sub/b", "one\ntwo\nthrée", 0o644)
	box.Put("sub/c/d", "", 0o644)
	box.Put("nul", "a\x00b", 0o644)
	var shot bytes.Buffer
	require.NoError(t, png.Encode(&shot, image.NewGray(image.Rect(0, 0, 3, 2))))
	box.Put("shot.png", shot.String(), 0o644)

	there := func() any {
		params, err := json.Marshal(agent.OnSandbox[[]string]{Sandbox: in.Sandbox, Params: []string{"a", "sub", "sub/b", "gone", "../a"}})
		require.NoError(t, err)
		found, err := a.there(t.Context(), params)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, []string{"a", "sub", "sub/b"}, there())

	given := in.Pending[0].Context
	got := a.readMentioned(t.Context(), in.Sandbox, in.Folder, given, false)
	require.Equal(t, editors.Context{Kind: "file", URI: "file:///w/a", Mentioned: true, Text: "of the copy\n"}, got[0])
	require.Equal(t, "two\nthrée", got[1].Text)
	require.Equal(t, editors.Position{Line: 2, Character: 5}, got[1].Range.End)
	require.Equal(t, "b\nc/", got[2].Text)
	require.Equal(t, "file:///w/sub/", got[2].URI)
	require.Equal(t, given[3:5], got[3:5], "what is no text, or not there, is only named")
	require.Equal(t, "image", got[5].Kind)
	require.Equal(t, []any{3, 2, "shot.png"}, []any{got[5].Image.Width, got[5].Image.Height, got[5].Image.Name})
	require.Equal(t, given[6:], got[6:], "what is typed counts")

	out, err := activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	said := a.said(t, out.Head)
	require.Contains(t, said[0].Text, "of the copy")
	require.Len(t, said[0].Images, 1)
}

func TestMentionedFilesAreBounded(t *testing.T) {
	a, _ := withModel(t, anyAnswer)
	a.Backends[editors.Docker] = newPlaces(t, sandbox.KindDocker)
	in := stepOf("look").Sandbox
	in.Backend = editors.Backend{Kind: editors.Docker}
	sb, err := a.open(t.Context(), in, nil)
	require.NoError(t, err)
	require.NoError(t, sb.Close())
	box := a.inside(t, in)
	var given []editors.Context
	for i := range 5 {
		box.Put(fmt.Sprint(i), strings.Repeat("x\n", mentions.MaxText), 0o644)
		given = append(given, mentioned(fmt.Sprint(i)))
	}
	all := 0
	got := a.readMentioned(t.Context(), in, "/w", given, false)
	for _, c := range got {
		all += len(c.Text)
	}
	require.NotEmpty(t, got[0].Text)
	require.True(t, got[4].Omitted)
	require.LessOrEqual(t, all, mentions.MaxTexts)
}
