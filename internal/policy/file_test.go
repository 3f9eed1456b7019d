// This file checks the file format of policies, that workspaces only restrict, and what restrictions reach.

package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestParsePolicy(t *testing.T) {
	p, err := ParsePolicy("policy.json", []byte(`{"allow": ["npm test *"], "ask": ["git commit *"], "deny": ["rm *", "git push"]}`))
	require.NoError(t, err)
	require.Equal(t, Policy{Allow: []string{"npm test *"}, Ask: []string{"git commit *"}, Deny: []string{"rm *", "git push"}}, p)
	p, err = ParsePolicy("policy.json", []byte("{}\n"))
	require.NoError(t, err)
	require.Equal(t, Policy{}, p)

	for text, want := range map[string]string{
		"":                              "policy.json:1: the file ends too early",
		"{":                             "policy.json:1: the file ends too early",
		"[]":                            "policy.json:1: the file must hold one JSON object",
		"{}\n{}":                        "policy.json:2: there is more than one JSON object",
		"{\n\"allowed\": []}":           `policy.json:2: there is no key "allowed"`,
		"{\"ask\":[],\n\n\"ask\":[]}":   `policy.json:3: "ask" stands there twice`,
		"{\"ask\":\n\"x\"}":             `policy.json:2: "ask" must be a list of patterns`,
		"{\"ask\":[\n\"ls\",\n3]}":      "policy.json:3: a pattern must be text",
		"{\"allow\":[\n\"sudo x\"]}":    "policy.json:2: `sudo x` cannot be allowed",
		"{\"allow\":[\n\"rm *\"]}":      "policy.json:2: `rm *` cannot be allowed",
		"{\"deny\":[\n\n\"a; b\"]}":     "policy.json:3: `a; b` is no pattern",
		"{\"deny\":[\"(in x) ls\"]}":    "policy.json:1: `(in x) ls` begins with a condition",
		"{\"deny\":[\"\"]}":             "policy.json:1: `` is no pattern: it is empty",
		"{\"ask\": [\"ls\",\n]}":        "policy.json:",
		"{\n\n# x\n\"ask\": []}":        "it is not JSON",
		strings.Repeat(" ", 257<<10):    "the file has more than 256 KiB",
		`{"ask":["` + many(501) + `"]}`: "there are more than 500 patterns",
	} {
		_, err := ParsePolicy("policy.json", []byte(text))
		require.ErrorContains(t, err, want, "%.40q", text)
	}
}

func many(n int) string {
	patterns := make([]string, n)
	for i := range patterns {
		patterns[i] = fmt.Sprintf("p%d", i)
	}
	return strings.Join(patterns, `","`)
}

func TestAWorkspaceOnlyRestricts(t *testing.T) {
	user := Policy{Allow: []string{"make"}, Ask: []string{"a"}, Deny: []string{"b"}}
	merged, notices := Merge(user, Policy{Allow: []string{"npm test *"}, Ask: []string{"c"}, Deny: []string{"d"}})
	require.Equal(t, Policy{Allow: []string{"make"}, Ask: []string{"a", "c"}, Deny: []string{"b", "d"}}, merged)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "npm test *")
	merged, notices = Merge(user, Policy{Deny: []string{"make"}})
	require.Empty(t, notices)
	require.Equal(t, Deny, merged.Judge(editors.ApprovalAsk, shellCall(t, "make"), true, nil).Decision)
	require.Equal(t, []string{"b"}, user.Deny)
}

func TestPoliciesAreObeyed(t *testing.T) {
	p := Policy{Allow: []string{"make", "npm test *", "git commit x"}, Ask: []string{"git commit *", "cat secret"}, Deny: []string{"git push *", "rm -rf *"}}
	rules := []Rule{{Tool: execCommand, Pattern: "git commit -m x"}, {Tool: execCommand, Pattern: "git push"}}
	cases := []struct {
		mode    editors.ApprovalMode
		command string
		want    Decision
	}{
		{editors.ApprovalAsk, "make", Allow},
		{editors.ApprovalAsk, "make && npm test a | tail", Allow},
		{editors.ApprovalReadOnly, "make", Deny},
		{editors.ApprovalAsk, "make x", Ask},
		{editors.ApprovalAsk, "git commit x", Ask},
		{editors.ApprovalAsk, "git commit -m x", Ask},
		{editors.ApprovalAuto, "git commit", Ask},
		{editors.ApprovalNever, "git commit", Allow},
		{editors.ApprovalAuto, "git status", Allow},
		{editors.ApprovalAsk, "cat secret", Ask},
		{editors.ApprovalReadOnly, "cat secret", Deny},
		{editors.ApprovalAsk, "cat other", Allow},
		{editors.ApprovalAuto, `cat "$x"`, Ask},
		{editors.ApprovalAsk, "git push", Deny},
		{editors.ApprovalNever, "git push", Deny},
		{editors.ApprovalNever, "ls; git -C x -c a=b push --force", Deny},
		{editors.ApprovalNever, "/usr/bin/git push", Deny},
		{editors.ApprovalNever, "sh -c 'git push'", Deny},
		{editors.ApprovalNever, "timeout 5 git push", Deny},
		{editors.ApprovalNever, "ls | xargs git push", Deny},
		{editors.ApprovalNever, "echo $(git push)", Deny},
		{editors.ApprovalNever, "g\\it 'push'", Deny},
		{editors.ApprovalNever, "git $x", Deny},
		{editors.ApprovalNever, "$x push", Deny},
		{editors.ApprovalNever, "sudo git push", Deny},
		{editors.ApprovalNever, "eval \"$x\"", Deny},
		{editors.ApprovalNever, "f() { x; }", Deny},
		{editors.ApprovalNever, "ls '", Deny},
		{editors.ApprovalNever, "git pull", Allow},
		{editors.ApprovalNever, "git pu\"$x\"", Deny},
		{editors.ApprovalNever, "rm x", Allow},
		{editors.ApprovalNever, "rm -rf x", Deny},
		{editors.ApprovalNever, "rm $x", Deny},
		{editors.ApprovalAuto, "git $x", Ask},
		{editors.ApprovalAuto, "make", Allow},
		{editors.ApprovalAuto, "cargo run", Allow},
	}
	for _, c := range cases {
		v := p.Judge(c.mode, shellCall(t, c.command), true, rules)
		require.Equal(t, c.want, v.Decision, "%s: %s", c.mode, c.command)
		if c.want != Allow {
			require.NotEmpty(t, v.Reason)
		}
	}
	require.Empty(t, p.Judge(editors.ApprovalAsk, shellCall(t, "git commit"), true, nil).Pattern, "a rule would not help")
	require.Equal(t, Ask, Policy{Deny: []string{"a; b"}}.Judge(editors.ApprovalAuto, shellCall(t, "make"), true, nil).Decision, "an unreadable list restricts")
	require.Equal(t, Allow, p.Judge(editors.ApprovalAsk, shellCall(t, "make"), true, nil).Decision)
}
