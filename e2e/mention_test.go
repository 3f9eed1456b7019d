// These tests are of what a question mentions, and of images.

package e2e

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// lastUserOf returns the last message of the user in a request, as text.
func lastUserOf(t *testing.T, body string) string {
	t.Helper()
	var request struct {
		Input []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"input"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &request))
	for n := len(request.Input) - 1; n >= 0; n-- {
		if request.Input[n].Role == "user" {
			return string(request.Input[n].Content)
		}
	}
	return ""
}

func TestMentionsInTheTextOfATerminalAndAnEditor(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	i.write("sub/a.txt", "first\nsecond\nthird\n")
	i.write("b.txt", "saved\n")
	s := i.start("ask", "--workspace", i.work, "hello @sub/a.txt:2-3 from me@b.txt, `@b.txt` and @nobody")
	require.Zero(t, s.wait(), s.describe())
	sent := lastUserOf(t, i.requested()[0])
	require.Contains(t, sent, `[file \"sub/a.txt\" lines 2-3]`)
	require.Contains(t, sent, `second\nthird\n`)
	require.NotContains(t, sent, "first")
	require.NotContains(t, sent, "saved")

	e := i.editor("{}")
	session := e.begin(`{}`)
	e.typing("b.txt", "saved\n", "typed\n")
	var asked editors.AskResult
	e.call("sandboxAgent/ask", `{"sessionId":"`+session+`","text":"hello @b.txt with @selection","context":[{"kind":"selection","uri":"untitled:1","text":"marked"}]}`, &asked)
	e.untilEvent("the end", endOf(asked.TurnID))
	requests := i.requested()
	sent = lastUserOf(t, requests[len(requests)-1])
	require.Contains(t, sent, "typed")
	require.Contains(t, sent, "marked")
	require.NotContains(t, sent, "saved\\n")
	item := e.untilEvent("the question", func(ev editors.EventMessage) bool {
		return ev.Event.Type == editors.ItemStarted && ev.Event.Item.Kind == editors.UserMessage
	}).Event.Item
	require.Len(t, item.Context, 2)
	for _, c := range item.Context {
		require.True(t, c.Mentioned, "the transcript tells what went along")
	}
}

func TestImagesReachTheModelAndSurviveCompactionAndForks(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		steps("what is on", modeltest.ToolCall{Name: "read_file", Arguments: json.RawMessage(`{"path":"sub/other.png"}`)}),
		say("and now", "Still there."),
		modeltest.Rule{Match: modeltest.Match{Instructions: "You summarise"}, Respond: modeltest.Answer{Text: "We looked at pictures."}},
	))
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3000, 300))))
	i.write("shot.png", b.String())
	i.write("sub/other.png", b.String())
	id := i.session()
	s := i.start("ask", "--session", id, "what is on @shot.png?")
	require.Zero(t, s.wait(), s.describe())
	require.Contains(t, answers(s.durable())[0], "sub/other.png is an image")
	sent := i.requested()
	require.Equal(t, 1, strings.Count(sent[0], "data:image/png;base64,"))
	require.Equal(t, 2, strings.Count(sent[1], "data:image/png;base64,"))
	for _, e := range s.all() {
		line, err := json.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(line), "base64,", "its bytes are in no event")
	}

	var fork editors.SessionResult
	i.ok(&fork, "fork", id)
	i.ok(nil, "compact", id)
	for _, session := range []string{id, fork.Session.ID} {
		s = i.start("ask", "--session", session, "and now?")
		require.Zero(t, s.wait(), s.describe())
		sent = i.requested()
		require.Contains(t, sent[len(sent)-1], "data:image/png;base64,", "of session %s", session)
	}
}

func TestWhatTheAgentWillSeeIsListedAndNothingIsAsked(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	i.write("AGENTS.md", "the rules of the folder")
	i.write(".agents/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: how to deploy\n---\n")
	i.write("a.txt", strings.Repeat("some text\n", 400))
	find := func(r editors.ContextResult, kind, name string) editors.ContextPart {
		for _, p := range r.Parts {
			if p.Kind == kind && (name == "" || p.Name == name) {
				return p
			}
		}
		require.Fail(t, "there is no such part", "%s %s in %+v", kind, name, r.Parts)
		return editors.ContextPart{}
	}
	var seen editors.ContextResult
	i.ok(&seen, "ask", "--dry-run", "--workspace", i.work, "explain @a.txt and @selection")
	require.Empty(t, seen.SessionID)
	require.Contains(t, find(seen, "systemPrompt", "").Detail, "version")
	require.Positive(t, find(seen, "tool", "read_file").Tokens)
	require.Positive(t, find(seen, "instructions", "AGENTS.md").Tokens)
	require.Equal(t, ".agents/skills/deploy/SKILL.md", find(seen, "skill", "deploy").Detail)
	require.InDelta(t, 1000, find(seen, "file", `"a.txt"`).Tokens, 150)
	require.Equal(t, "the editor sent none", find(seen, "selection", "").Problem)
	total := int64(0)
	for _, p := range seen.Parts {
		total += p.Tokens
	}
	require.Equal(t, total, seen.Tokens)
	require.Positive(t, seen.Window)
	var page editors.SessionsResult
	i.ok(&page, "sessions")
	require.Empty(t, page.Sessions, "nothing was made")

	s := i.start("ask", "--workspace", i.work, "hello")
	require.Zero(t, s.wait(), s.describe())
	calls := len(i.requested())
	i.ok(&seen, "context", "--workspace", i.work)
	require.NotEmpty(t, seen.SessionID)
	require.Equal(t, "1", find(seen, "conversation", "messages of the agent").Detail)
	require.Equal(t, "told before", find(seen, "instructions", "AGENTS.md").Detail)
	require.Len(t, i.requested(), calls)

	e := i.editor("{}")
	e.typing("a.txt", "saved\n", "typed\n")
	e.call("sandboxAgent/context", `{"sessionId":"`+seen.SessionID+`","text":"why?"}`, &seen)
	require.Equal(t, `"a.txt"`, find(seen, "unsaved", "").Name)
	require.Positive(t, find(seen, "question", "").Tokens)
}
