package conversation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/blob"
	"sandboxagent/internal/model"
)

func ask(text string) model.Entry { return model.Entry{Kind: model.KindUser, Text: text} }
func said(text string) model.Entry {
	return model.Entry{Kind: model.KindAssistant, Text: text}
}

func called(id, tool, arguments string) model.Entry {
	return model.Entry{Kind: model.KindToolCall, CallID: id, Name: tool, Arguments: arguments}
}

func result(id, text string) model.Entry {
	return model.Entry{Kind: model.KindToolResult, CallID: id, Text: text}
}

// working is a turn of n steps with two parallel calls each.
func working(task string, n, bytes int) []model.Entry {
	entries := []model.Entry{ask(task)}
	for i := range n {
		a, b := fmt.Sprintf("%s-%da", task, i), fmt.Sprintf("%s-%db", task, i)
		entries = append(entries, model.Entry{Kind: model.KindReasoning, Text: "hm"}, said(fmt.Sprint("step ", i)), called(a, "exec_command", `{}`),
			called(b, "exec_command", `{}`), result(a, strings.Repeat("x", bytes)), result(b, strings.Repeat("é", bytes/2)))
	}
	return entries
}

// requireWhole checks that every call has its result, after it.
func requireWhole(t *testing.T, entries []model.Entry) {
	t.Helper()
	open := map[string]bool{}
	for _, e := range entries {
		switch e.Kind {
		case model.KindToolCall:
			open[e.CallID] = true
		case model.KindToolResult:
			require.True(t, open[e.CallID], "the result of %s has no call", e.CallID)
			delete(open, e.CallID)
		}
	}
	require.Empty(t, open, "calls without a result")
}

func TestSplitNeverPartsACallFromItsResult(t *testing.T) {
	entries := append(working("one", 20, 1000), append([]model.Entry{said("done")}, working("two", 20, 1000)...)...)
	last := 0
	for keep := 0; keep < Bytes(entries)+1000; keep += 500 {
		old, recent := Split(entries, keep)
		require.Equal(t, entries, append(append([]model.Entry{}, old...), recent...))
		requireWhole(t, old)
		requireWhole(t, recent)
		require.NotEmpty(t, recent)
		require.GreaterOrEqual(t, len(recent), last, "more room keeps more")
		last = len(recent)
		if len(recent) > 6 {
			require.LessOrEqual(t, Bytes(recent), keep)
		}
	}
	old, recent := Split(entries[:1], 10)
	require.Empty(t, old, "one message cannot be parted")
	require.Len(t, recent, 1)
}

func TestTrimAndFitKeepTheShape(t *testing.T) {
	entries := working("one", 10, 20000)
	trimmed := Trim(entries)
	requireWhole(t, trimmed)
	require.Less(t, Bytes(trimmed), 10*2*(keptResult+200))
	require.Equal(t, "one", trimmed[0].Text)
	require.Contains(t, trimmed[4].Text, "bytes left out")
	require.Len(t, entries[5].Text, 20000, "what was passed stays")
	fit := Fit(entries, 60000)
	requireWhole(t, fit)
	require.LessOrEqual(t, Bytes(fit), 60000)
	huge := Fit([]model.Entry{ask(strings.Repeat("y", 1<<20))}, 50000)
	require.LessOrEqual(t, Bytes(huge), 50000)
}

func TestPinsSurviveTwoCompactions(t *testing.T) {
	entries := append(working("build it", 2, 10),
		called("p", PlanTool, `{"plan":[{"step":"a","status":"pending"}]}`), result("p", "ok"),
		called("e", "apply_patch", `{"patch":"*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** End Patch"}`), result("e", "ok"),
		called("r", "read_file", `{"path":"b.go"}`), result("r", "ok"),
		model.Entry{Kind: model.KindUser, Text: "<environment>moved</environment>", Provider: Program},
		ask("and test it"))
	pins := PinsOf(entries)
	want := Pins{First: "build it", Latest: "and test it", Plan: `{"plan":[{"step":"a","status":"pending"}]}`, Changed: []string{"a.go"}, Read: []string{"b.go"}}
	require.Equal(t, want, pins)
	summary, err := pins.Entry("a folder", "1. a", "we chose B")
	require.NoError(t, err)
	for _, text := range []string{"build it", "and test it", "1. a", "a.go", "b.go", "a folder", "we chose B"} {
		require.Contains(t, summary.Text, text)
	}
	again := PinsOf([]model.Entry{summary, said("ok"), ask("now release"), called("f", "read_file", `{"path":"a.go"}`)})
	want.Latest, want.Read = "now release", []string{"b.go", "a.go"}
	require.Equal(t, want, again)
	require.Contains(t, Digest([]model.Entry{summary, said("then C")}), "we chose B")
	require.Contains(t, Digest([]model.Entry{summary, said("then C")}), "then C")
}

func TestTranscriptSaysWhoSaidWhat(t *testing.T) {
	text := Transcript(append(working("one", 1, 5000), model.Entry{Kind: model.KindUser, Provider: Program, Text: "moved"}), 1<<20)
	require.Contains(t, text, "## User\none")
	require.Contains(t, text, "## Agent calls exec_command\n{}")
	require.Contains(t, text, "## Program\nmoved")
	require.Less(t, len(text), 5000)
	require.Less(t, len(Transcript(working("one", 100, 5000), 9000)), 9200)
}

func TestPicturesSurviveShorteningWhereTheyMatter(t *testing.T) {
	picture := func(name string) []model.Image {
		return []model.Image{{Ref: name, Name: name, Width: 320, Height: 320}}
	}
	shown := func(e model.Entry, name string) model.Entry { e.Images = picture(name); return e }
	entries := []model.Entry{
		shown(ask("build this"), "first.png"), called("r", "read_file", `{"path":"x.png"}`), shown(result("r", "looked"), "x.png"), said("ok"), shown(ask("and this"), "latest.png"),
	}
	require.Equal(t, 3*100*bytesPerToken, Bytes(entries)-Bytes([]model.Entry{ask("build this"), entries[1], result("r", "looked"), said("ok"), ask("and this")}))
	trimmed := Trim(entries)
	require.Equal(t, picture("first.png"), trimmed[0].Images)
	require.Empty(t, trimmed[2].Images)
	require.Contains(t, trimmed[2].Text, `[image "x.png", 320 by 320 pixels]`)
	require.Contains(t, Transcript(entries, 1<<20), `[image "latest.png"`)
	summary, err := PinsOf(entries).Entry("", "", "")
	require.NoError(t, err)
	require.Equal(t, append(picture("first.png"), picture("latest.png")...), summary.Images)
	again := PinsOf([]model.Entry{summary, ask("go on")})
	require.Equal(t, picture("first.png"), again.FirstImages)
	require.Empty(t, again.LatestImages)
}

func TestOnlyTheNewestPicturesAreShown(t *testing.T) {
	store := blob.NewMem()
	ref, err := blob.PutAll(t.Context(), store, []byte("data"))
	require.NoError(t, err)
	kept := model.Image{Ref: string(ref), Width: 32, Height: 32}
	entries := []model.Entry{ask("a"), ask("b"), ask("c")}
	entries[0].Images = []model.Image{kept, kept}
	for range ShownImages - 2 {
		entries[1].Images = append(entries[1].Images, kept)
	}
	entries[2].Images = []model.Image{{Ref: "gone"}}
	out := WithImages(t.Context(), store, entries)
	require.Empty(t, out[0].Images[0].Data)
	require.Equal(t, "data", string(out[0].Images[1].Data))
	require.Equal(t, "data", string(out[1].Images[0].Data))
	require.Empty(t, out[2].Images[0].Data)
	require.Empty(t, entries[1].Images[0].Data, "what is given stays as it is")
}
