// This file holds a session to its budget: a turn that has reached it waits until it is told to go on or to stop.

package agent

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// errStopped ends a turn because the user wants it to.
var errStopped = errors.New("stopped at the budget")

// bound is one bound of a budget: what it allows, what it was raised to, and what is spent.
type bound struct {
	what          string // with %s for an amount
	amount, spent float64
	raised        *float64
	show          func(float64) string
}

// limit is where the bound is now; 0: nowhere.
func (b bound) limit() float64 {
	if b.amount <= 0 {
		return 0
	}
	return max(b.amount, *b.raised)
}

// reached tells whether no more may be spent.
func (b bound) reached() bool { return b.amount > 0 && b.spent >= b.limit() }

// Raised are the bounds that the user has raised, as they are now.
type Raised struct {
	Calls   float64 `json:"calls,omitempty"`
	Tokens  float64 `json:"tokens,omitempty"`
	Cost    float64 `json:"cost,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// bounds are those of the running turn and of its session.
func (s *session) bounds(ctx workflow.Context) []bound {
	var b editors.Budget
	if s.Session.Budget != nil {
		b = *s.Session.Budget
	}
	calls := b.TurnCalls
	if calls == 0 {
		calls = editors.DefaultTurnCalls
	}
	turn, all := s.Turn.Usage, s.Session.Usage
	took := s.turnTime(ctx).Seconds()
	return []bound{
		{"The turn has made %s", float64(calls), float64(turn.ModelCalls), &s.Turn.Raised.Calls, func(n float64) string { return count(int(n), "model call") }},
		{"The turn has spent %s", float64(b.TurnTokens), tokensOf(turn), &s.Turn.Raised.Tokens, tokens},
		{"The turn has cost %s", b.TurnCost, turn.Cost, &s.Turn.Raised.Cost, dollars},
		{"The turn has taken %s", float64(b.TurnSeconds), took, &s.Turn.Raised.Seconds, seconds},
		{"The session has spent %s", float64(b.Tokens), tokensOf(all), &s.Raised.Tokens, tokens},
		{"The session has cost %s", b.Cost, all.Cost, &s.Raised.Cost, dollars},
		{"The turns of this session have taken %s", float64(b.Seconds), s.Worked.Seconds() + took, &s.Raised.Seconds, seconds},
	}
}

func tokensOf(u editors.Usage) float64 { return float64(u.InputTokens + u.OutputTokens) }
func tokens(n float64) string          { return thousands(int64(n)) + " tokens" }
func dollars(n float64) string         { return fmt.Sprintf("$%.2f", n) }
func seconds(n float64) string {
	return (time.Duration(math.Round(n)) * time.Second).String()
}

// turnTime is how long the running turn has taken, without the time in which it waited at its budget.
func (s *session) turnTime(ctx workflow.Context) time.Duration {
	if s.Turn.StartedAt.IsZero() {
		return 0
	}
	now := workflow.Now(ctx)
	if !s.Turn.WaitsSince.IsZero() {
		now = s.Turn.WaitsSince
	}
	return now.Sub(s.Turn.StartedAt) - s.Turn.Waited
}

// overBudget returns the first bound that is reached.
func (s *session) overBudget(ctx workflow.Context) *bound {
	for _, b := range s.bounds(ctx) {
		if b.reached() {
			return &b
		}
	}
	return nil
}

// keepBudget waits, while a bound is reached, for the user to raise it, and returns errStopped when they do not want to.
func (s *session) keepBudget(ctx workflow.Context) error {
	for {
		b := s.overBudget(ctx)
		if b == nil {
			return nil
		}
		decision, err := s.askBudget(ctx, *b)
		switch {
		case err != nil:
			return err
		case decision == editors.DecisionDeny:
			return errStopped
		case decision != editors.DecisionWithdrawn:
			*b.raised = b.spent + b.amount
		}
	}
}

// askBudget asks whether the turn may go on beyond a bound. DecisionWithdrawn means that the budget was changed meanwhile.
func (s *session) askBudget(ctx workflow.Context, b bound) (editors.Decision, error) {
	subject := fmt.Sprintf(b.what, b.show(b.spent)) + ", the budget is " + b.show(b.limit())
	item := s.startItem(ctx, editors.Item{TurnID: s.Turn.ID, Kind: editors.Notice, Status: editors.ItemInProgress, Text: subject + "."})
	id := item.ID
	a := editors.Approval{
		ID: fmt.Sprintf("a%d", s.NextApproval), ItemID: id, TurnID: s.Turn.ID, Tool: editors.BudgetTool, Subject: subject,
		Reason:  "The budget is reached: allow raises it by " + b.show(b.amount) + ", deny stops the turn",
		Options: []string{string(editors.DecisionAllow), string(editors.DecisionDeny)}, At: workflow.Now(ctx),
	}
	s.NextApproval++
	s.Approvals = append(s.Approvals, a)
	s.emit(ctx, editors.Event{Type: editors.ApprovalRequested, Approval: &a})
	s.setState(ctx, editors.StatusWaitingApproval, subject+": raise it or stop.", "Allow raises it, deny stops the turn; `sandbox-agent configure --budget` changes it.")
	s.Turn.WaitsSince = workflow.Now(ctx)
	err := workflow.Await(ctx, func() bool { return s.approval(a.ID) < 0 || s.overBudget(ctx) == nil })
	s.Turn.Waited += workflow.Now(ctx).Sub(s.Turn.WaitsSince)
	s.Turn.WaitsSince = time.Time{}
	s.endItem(ctx, id, func(i *editors.Item) { i.Status = editors.ItemCompleted })
	if err != nil {
		return "", err
	}
	if s.approval(a.ID) >= 0 {
		a.Decision, a.DecidedBy = editors.DecisionWithdrawn, "the new budget"
		s.settle(ctx, a)
	}
	s.setState(ctx, editors.StatusRunning, "Going on.")
	if d := s.decided(a.ID); d != nil {
		return d.Decision, nil
	}
	return editors.DecisionWithdrawn, nil
}

// setBudget replaces the budget. What was raised before no longer counts.
func (s *session) setBudget(b editors.Budget) {
	s.Session.Budget, s.Raised = &b, Raised{}
	if b == (editors.Budget{}) {
		s.Session.Budget = nil
	}
	if s.Turn != nil {
		s.Turn.Raised = Raised{}
	}
}

// checkBudget refuses a budget that makes no sense.
func checkBudget(b *editors.Budget) error {
	if b == nil {
		return nil
	}
	for _, n := range []float64{float64(b.TurnCalls), float64(b.TurnTokens), b.TurnCost, float64(b.TurnSeconds), float64(b.Tokens), b.Cost, float64(b.Seconds)} {
		if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
			return refuse(ErrTypeInvalid, "A bound of a budget must be a number that is not negative; leave it out for none.")
		}
	}
	return nil
}

// thousands is n as people write it: 182k, 1.1M.
func thousands(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
