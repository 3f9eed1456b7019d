package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/tools"
)

func TestWhatAnEditorTellsOfItsDocumentsIsLearned(t *testing.T) {
	asked := tools.Open{URI: "file:///w/asked", Editor: "e"}
	u := unsavedTexts{Files: map[string]unsavedText{"asked": {Unsaved: tools.Unsaved{Text: "old", Base: "b"}, Open: asked}}}
	late := tools.EditorChange{Path: "late", Before: "x", After: "y", Base: "c", Open: tools.Open{URI: "file:///w/late", Editor: "f"}}
	change := tools.EditorChange{Path: "asked", Before: "old", After: "new", Base: "b", Open: asked}

	u.learn([]tools.EditorChange{change, late}, buffers.Answer{Applied: true, Now: map[string]string{"file:///w/late": "y, and typed"}})
	require.Equal(t, unsavedText{Unsaved: tools.Unsaved{Text: "new", Base: "b"}, Open: asked}, u.Files["asked"])
	require.Equal(t, unsavedText{Unsaved: tools.Unsaved{Text: "y, and typed", Base: "c"}, Open: late.Open, Late: true}, u.Files["late"])

	u.learn([]tools.EditorChange{change}, buffers.Answer{Now: map[string]string{"file:///w/asked": "typed"}})
	require.Equal(t, "typed", u.Files["asked"].Text, "what is there now, when the change was not made")
	u.learn([]tools.EditorChange{change}, buffers.Answer{Reason: "no"})
	require.Equal(t, "typed", u.Files["asked"].Text)
	u.learn([]tools.EditorChange{change}, buffers.Answer{Closed: []string{"file:///w/asked"}})
	require.NotContains(t, u.Files, "asked", "the file counts again")

	require.Equal(t, late.Open, whereOpen(asked, late.Open))
	require.Equal(t, asked, whereOpen(asked, tools.Open{}))
}

func TestWhatIsUnsavedIsKnownForATurnAndWhatCameLateForAsLongAsItIs(t *testing.T) {
	acts := &Activities{PlanDir: t.TempDir()}
	step := func(turn int, contexts ...editors.Context) unsavedTexts {
		in := agent.ModelStepInput{Sandbox: agent.Sandbox{SessionID: "s1", Folder: "/w"}, TurnID: turn}
		if contexts != nil {
			in.Pending = []agent.Pending{{Kind: "user", Context: contexts}}
		}
		require.NoError(t, acts.noteUnsaved(t.Context(), in))
		now, err := acts.loadUnsaved(t.Context(), "s1")
		require.NoError(t, err)
		return now
	}
	typed := func(name string) editors.Context {
		return editors.Context{Kind: "file", URI: "file:///w/" + name, Unsaved: true, Text: name, Holder: "e"}
	}
	require.Empty(t, step(1).Files)
	require.Len(t, step(1, typed("a")).Files, 1)
	require.Len(t, step(1, typed("b")).Files, 2, "a message to the running turn adds to it")
	require.Len(t, step(1).Files, 2)
	now := step(1)
	now.Files["late"] = unsavedText{Late: true}
	require.NoError(t, acts.saveUnsaved(t.Context(), "s1", now))
	now = step(2, typed("c"))
	require.Len(t, now.Files, 2)
	require.True(t, now.Files["late"].Late)
	now = step(3, typed("late"))
	require.Len(t, now.Files, 1)
	require.False(t, now.Files["late"].Late, "its text came with the question")
	require.Empty(t, step(4).Files)
}
