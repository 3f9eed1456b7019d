// This file tests that policies reach the calls, that what cannot be read allows nothing, and that nobody loosens them on the
// way.

package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

func TestPoliciesAndRulesOfTheWorkspaceAllow(t *testing.T) {
	h := newHarness(t)
	h.script(&Permissions{
		Hash: "h", Root: "/w", User: policy.Policy{Allow: []string{"make"}}, Rules: []policy.Rule{{Tool: "exec_command", Pattern: "(in web) npm test *"}},
	}, []CallRequest{run("c1", "make"), run("c2", "cd /w/web && npm test a"), run("c3", "npm test a")})
	h.at(0, func() { h.ask("r1", "build") })
	h.at(time.Minute, func() {
		require.Equal(t, []string{"make", "cd /w/web && npm test a"}, h.commands())
		require.Len(t, h.view(nil).Approvals, 1)
	})
	h.finish(time.Hour, testSession(editors.ApprovalAsk))
	require.Empty(t, h.steps[0].Permissions)
}

func TestABrokenPolicyAsksInEveryMode(t *testing.T) {
	h := newHarness(t)
	why := "/c/policy.json:3: it is not JSON"
	h.script(&Permissions{Hash: "h", Broken: why, Notices: []string{"A policy cannot be read: " + why}}, []CallRequest{run("c1", "ls"), reads("c2")})
	h.at(0, func() { h.ask("r1", "look") })
	h.at(time.Minute, func() {
		v := h.view(nil)
		require.Len(t, v.Approvals, 1)
		require.Contains(t, v.Approvals[0].Reason, why)
		h.answer(editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllow})
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	require.Len(t, h.tools, 2)
	require.Contains(t, itemsOf(events, editors.Notice)[0].Text, why)
	require.Equal(t, "h", h.steps[1].Permissions, "what is known is not sent again")
}

func TestATurnCannotLoosenItsWorkspacesPolicy(t *testing.T) {
	h := newHarness(t)
	strict, loose := Permissions{Hash: "h1", Workspace: policy.Policy{Deny: []string{"git push *"}}}, Permissions{Hash: "h2"}
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		var res ModelStepResult
		switch len(h.steps) {
		case 1:
			res = calls(run("c1", "rm .sandbox-agent/policy.json"))
			res.Permissions = &strict
		case 2:
			res = calls(run("c2", "git push"))
			res.Permissions = &loose
		case 4:
			res = calls(run("c3", "git push"))
		default:
			return says("ok"), nil
		}
		return res, nil
	}
	h.at(0, func() { h.ask("r1", "push") })
	h.at(time.Minute, func() { h.ask("r2", "push again") })
	events := h.finish(time.Hour, testSession(editors.ApprovalNever))
	items := itemsOf(events, editors.ToolCall)
	require.Equal(t, editors.ItemDenied, items[1].Status, "what held when the turn began holds until it ends")
	require.Equal(t, editors.ItemCompleted, items[2].Status)
	notices := itemsOf(events, editors.Notice)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0].Text, "policy was changed: it now asks about 0 patterns and denies 0 patterns")
}
