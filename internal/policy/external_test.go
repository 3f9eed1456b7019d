package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// external is a call of a tool whose server claims that it only reads.
func external(name string) Call {
	return Call{Name: name, Arguments: `{"command":"ls"}`, External: &External{Server: "git_hub", ReadOnly: true}}
}

func TestJudgeToolsOfServers(t *testing.T) {
	get, put := external("mcp__git_hub__get"), external("mcp__git_hub__put")
	rule := func(pattern string) []Rule { return []Rule{{Tool: "mcp__git_hub__other", Pattern: pattern}} }
	for name, c := range map[string]struct {
		mode   editors.ApprovalMode
		policy Policy
		rules  []Rule
		call   Call
		want   Decision
	}{
		"ask":                           {mode: editors.ApprovalAsk, call: get, want: Ask},
		"auto, confined or not":         {mode: editors.ApprovalAuto, call: get, want: Ask},
		"never":                         {mode: editors.ApprovalNever, call: put, want: Allow},
		"readOnly believes nobody":      {mode: editors.ApprovalReadOnly, call: get, want: Deny},
		"readOnly, allowed":             {mode: editors.ApprovalReadOnly, call: get, rules: rule("mcp__git_hub__*"), want: Deny},
		"unknown mode":                  {mode: "other", call: get, want: Ask},
		"rule":                          {mode: editors.ApprovalAsk, call: get, rules: rule("mcp__git_hub__get"), want: Allow},
		"rule of a server":              {mode: editors.ApprovalAuto, call: get, rules: rule("mcp__git_hub__*"), want: Allow},
		"rule with a beginning":         {mode: editors.ApprovalAsk, call: get, rules: rule("mcp__git_hub__g*"), want: Allow},
		"rule of another tool":          {mode: editors.ApprovalAsk, call: put, rules: rule("mcp__git_hub__g*"), want: Ask},
		"rule of another server":        {mode: editors.ApprovalAsk, call: get, rules: rule("mcp__git__*"), want: Ask},
		"rule of a command":             {mode: editors.ApprovalAsk, call: get, rules: []Rule{{Tool: execCommand, Pattern: "mcp__git_hub__*"}}, want: Ask},
		"policy allows":                 {mode: editors.ApprovalAsk, call: get, policy: Policy{Allow: []string{"ls", "mcp__git_hub__*"}}, want: Allow},
		"policy asks":                   {mode: editors.ApprovalAuto, call: get, policy: Policy{Ask: []string{"mcp__git_hub__get"}}, rules: rule("mcp__git_hub__*"), want: Ask},
		"policy asks, never":            {mode: editors.ApprovalNever, call: get, policy: Policy{Ask: []string{"mcp__*"}}, want: Allow},
		"policy denies":                 {mode: editors.ApprovalNever, call: get, policy: Policy{Deny: []string{"mcp__git_hub__*"}}, rules: rule("mcp__git_hub__*"), want: Deny},
		"policy denies all":             {mode: editors.ApprovalNever, call: get, policy: Policy{Deny: []string{"mcp__*"}}, want: Deny},
		"broken policy":                 {mode: editors.ApprovalNever, call: get, policy: Policy{Broken: "x"}, rules: rule("mcp__git_hub__*"), want: Ask},
		"a name that was not offered":   {mode: editors.ApprovalNever, call: Call{Name: "mcp__git_hub__get"}, want: Deny},
		"a name of ours is not another": {mode: editors.ApprovalNever, call: external(execCommand), want: Deny},
		"commands beside":               {mode: editors.ApprovalAsk, call: Call{Name: execCommand, Arguments: `{"command":"ls"}`}, policy: Policy{Deny: []string{"mcp__*"}, Ask: []string{"mcp__a__*"}}, want: Allow},
	} {
		v := c.policy.Judge(c.mode, c.call, true, c.rules)
		require.Equal(t, c.want, v.Decision, "%s: %s", name, v.Reason)
	}
	v := judge(editors.ApprovalAsk, get, true)
	require.Equal(t, "mcp__git_hub__get", v.Pattern)
	require.Contains(t, v.Reason, "calling get of the MCP server git_hub needs your approval")
	require.Contains(t, v.Reason, "which nobody has checked")
	require.False(t, ReadOnly(get))
}

func TestPatternsForToolsOfServers(t *testing.T) {
	for _, good := range []string{"mcp__a__b", "mcp__a_b__*", "mcp__a__get_*"} {
		require.NoError(t, CheckPattern("mcp__a__b", good), good)
		_, err := ParsePolicy("f", []byte(`{"allow":["`+good+`"],"ask":["`+good+`"],"deny":["`+good+`"]}`))
		require.NoError(t, err, good)
	}
	for _, bad := range []string{"", "ls", "*", "mcp__*", "mcp__a*", "mcp__a__", "mcp__a__*b", "mcp__a__b c", "(with network) mcp__a__b"} {
		require.Error(t, CheckPattern("mcp__a__b", bad), bad)
	}
	for _, bad := range []string{"mcp__*", "mcp__a*"} {
		_, err := ParsePolicy("f", []byte(`{"allow":["`+bad+`"]}`))
		require.ErrorContains(t, err, "f:1: ", bad)
	}
	require.NoError(t, CheckPattern(execCommand, "npm test *"))
	require.Error(t, CheckPattern(execCommand, "rm *"))
}
