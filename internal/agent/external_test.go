package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// asksServer is a call of a tool of the server git; its server claims that it only reads.
func asksServer(id, tool string) CallRequest {
	return CallRequest{
		CallID: id, Tool: "mcp__git__" + tool, Arguments: `{"a":1}`, Subject: "git: " + tool + ` {"a":1}`, External: &ExternalTool{Server: "git", Tool: tool, ReadOnly: true},
	}
}

func TestToolsOfServersAreAskedAboutAndAllowedForAlways(t *testing.T) {
	h := newHarness(t)
	invented := CallRequest{CallID: "c3", Tool: "mcp__git__invented", Arguments: `{}`}
	h.script(nil, []CallRequest{asksServer("c1", "get"), asksServer("c2", "put"), invented}, []CallRequest{asksServer("c4", "get"), asksServer("c5", "list")})
	var command, every, good *reply
	h.at(0, func() { h.ask("r1", "look") })
	h.at(time.Minute, func() {
		require.Len(t, h.view(nil).Approvals, 2)
		first := h.view(nil).Approvals[0]
		require.Equal(t, "mcp__git__get", first.Pattern)
		always := editors.AnswerApprovalParams{ApprovalID: first.ID, Decision: editors.DecisionAllowAlways, Pattern: "make"}
		command = h.answer(always)
		always.Pattern = "mcp__*"
		every = h.answer(always)
		always.Pattern = "mcp__git__*"
		good = h.answer(always)
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalAuto))
	require.ErrorContains(t, command.rejected, "no pattern for this tool")
	require.ErrorContains(t, every.rejected, "no pattern for this tool")
	require.NoError(t, good.err)
	require.Equal(t, []string{"a1 allowAlways vscode", "a2 allow vscode"}, resolved(events), "the pattern answers the other question too")
	require.Len(t, h.tools, 4)
	require.Equal(t, "get", h.tools[0].Call.External.Tool)
	var denied []string
	for _, i := range itemsOf(events, editors.ToolCall) {
		if i.Status == editors.ItemDenied {
			denied = append(denied, i.Tool)
		}
	}
	require.Equal(t, []string{"mcp__git__invented"}, denied, "what the model was not told of does not run")
}

func TestTheUsersPolicyCountsForToolsOfServers(t *testing.T) {
	h := newHarness(t)
	h.script(&Permissions{Hash: "h", User: policy.Policy{Allow: []string{"mcp__git__get"}, Deny: []string{"mcp__git__put"}}},
		[]CallRequest{asksServer("c1", "get"), asksServer("c2", "put"), run("c3", "ls")})
	h.at(0, func() { h.ask("r1", "look") })
	events := h.finish(time.Hour, testSession(editors.ApprovalAsk))
	require.Empty(t, ofType(events, editors.ApprovalRequested))
	require.Equal(t, []string{`git: get {"a":1}`, "ls"}, h.commands())
}

func TestWhatIsWrongWithServersIsToldOnceWhileItIsSo(t *testing.T) {
	h := newHarness(t)
	said := [][]string{{"git is missing"}, {"git is missing", "docs is starting"}, nil, {"git is missing"}}
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		n := len(h.steps) - 1
		res := says("done")
		if n < 3 {
			res = calls(reads("c"))
		}
		res.Notices, res.External = said[n], "sha256:tools"
		return res, nil
	}
	h.at(0, func() { h.ask("r1", "look") })
	var told []string
	for _, i := range itemsOf(h.finish(time.Hour, testSession(editors.ApprovalAsk)), editors.Notice) {
		told = append(told, i.Text)
	}
	require.Equal(t, []string{"git is missing", "docs is starting", "git is missing"}, told)
}
