package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// working is a model that calls a tool n times before it answers, at a price.
func working(h *harness, n int) {
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) > n {
			return says("done"), nil
		}
		r := calls(reads(fmt.Sprint("c", len(h.steps))))
		r.Usage.Cost = 0.5
		return r, nil
	}
}

// budgeted begins a session with a budget and asks it something.
func (h *harness) budgeted(b editors.Budget) Input {
	in := testSession(editors.ApprovalNever)
	in.State.Session.Budget = &b
	h.at(time.Second, func() { h.ask("r1", "work") })
	return in
}

func (h *harness) answerAt(d time.Duration, id string, decision editors.Decision) {
	h.at(d, func() {
		h.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: id, Decision: decision, By: "tester"})
	})
}

func TestABudgetIsRaisedByTheSameAmount(t *testing.T) {
	h := newHarness(t)
	working(h, 5)
	in := h.budgeted(editors.Budget{TurnCalls: 2})
	h.at(time.Minute, func() {
		v := h.view(nil)
		require.Len(t, h.steps, 2)
		require.Equal(t, editors.StatusWaitingApproval, v.Session.State.Status)
		require.Equal(t, "The turn has made 2 model calls, the budget is 2 model calls: raise it or stop.", v.Session.State.Reason)
		require.Len(t, v.Approvals, 1)
		require.Equal(t, "budget", v.Approvals[0].Tool)
		require.Contains(t, v.Approvals[0].Reason, "allow raises it by 2 model calls, deny stops the turn")
		require.Equal(t, []string{"allow", "deny"}, v.Approvals[0].Options)
	})
	h.answerAt(time.Hour, "a1", editors.DecisionAllow)
	h.at(2*time.Hour, func() { require.Len(t, h.steps, 4, "the same again") })
	h.answerAt(3*time.Hour, "a2", editors.DecisionAllow)
	events := h.finish(4*time.Hour, in)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	require.Len(t, h.steps, 6)
	require.Len(t, ofType(events, editors.ApprovalResolved), 2)
}

func TestATurnStopsAtItsBudgetWhenTheUserWants(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget editors.Budget
		steps  int
		says   string
	}{
		{"tokens", editors.Budget{TurnTokens: 30}, 2, "The turn has spent 30 tokens, the budget is 30 tokens"},
		{"cost", editors.Budget{TurnCost: 1.2}, 3, "The turn has cost $1.50, the budget is $1.20"},
		{"tokens of the session", editors.Budget{Tokens: 15}, 1, "The session has spent 15 tokens"},
		{"cost of the session", editors.Budget{Cost: 0.5}, 1, "The session has cost $0.50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t)
			working(h, 9)
			in := h.budgeted(tt.budget)
			h.answerAt(time.Minute, "a1", editors.DecisionDeny)
			events := h.finish(time.Hour, in)
			require.Equal(t, []string{"1 interrupted"}, endsOf(events))
			require.Len(t, h.steps, tt.steps)
			require.Contains(t, ofType(events, editors.ApprovalRequested)[0].Approval.Subject, tt.says)
			require.Contains(t, itemsOf(events, editors.Notice)[0].Text, tt.says)
			states := ofType(events, editors.StateChanged)
			require.Equal(t, editors.StatusIdle, states[len(states)-1].State.Status, "nothing failed")
		})
	}
}

func TestTimeIsBudgetedWithoutTheTimeThatTheUserThinks(t *testing.T) {
	h := newHarness(t)
	working(h, 4)
	h.model = func(model func(ModelStepInput) (ModelStepResult, error)) func(ModelStepInput) (ModelStepResult, error) {
		return func(in ModelStepInput) (ModelStepResult, error) {
			if len(h.steps) == 1 || len(h.steps) == 3 {
				return ModelStepResult{Failure: &ModelFailure{Message: "Busy.", Retryable: true, RetryAfter: 2 * time.Minute}}, nil
			}
			return model(in)
		}
	}(h.model)
	in := h.budgeted(editors.Budget{TurnSeconds: 60, Seconds: 3600})
	h.answerAt(24*time.Hour, "a1", editors.DecisionAllow)
	h.answerAt(48*time.Hour, "a2", editors.DecisionAllow)
	events := h.finish(72*time.Hour, in)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	asked := ofType(events, editors.ApprovalRequested)
	require.Len(t, asked, 2)
	require.Equal(t, "The turn has taken 2m0s, the budget is 1m0s", asked[0].Approval.Subject)
	require.Equal(t, "The turn has taken 4m0s, the budget is 3m0s", asked[1].Approval.Subject)
}

func TestANewBudgetLetsTheTurnGoOn(t *testing.T) {
	h := newHarness(t)
	working(h, 3)
	in := h.budgeted(editors.Budget{TurnCalls: 1})
	var wrong []*reply
	h.at(time.Minute, func() {
		for _, b := range []editors.Budget{{TurnCalls: -1}, {Cost: -0.5}} {
			wrong = append(wrong, h.update(UpdateConfigure, editors.ConfigureParams{Budget: &b}))
		}
		h.update(UpdateConfigure, editors.ConfigureParams{Budget: &editors.Budget{TurnCalls: 10, Cost: 100}})
	})
	h.at(2*time.Minute, func() { require.Equal(t, 100.0, h.view(nil).Session.Budget.Cost) })
	events := h.finish(time.Hour, in)
	require.Equal(t, []string{"1 completed"}, endsOf(events))
	resolved := ofType(events, editors.ApprovalResolved)
	require.Len(t, resolved, 1)
	require.Equal(t, editors.DecisionWithdrawn, resolved[0].Approval.Decision)
	for _, r := range wrong {
		require.ErrorContains(t, r.rejected, "not negative")
	}
}

func TestAnInterruptEndsATurnAtItsBudget(t *testing.T) {
	h := newHarness(t)
	working(h, 3)
	in := h.budgeted(editors.Budget{TurnCalls: 1})
	h.at(time.Minute, func() { h.update(UpdateInterrupt, editors.InterruptParams{TurnID: 1}) })
	events := h.finish(time.Hour, in)
	require.Equal(t, []string{"1 interrupted"}, endsOf(events))
	require.Len(t, ofType(events, editors.ApprovalResolved), 1, "withdrawn")
}

func TestTheDefaultBudgetIsCalls(t *testing.T) {
	h := newHarness(t)
	working(h, editors.DefaultTurnCalls+10)
	in := testSession(editors.ApprovalNever)
	h.at(time.Second, func() { h.ask("r1", "work") })
	h.answerAt(time.Hour, "a1", editors.DecisionAllow)
	h.at(2*time.Hour, func() { h.update(UpdateDestroy, editors.SessionParams{}) })
	h.env.ExecuteWorkflow(WorkflowName, in)
	require.True(t, h.env.IsWorkflowCompleted())
	require.Len(t, h.steps, editors.DefaultTurnCalls+11)
}
