// This file tests what becomes of questions: who may answer them and how, and what settles them without an answer.

package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// script answers with one list of calls after the other, then ends the turn. permissions go with the first.
func (h *harness) script(permissions *Permissions, steps ...[]CallRequest) {
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) > len(steps) {
			return says("ok"), nil
		}
		res := calls(steps[len(h.steps)-1]...)
		res.Confinement = "fs+net"
		if len(h.steps) == 1 {
			res.Permissions = permissions
		}
		return res, nil
	}
}

func (h *harness) answer(in editors.AnswerApprovalParams) *reply {
	if in.By == "" {
		in.By = "vscode"
	}
	return h.update(UpdateAnswer, in)
}

func (h *harness) commands() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, c := range h.tools {
		out = append(out, c.Call.Subject)
	}
	return out
}

func resolved(events []editors.EventMessage) []string {
	var out []string
	for _, e := range ofType(events, editors.ApprovalResolved) {
		out = append(out, e.Approval.ID+" "+string(e.Approval.Decision)+" "+e.Approval.DecidedBy)
	}
	return out
}

func TestAnEditedPatternIsWhatIsRemembered(t *testing.T) {
	h := newHarness(t)
	h.script(nil, []CallRequest{run("c1", "npm test a"), run("c2", "npm test b"), run("c3", "npm test c; rm x")}, []CallRequest{run("c4", "npm test d")})
	var bad, wide, good *reply
	h.at(0, func() { h.ask("r1", "test") })
	h.at(time.Minute, func() {
		always := editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllowAlways}
		always.Pattern = "npm test; rm *"
		bad = h.answer(always)
		always.Pattern = "rm *"
		wide = h.answer(always)
		always.Pattern = "npm test *"
		good = h.answer(always)
	})
	h.at(time.Hour, func() {
		v := h.view(nil)
		require.Len(t, v.Approvals, 1, "what is more than the pattern is still asked about")
		require.Equal(t, "npm test c; rm x", v.Approvals[0].Subject)
		h.answer(editors.AnswerApprovalParams{ApprovalID: v.Approvals[0].ID, Decision: editors.DecisionDeny})
	})
	events := h.finish(2*time.Hour, testSession(editors.ApprovalAsk))
	require.ErrorContains(t, bad.rejected, "one command")
	require.ErrorContains(t, wide.rejected, "could reach, change or delete anything")
	require.Equal(t, ErrTypeInvalid, typeOf(t, wide.rejected))
	out := good.value.(editors.AnswerApprovalResult)
	require.Equal(t, "npm test *", out.Pattern)
	require.Equal(t, editors.ScopeSession, out.Scope)
	require.Equal(t, []string{"npm test a", "npm test b", "npm test d"}, h.commands())
	require.Equal(t, []string{"a1 allowAlways vscode", "a2 allow vscode", "a3 deny vscode"}, resolved(events))
	require.Equal(t, "npm test *", ofType(events, editors.ApprovalResolved)[0].Approval.Pattern, "everybody sees what was stored")
	require.Empty(t, h.kept)
}

func TestWhatIsAllowedForAWorkspaceIsKeptByItsHost(t *testing.T) {
	for name, broken := range map[string]error{"kept": nil, "not kept": errors.New("the disk is full")} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			if broken != nil {
				h.noKeeping = temporal.NewNonRetryableApplicationError(broken.Error(), "internal", nil)
			}
			h.script(&Permissions{Hash: "h1"}, []CallRequest{run("c1", "make x")}, []CallRequest{run("c2", "make x")})
			var first *reply
			h.at(0, func() { h.ask("r1", "build") })
			h.at(time.Minute, func() {
				first = h.answer(editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Scope: editors.ScopeWorkspace})
			})
			events := h.finish(time.Hour, testSession(editors.ApprovalAsk))
			require.Equal(t, editors.ScopeWorkspace, first.value.(editors.AnswerApprovalResult).Scope)
			require.Equal(t, policy.Rule{Tool: "exec_command", Pattern: "make x"}, h.kept[0].Rule)
			require.Equal(t, "vscode", h.kept[0].By)
			require.Equal(t, "/w", h.kept[0].Folder)
			require.Equal(t, []string{"make x", "make x"}, h.commands(), "it is allowed either way")
			require.NotEqual(t, "h1", h.steps[1].Permissions, "the worker is to tell anew what is allowed")
			notices := itemsOf(events, editors.Notice)
			if broken == nil {
				require.Empty(t, notices)
				return
			}
			require.Contains(t, notices[0].Text, "allowed for this session: the disk is full")
		})
	}
}

func TestWhatThePolicySaysCannotBeAllowedForAlways(t *testing.T) {
	h := newHarness(t)
	h.script(&Permissions{Hash: "h", User: policy.Policy{Ask: []string{"git push *"}, Deny: []string{"rm *"}}},
		[]CallRequest{run("c1", "git push"), run("c2", "rm x"), run("c3", "ls")})
	var always *reply
	h.at(0, func() { h.ask("r1", "push") })
	h.at(time.Minute, func() {
		always = h.answer(editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Pattern: "git push"})
		h.answer(editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionDeny, Feedback: "not yet\n  «later»"})
	})
	events := h.finish(time.Hour, testSession(editors.ApprovalAsk))
	require.ErrorContains(t, always.rejected, "allowed once, but not for always")
	require.Equal(t, []string{"ls"}, h.commands())
	require.Contains(t, ofType(events, editors.ApprovalRequested)[0].Approval.Reason, "the policy asks about `git push *`")
	told := h.steps[1].Pending
	require.Contains(t, told[0].Text, "They said: not yet\n  «later»", "feedback reaches the model as it was typed")
	require.Contains(t, told[1].Text, "the policy denies `rm *`")
}

func TestFeedbackIsNeverCut(t *testing.T) {
	h := newHarness(t)
	h.script(nil, []CallRequest{run("c1", "make")})
	var long, fits *reply
	h.at(0, func() { h.ask("r1", "build") })
	h.at(time.Minute, func() {
		deny := editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionDeny, Feedback: strings.Repeat("x", MaxInlineText+1)}
		long = h.answer(deny)
		deny.Feedback = deny.Feedback[1:]
		fits = h.answer(deny)
	})
	h.finish(time.Hour, testSession(editors.ApprovalAsk))
	require.Equal(t, ErrTypeLimit, typeOf(t, long.rejected))
	require.NoError(t, fits.rejected)
	require.Contains(t, h.steps[1].Pending[0].Text, strings.Repeat("x", MaxInlineText))
}

func TestAnotherModeSettlesWhatItDecides(t *testing.T) {
	for _, c := range []struct {
		mode     editors.ApprovalMode
		resolved []string
		ran      []string
	}{
		{editors.ApprovalAuto, []string{"a1 allow mode", "a2 withdrawn the end of the turn"}, []string{"make"}},
		{editors.ApprovalNever, []string{"a1 allow mode", "a2 allow mode"}, []string{"make", "curl x"}},
		{editors.ApprovalReadOnly, []string{"a1 deny mode", "a2 deny mode"}, nil},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			h := newHarness(t)
			h.script(nil, []CallRequest{run("c1", "make"), {CallID: "c2", Tool: "exec_command", Arguments: `{"command":"curl x","network":true}`, Subject: "curl x"}})
			h.at(0, func() { h.ask("r1", "build") })
			h.at(time.Minute, func() { h.update(UpdateConfigure, editors.ConfigureParams{ApprovalMode: c.mode}) })
			h.at(time.Hour, func() { h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1}) })
			events := h.finish(2*time.Hour, testSession(editors.ApprovalAsk))
			require.Equal(t, c.resolved, resolved(events))
			require.Equal(t, c.ran, h.commands())
			if c.mode == editors.ApprovalReadOnly {
				require.Contains(t, h.steps[1].Pending[0].Text, "this session is read-only")
			}
		})
	}
}

func TestAStricterModeStopsWhatHasNotBegun(t *testing.T) {
	for _, mode := range []editors.ApprovalMode{editors.ApprovalReadOnly, editors.ApprovalAsk} {
		h := newHarness(t)
		h.script(nil, []CallRequest{run("c1", "make one"), run("c2", "make two")})
		h.tool = func(context.Context, RunToolInput) (RunToolResult, error) {
			h.meanwhile(func() { h.update(UpdateConfigure, editors.ConfigureParams{ApprovalMode: mode}) })
			return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:result"}, nil
		}
		h.at(0, func() { h.ask("r1", "build") })
		h.at(time.Minute, func() {
			if mode == editors.ApprovalAsk {
				require.Len(t, h.view(nil).Approvals, 1)
				h.answer(editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionDeny})
			}
		})
		events := h.finish(time.Hour, testSession(editors.ApprovalNever))
		require.Equal(t, []string{"make one"}, h.commands())
		for _, item := range itemsOf(events, editors.ToolCall) {
			require.Equal(t, item.Text == "make two", item.Status == editors.ItemDenied, item.Text)
		}
		require.Equal(t, []string{"1 completed"}, endsOf(events))
	}
}

func TestAPersonsAnswerStaysWhenTheModeChanges(t *testing.T) {
	h := newHarness(t)
	h.script(nil, []CallRequest{run("c1", "make one"), run("c2", "make two")})
	h.at(0, func() { h.ask("r1", "build") })
	h.at(time.Minute, func() { h.answer(editors.AnswerApprovalParams{ApprovalID: "a2", Decision: editors.DecisionAllow}) })
	h.at(2*time.Minute, func() { h.update(UpdateConfigure, editors.ConfigureParams{ApprovalMode: editors.ApprovalReadOnly}) })
	events := h.finish(time.Hour, testSession(editors.ApprovalAsk))
	require.Equal(t, []string{"a2 allow vscode", "a1 deny mode"}, resolved(events))
	require.Equal(t, []string{"make two"}, h.commands())
}

func TestARepeatedAnswerGetsItsFirstResult(t *testing.T) {
	h := newHarness(t)
	h.script(nil, []CallRequest{run("c1", "make")})
	var first, again, late *reply
	h.at(0, func() { h.ask("r1", "build") })
	h.at(time.Minute, func() {
		in := editors.AnswerApprovalParams{RequestID: "q", ApprovalID: "a1", Decision: editors.DecisionAllow}
		first, again = h.answer(in), h.answer(in)
	})
	h.at(time.Hour, func() {
		late = h.answer(editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionDeny, By: "nvim"})
	})
	h.finish(2*time.Hour, testSession(editors.ApprovalAsk))
	require.Equal(t, first.value, again.value)
	require.False(t, again.value.(editors.AnswerApprovalResult).Already)
	require.True(t, late.value.(editors.AnswerApprovalResult).Already, "also when the turn is over")
	require.Equal(t, "vscode", late.value.(editors.AnswerApprovalResult).DecidedBy)
}

func TestRulesOfASessionCanBeTakenBack(t *testing.T) {
	h := newHarness(t)
	h.script(nil, []CallRequest{run("c1", "make")})
	in := testSession(editors.ApprovalAsk)
	in.State.Rules = []policy.Rule{{Tool: "exec_command", Pattern: "make"}, {Tool: "exec_command", Pattern: "npm test *"}}
	var gone, none *reply
	h.at(0, func() {
		gone = h.update(UpdateForget, editors.RulesParams{Op: "remove", Pattern: "make"})
		none = h.update(UpdateForget, editors.RulesParams{Op: "remove", Pattern: "make"})
		h.ask("r1", "build")
	})
	h.at(time.Minute, func() {
		v, err := h.env.QueryWorkflow(QueryRules)
		require.NoError(t, err)
		var rules []policy.Rule
		require.NoError(t, v.Get(&rules))
		require.Equal(t, in.State.Rules[1:], rules)
		require.Len(t, h.view(nil).Approvals, 1)
	})
	h.finish(time.Hour, in)
	require.Equal(t, []editors.Rule{{Scope: editors.ScopeSession, Tool: "exec_command", Pattern: "make"}}, gone.value.(editors.RulesResult).Rules)
	require.ErrorContains(t, none.rejected, "does not allow")
}

func TestLongArgumentsAreJudgedByWhatIsKnown(t *testing.T) {
	h := newHarness(t)
	long := func(id string, network bool) CallRequest {
		return CallRequest{CallID: id, Tool: "exec_command", Arguments: `{"command":"cat <<`, Ref: "sha256:args", Subject: id, Network: network}
	}
	h.script(nil, []CallRequest{long("c1", false), long("c2", true)})
	h.at(0, func() { h.ask("r1", "write") })
	h.at(time.Minute, func() {
		require.Equal(t, []string{"c1"}, h.commands(), "in mode auto, within the sandbox")
		a := h.view(nil).Approvals[0]
		require.Contains(t, a.Reason, "network")
		require.Empty(t, a.Pattern)
	})
	h.finish(time.Hour, testSession(editors.ApprovalAuto))
}

func TestALateAnswerIsToldWhoDecidedAfterContinuingAsNew(t *testing.T) {
	h := newHarness(t)
	in := testSession(editors.ApprovalAsk)
	in.State.NextApproval = 8
	in.State.Decided = []editors.Approval{{ID: "a7", Decision: editors.DecisionAllowAlways, DecidedBy: "nvim", Scope: editors.ScopeWorkspace, Pattern: "make"}}
	var late *reply
	h.at(0, func() {
		late = h.answer(editors.AnswerApprovalParams{ApprovalID: "a7", Decision: editors.DecisionAllowAlways, Pattern: "no pattern; at all"})
	})
	h.finish(time.Hour, in)
	out := late.value.(editors.AnswerApprovalResult)
	require.True(t, out.Already)
	require.Equal(t, "nvim", out.DecidedBy)
	require.Equal(t, editors.ScopeWorkspace, out.Scope)
	require.Equal(t, "make", out.Pattern)
}

func TestWhatIsKeptOfDecisionsIsSmall(t *testing.T) {
	s := testSession(editors.ApprovalAsk).State
	for range 2 * maxDecided {
		a := editors.Approval{ID: "a1", Subject: strings.Repeat("s", 4<<10), Feedback: strings.Repeat("f", 8<<10), Pattern: strings.Repeat("p", 8<<10), Reason: strings.Repeat("r", 1<<10)}
		s.keepDecided(a)
	}
	require.Len(t, s.Decided, maxDecided)
	require.Less(t, size(s.Decided), 48<<10)
}
