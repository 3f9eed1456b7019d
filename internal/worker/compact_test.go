package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/conversation"
	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

const (
	summaries = "You summarise the work"
	small     = 16_000 // tokens of the window of the tests' model
)

// summary is a rule that makes summaries.
func summary(text string) modeltest.Rule {
	return modeltest.Rule{Name: "summary", Match: modeltest.Match{Instructions: summaries}, Respond: modeltest.Answer{Text: text, Usage: &modeltest.Usage{Input: 900, Output: 90}}}
}

func withWindow(t *testing.T, window int64, api string, s modeltest.Script) (*Activities, *modeltest.Server) {
	t.Helper()
	a, server := withModel(t, s)
	a.Models = model.New(model.Options{BaseURL: server.URL, API: api, Facts: map[string]model.Facts{
		"scripted": {Window: window, Price: &model.Price{Input: 1, Output: 10}},
	}})
	return a, server
}

// worked stores a conversation of steps with results of so many bytes, and answers of 200 bytes.
func worked(t *testing.T, a *Activities, steps, bytes int) string {
	t.Helper()
	entries := []model.Entry{
		{Kind: model.KindUser, Text: "FIRST: build the parser"},
		{Kind: model.KindToolCall, CallID: "plan", Name: "update_plan", Arguments: `{"plan":[{"step":"PLANNED lexer","status":"in_progress"}]}`},
		{Kind: model.KindToolResult, CallID: "plan", Text: "ok"},
		{Kind: model.KindToolCall, CallID: "patch", Name: "apply_patch", Arguments: `{"patch":"*** Begin Patch\n*** Add File: touched.go\n+x\n*** End Patch"}`},
		{Kind: model.KindToolResult, CallID: "patch", Text: "ok"},
		{Kind: model.KindUser, Text: "LATEST: and test it"},
	}
	for i := range steps {
		id := fmt.Sprint("c", i)
		entries = append(entries, model.Entry{Kind: model.KindAssistant, Text: fmt.Sprintf("step %d %s", i, strings.Repeat("y", 200))},
			model.Entry{Kind: model.KindToolCall, CallID: id, Name: "exec_command", Arguments: `{"command":"make"}`},
			model.Entry{Kind: model.KindToolResult, CallID: id, Text: strings.Repeat("x", bytes)})
	}
	head, err := conversation.Append(t.Context(), a.Blobs, "", entries)
	require.NoError(t, err)
	return string(head)
}

func compactOf(head string) agent.CompactInput {
	return agent.CompactInput{Sandbox: stepOf().Sandbox, Head: head, Model: "scripted", Place: "PLACE: a folder"}
}

func onBoth(t *testing.T, test func(t *testing.T, api string)) {
	t.Helper()
	for _, api := range []string{model.APIResponses, model.APIChat} {
		t.Run(api, func(t *testing.T) { test(t, api) })
	}
}

func TestCompactionKeepsWhatIsPinned(t *testing.T) {
	onBoth(t, func(t *testing.T, api string) {
		a, server := withWindow(t, small, api, modeltest.Script{Rules: []modeltest.Rule{summary("DECIDED: recursive descent"), {Respond: modeltest.Answer{Text: "Going on."}}}})
		head := worked(t, a, 60, 2000)
		out, err := activityOf[agent.CompactResult](t, a.CompactConversation, compactOf(head))
		require.NoError(t, err)
		require.Contains(t, out.How, "the model summarised")
		require.Less(t, out.After, int64(small/2))
		require.Greater(t, out.Before, int64(small))
		require.EqualValues(t, 1, out.Usage.ModelCalls)
		require.InDelta(t, (900*1+90*10)/1e6, out.Usage.Cost, 1e-9)
		require.Len(t, a.said(t, head), 6+3*60, "the old head stays")

		in := stepOf("go on")
		in.Head, in.Tokens = out.Head, out.After
		step, err := activityOf[agent.ModelStepResult](t, a.ModelStep, in)
		require.NoError(t, err)
		require.Nil(t, step.Failure)
		require.Equal(t, "Going on.", step.Message.Inline)
		body := string(last(t, server).Body)
		for _, pinned := range []string{"FIRST: build the parser", "LATEST: and test it", "PLANNED lexer", "touched.go", "PLACE: a folder", "DECIDED: recursive descent", "step 59"} {
			require.Contains(t, body, pinned)
		}
		require.NotContains(t, body, "step 1 ")
	})
}

func last(t *testing.T, server *modeltest.Server) modeltest.Recorded {
	t.Helper()
	requests := server.Requests()
	require.NotEmpty(t, requests)
	return requests[len(requests)-1]
}

func TestOldOutputsGoBeforeWordsDo(t *testing.T) {
	a, server := withWindow(t, small, "", modeltest.Script{Rules: []modeltest.Rule{summary("no")}})
	out, err := activityOf[agent.CompactResult](t, a.CompactConversation, compactOf(worked(t, a, 10, 10_000)))
	require.NoError(t, err)
	require.Contains(t, out.How, "cut")
	require.Empty(t, server.Requests(), "nobody was asked")
	require.LessOrEqual(t, out.After, int64(small/2))
	entries := a.said(t, out.Head)
	require.Equal(t, "FIRST: build the parser", entries[0].Text)
	require.Len(t, entries, 6+3*10)
}

func TestACompactionWithoutAModelLosesNoTask(t *testing.T) {
	a, _ := withWindow(t, small, "", modeltest.Script{Rules: []modeltest.Rule{{Match: modeltest.Match{Instructions: summaries}, Fault: &modeltest.Fault{Status: 400, Message: "no"}}}})
	out, err := activityOf[agent.CompactResult](t, a.CompactConversation, compactOf(worked(t, a, 60, 2000)))
	require.NoError(t, err)
	require.Contains(t, out.How, "was cut")
	require.NotEmpty(t, out.Failed)
	text := a.said(t, out.Head)[0].Text
	for _, pinned := range []string{"FIRST: build the parser", "LATEST: and test it", "PLANNED lexer", "touched.go", "step 40"} {
		require.Contains(t, text, pinned)
	}
}

func TestASummaryIsAskedForAgain(t *testing.T) {
	rule := summary("DECIDED: late")
	rule.Fault = &modeltest.Fault{Times: 1, Status: 500}
	a, _ := withWindow(t, small, "", modeltest.Script{Rules: []modeltest.Rule{rule}})
	out, err := activityOf[agent.CompactResult](t, a.CompactConversation, compactOf(worked(t, a, 60, 2000)))
	require.NoError(t, err)
	require.Empty(t, out.Failed)
	require.Contains(t, a.said(t, out.Head)[0].Text, "DECIDED: late")
}

func TestTheProviderCompactsWhereItOffersThat(t *testing.T) {
	a, server := withWindow(t, small, model.APIResponses, modeltest.Script{Compacts: true, Rules: []modeltest.Rule{summary("no"), {Respond: modeltest.Answer{Text: "Going on."}}}})
	out, err := activityOf[agent.CompactResult](t, a.CompactConversation, compactOf(worked(t, a, 60, 2000)))
	require.NoError(t, err)
	require.Contains(t, out.How, "the provider")
	in := stepOf("go on")
	in.Head = out.Head
	step, err := activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	require.Nil(t, step.Failure)
	body := string(last(t, server).Body)
	for _, pinned := range []string{`"compaction"`, "FIRST: build the parser", "PLANNED lexer", "touched.go", "PLACE: a folder"} {
		require.Contains(t, body, pinned)
	}
	for _, r := range server.Requests() {
		require.Empty(t, r.Error)
		require.NotEqual(t, "summary", r.Rule)
	}
}

func TestAShortConversationIsLeftAlone(t *testing.T) {
	a, _ := withWindow(t, small, "", modeltest.Script{Rules: []modeltest.Rule{summary("short")}})
	head, err := conversation.Append(t.Context(), a.Blobs, "", []model.Entry{{Kind: model.KindUser, Text: "hello"}})
	require.NoError(t, err)
	out, err := activityOf[agent.CompactResult](t, a.CompactConversation, compactOf(string(head)))
	require.NoError(t, err)
	require.Empty(t, out.How)
	require.Empty(t, out.Head)
}

func TestAFullConversationIsToldBeforeTheModelIsCalled(t *testing.T) {
	a, server := withWindow(t, small, "", modeltest.Script{Rules: []modeltest.Rule{{Respond: modeltest.Answer{Text: "hi", Usage: &modeltest.Usage{Input: 5000, Output: 50}}}}})
	in := stepOf("go on")
	in.Head, in.Tokens = worked(t, a, 1, 10), 13_000
	out, err := activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	require.True(t, out.Full)
	require.Empty(t, server.Requests())
	require.Equal(t, "go on", a.said(t, out.Head)[9].Text, "what was pending is in it")
	require.EqualValues(t, small, out.Window)

	in.Compacted = true
	out, err = activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	require.False(t, out.Full)
	require.EqualValues(t, 5050, out.Tokens, "what was counted counts")
	require.InDelta(t, (5000+500)/1e6, out.Usage.Cost, 1e-9)

	in.Compacted, in.Tokens, in.TooLong = false, 5050, 6000
	out, err = activityOf[agent.ModelStepResult](t, a.ModelStep, in)
	require.NoError(t, err)
	require.True(t, out.Full, "what the model refused counts more than what is known of it")
}

func TestTitles(t *testing.T) {
	a, server := withModel(t, modeltest.Script{Rules: []modeltest.Rule{{Match: modeltest.Match{Instructions: "You name conversations"}, Respond: modeltest.Answer{Text: "\"Build the parser.\"\nmore"}}}})
	out, err := activityOf[agent.TitleResult](t, a.SuggestTitle, agent.TitleInput{Head: worked(t, a, 1, 10), Model: "scripted"})
	require.NoError(t, err)
	require.Equal(t, "Build the parser", out.Title)
	require.EqualValues(t, 1, out.Usage.UnpricedCalls)
	require.Zero(t, out.Usage.Cost)
	var body struct{ Tools []json.RawMessage }
	require.NoError(t, json.Unmarshal(last(t, server).Body, &body))
	require.Empty(t, body.Tools)
	require.Contains(t, string(last(t, server).Body), "FIRST: build the parser")
	for answer, title := range map[string]string{"# Title: Fix it": "Fix it", "**Fix it**": "Fix it", "": "", strings.Repeat("long ", 30): ""} {
		require.Equal(t, title, titleOf(answer), answer)
	}
}
