package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestBudgetsAreReadAndShown(t *testing.T) {
	b, err := parseBudget("turn-calls=50, turn-tokens=2000000,turn-cost=$2.5,turn-time=90m,tokens=9,cost=20,time=8h")
	require.NoError(t, err)
	require.Equal(t, &editors.Budget{TurnCalls: 50, TurnTokens: 2_000_000, TurnCost: 2.5, TurnSeconds: 5400, Tokens: 9, Cost: 20, Seconds: 28800}, b)
	require.Equal(t, ", budget turn-calls=50,turn-tokens=2000000,turn-cost=$2.5,turn-time=1h30m0s,tokens=9,cost=$20,time=8h0m0s", budgetOf(editors.Session{Budget: b}))
	b, err = parseBudget("none")
	require.NoError(t, err)
	require.Equal(t, ", no budget", budgetOf(editors.Session{Budget: b}))
	for _, wrong := range []string{"cost", "cost=much", "turn-time=5", "money=1", "cost=1,", "="} {
		_, err := parseBudget(wrong)
		require.ErrorAs(t, err, new(*usageError), wrong)
	}
}

func TestConfigureABudget(t *testing.T) {
	f := newFake()
	require.Equal(t, statusDone, runVerb(t, f, "configure", "--request-id", "r", "s1", "--budget", "cost=20").status)
	require.Equal(t, []editors.ConfigureParams{{RequestID: "r", SessionID: "s1", Budget: &editors.Budget{Cost: 20}}}, f.changed)
	require.Equal(t, statusUsage, runVerb(t, f, "configure", "s1", "--budget", "cost=x").status)
}

func TestABudgetIsAskedAboutInWords(t *testing.T) {
	var out, notes strings.Builder
	p := newTextPrinter(&app{stdout: &out, stderr: &notes}, 0, "")
	require.NoError(t, p.approval(editors.Approval{Tool: editors.BudgetTool, Subject: "The turn has cost $2.00, the budget is $2.00", Reason: "allow raises it"}))
	require.Equal(t, "? May the turn go on beyond its budget?\n    The turn has cost $2.00, the budget is $2.00\n  allow raises it\n", notes.String())
}
