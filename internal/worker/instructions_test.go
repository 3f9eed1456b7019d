package worker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

var anyAnswer = modeltest.Script{Rules: []modeltest.Rule{{Respond: modeltest.Answer{Text: "Done."}}}}

// inside is the workspace of a session's sandbox.
func (a *Activities) inside(t *testing.T, in agent.Sandbox) *fake.Sandbox {
	t.Helper()
	p, ok := a.Backends[in.Backend.Kind].(*places)
	require.True(t, ok)
	sb, err := p.Backend.Open(t.Context(), sandbox.Spec{ID: in.ID()})
	require.NoError(t, err)
	box, ok := sb.(*fake.Sandbox)
	require.True(t, ok)
	return box
}

func TestTheModelIsToldOfTheWorkspacesInstructionsOnce(t *testing.T) {
	a, server := withModel(t, anyAnswer)
	in := stepOf("fix it")
	box := a.inside(t, in.Sandbox)
	box.Put("AGENTS.md", "use tabs", 0o644)
	out, err := activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	said := a.said(t, out.Head)
	require.Len(t, said, 3)
	require.Contains(t, said[0].Text, "use tabs")
	require.Equal(t, "fix it", said[1].Text)

	next := stepOf("go on")
	next.Head = out.Head
	out, err = activityOf[agent.ModelStepResult](t, a.ModelStep, next)
	require.NoError(t, err)
	require.Equal(t, said, a.said(t, out.Head)[:3], "the beginning stays as it is")
	require.Len(t, a.said(t, out.Head), 5)
	requests := server.Requests()
	require.Equal(t, 1, strings.Count(string(requests[len(requests)-1].Body), "use tabs"))

	box.Put("AGENTS.md", "use spaces", 0o644)
	next.Head = out.Head
	out, err = activityOf[agent.ModelStepResult](t, a.ModelStep, next)
	require.NoError(t, err)
	require.Contains(t, a.said(t, out.Head)[5].Text, "has changed")
	require.Contains(t, a.said(t, out.Head)[5].Text, "use spaces")
}

func TestInstructionsOfADirectoryComeWhenTheAgentWorksInIt(t *testing.T) {
	a, _ := withModel(t, anyAnswer)
	in := stepOf("fix it")
	box := a.inside(t, in.Sandbox)
	box.Put("sub/AGENTS.md", "sub rules", 0o644)
	box.Put("other/AGENTS.md", "other rules", 0o644)
	arguments, err := json.Marshal(map[string]string{"patch": "*** Update File: sub/deep/x\n-a\n+b\n"})
	require.NoError(t, err)
	before := []model.Entry{{Kind: model.KindUser, Text: "fix it"}, {Kind: model.KindToolCall, CallID: "c", Name: "apply_patch", Arguments: string(arguments)}}
	added := []model.Entry{{Kind: model.KindToolResult, CallID: "c", Text: "Done"}, {Kind: model.KindUser, Text: "and then"}}
	got := a.withInstructions(t.Context(), in, before, added)
	require.Len(t, got, 3)
	require.Equal(t, added[0], got[0], "results follow their calls")
	require.Contains(t, got[1].Text, "sub rules")
	require.NotContains(t, got[1].Text, "other rules")
	require.Equal(t, added[1], got[2])

	in.Pending = []agent.Pending{{Kind: "user", Context: []editors.Context{{Kind: "file", URI: "file:///w/other/y"}, {Kind: "file", URI: "file:///elsewhere/y"}}}}
	got = a.withInstructions(t.Context(), in, append(before, got...), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0].Text, "other rules")
}

func TestInstructionsDoNotMakeASandbox(t *testing.T) {
	a, _ := withModel(t, anyAnswer)
	in := stepOf("fix it")
	in.Backend = editors.Backend{Kind: editors.Docker}
	before := []model.Entry{{Kind: model.KindUser, Text: "earlier"}}
	require.Empty(t, a.withInstructions(t.Context(), in, before, nil))
	require.False(t, a.containers(t).has(in.ID()), "whoever makes it looks first whether it was lost")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, a.withInstructions(canceled, in, nil, nil), "nobody made it in time")

	sb, err := a.open(t.Context(), in.Sandbox, nil)
	require.NoError(t, err)
	require.NoError(t, sb.Close())
	a.inside(t, in.Sandbox).Put("AGENTS.md", "use tabs", 0o644)
	require.Contains(t, a.withInstructions(t.Context(), in, nil, nil)[0].Text, "use tabs")
}

func TestFilesOfTheFolder(t *testing.T) {
	folder := t.TempDir()
	for uri, want := range map[string]string{
		"file://" + folder + "/a/b%20c": "a/b c", "file://" + folder: "", "file://" + folder + "-other/a": "",
		"file://" + folder + "/../x": "", "untitled:1": "", "%": "", "file:///": "",
	} {
		got, ok := inFolder(folder, uri)
		require.Equal(t, want, got, uri)
		require.Equal(t, want != "", ok, uri)
	}
}
