// This file checks the verdict of every mode on every tool, and that remembered rules match nothing but what was allowed.

package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// judge is the verdict where there is no policy and nothing has been remembered.
func judge(mode editors.ApprovalMode, call Call, confined bool) Verdict {
	return Policy{}.Judge(mode, call, confined, nil)
}

// covers tells whether a command is covered by rules alone.
func covers(rules []Rule, call Call) bool {
	return call.Name == execCommand && match(rules, readCommand(call, false))
}

// onlyReads tells whether nothing in the command is more than reading.
func onlyReads(j *judgement) bool {
	_, why := j.concern()
	return why == ""
}

func TestJudge(t *testing.T) {
	command := Call{Name: "exec_command", Arguments: `{"command":"make"}`}
	network := Call{Name: "exec_command", Arguments: `{"command":"make","network":true}`}
	patch := Call{Name: "apply_patch", Arguments: `{"patch":"*** Begin Patch"}`}
	poll := Call{Name: "write_stdin", Arguments: `{"command_id":"c1"}`}
	kill := Call{Name: "write_stdin", Arguments: `{"command_id":"c1","kill":true}`}
	input := Call{Name: "write_stdin", Arguments: `{"command_id":"c1","input":"y\n"}`}
	eof := Call{Name: "write_stdin", Arguments: `{"command_id":"c1","eof":true}`}
	broken := Call{Name: "write_stdin", Arguments: `{"command_id":`}
	read := Call{Name: "read_file", Arguments: `{"path":"a"}`}

	cases := []struct {
		name     string
		mode     editors.ApprovalMode
		call     Call
		confined bool
		want     Decision
	}{
		{"ask reads", editors.ApprovalAsk, read, false, Allow},
		{"ask lists", editors.ApprovalAsk, Call{Name: "list"}, false, Allow},
		{"ask searches", editors.ApprovalAsk, Call{Name: "search"}, false, Allow},
		{"ask polls", editors.ApprovalAsk, poll, false, Allow},
		{"ask kills its own", editors.ApprovalAsk, kill, false, Allow},
		{"ask input", editors.ApprovalAsk, input, false, Ask},
		{"ask eof", editors.ApprovalAsk, eof, false, Ask},
		{"ask broken", editors.ApprovalAsk, broken, false, Ask},
		{"ask command", editors.ApprovalAsk, command, true, Ask},
		{"ask patch", editors.ApprovalAsk, patch, true, Ask},
		{"unset mode asks", "", command, true, Ask},
		{"auto command unconfined", editors.ApprovalAuto, command, false, Ask},
		{"auto input confined", editors.ApprovalAuto, input, true, Allow},
		{"auto input unconfined", editors.ApprovalAuto, input, false, Ask},
		{"auto command confined", editors.ApprovalAuto, command, true, Allow},
		{"auto patch", editors.ApprovalAuto, patch, false, Allow},
		{"auto network confined", editors.ApprovalAuto, network, true, Ask},
		{"auto network unconfined", editors.ApprovalAuto, network, false, Ask},
		{"auto unreadable", editors.ApprovalAuto, Call{Name: "exec_command", Arguments: `{"command":`}, true, Ask},
		{"ask network", editors.ApprovalAsk, network, true, Ask},
		{"never network", editors.ApprovalNever, network, true, Allow},
		{"readOnly network", editors.ApprovalReadOnly, network, true, Deny},
		{"never command", editors.ApprovalNever, command, false, Allow},
		{"never patch", editors.ApprovalNever, patch, false, Allow},
		{"readOnly reads", editors.ApprovalReadOnly, read, false, Allow},
		{"readOnly polls", editors.ApprovalReadOnly, poll, false, Allow},
		{"readOnly input", editors.ApprovalReadOnly, input, false, Deny},
		{"readOnly command", editors.ApprovalReadOnly, command, true, Deny},
		{"readOnly patch", editors.ApprovalReadOnly, patch, true, Deny},
		{"unknown tool", editors.ApprovalNever, Call{Name: "rm"}, true, Deny},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			verdict := judge(c.mode, c.call, c.confined)
			require.Equal(t, c.want, verdict.Decision)
			if c.want != Allow {
				require.NotEmpty(t, verdict.Reason)
			}
		})
	}
	require.Equal(t, "make", judge(editors.ApprovalAsk, command, true).Pattern)
	require.Equal(t, "(with network) make", judge(editors.ApprovalAuto, network, true).Pattern)
	require.Contains(t, judge(editors.ApprovalAuto, network, true).Reason, "network")
	require.Empty(t, judge(editors.ApprovalAsk, patch, true).Pattern, "edits cannot be allowed for always")
}

func TestMatch(t *testing.T) {
	rules := []Rule{
		{Tool: "exec_command", Pattern: "go test ./..."},
		{Tool: "exec_command", Pattern: "(in web) npm test"},
		{Tool: "exec_command", Pattern: ""},
	}
	cases := []struct {
		name      string
		tool      string
		arguments string
		want      bool
	}{
		{"exact", "exec_command", `{"command":"go test ./..."}`, true},
		{"other options do not matter", "exec_command", `{"command":"go test ./...","timeout_ms":5,"workdir":"."}`, true},
		{"with its directory", "exec_command", `{"command":"npm test","workdir":"web"}`, true},
		{"elsewhere", "exec_command", `{"command":"npm test","workdir":"api"}`, false},
		{"with network", "exec_command", `{"command":"go test ./...","network":true}`, false},
		{"longer", "exec_command", `{"command":"go test ./... && rm -rf ."}`, false},
		{"shorter", "exec_command", `{"command":"go test"}`, false},
		{"spaced", "exec_command", `{"command":" go  test ./..."}`, true},
		{"directory spelled in the command", "exec_command", `{"command":"(in web) npm test"}`, false},
		{"empty", "exec_command", `{"command":""}`, false},
		{"broken", "exec_command", `{"command":`, false},
		{"other tool", "write_stdin", `{"command":"go test ./..."}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, covers(rules, Call{Name: c.tool, Arguments: c.arguments}))
		})
	}
}

func TestCommandsThatReadNeedNoApproval(t *testing.T) {
	list := shellCall(t, "ls -la | head")
	for _, mode := range []editors.ApprovalMode{editors.ApprovalAsk, editors.ApprovalAuto, editors.ApprovalNever, editors.ApprovalReadOnly, ""} {
		require.Equal(t, Verdict{Decision: Allow}, judge(mode, list, true), mode)
		require.Equal(t, Verdict{Decision: Allow}, judge(mode, list, false), mode)
	}
	require.False(t, ReadOnly(list), "whoever takes checkpoints relies on no list of programs")

	network := Call{Name: "exec_command", Arguments: `{"command":"ls","network":true}`}
	require.Equal(t, Verdict{Decision: Ask, Reason: "the command needs your approval: it asks for the network", Pattern: "(with network) ls"}, judge(editors.ApprovalAsk, network, true))
	require.Equal(t, Deny, judge(editors.ApprovalReadOnly, network, true).Decision)

	v := judge(editors.ApprovalAsk, shellCall(t, "ls; rm -rf build"), true)
	require.Equal(t, "`rm -rf build` needs your approval: it changes or deletes files", v.Reason)
	v = judge(editors.ApprovalReadOnly, shellCall(t, "ls > f"), true)
	require.Equal(t, "this session is read-only: the command is not allowed, since it writes to a file (`> f`); say what you would do instead", v.Reason)
}

func TestReadingElsewhereNeedsConfinement(t *testing.T) {
	for _, c := range []string{
		"cat ~/.ssh/id_rsa", "cat /etc/passwd", "cat ../x", "ls a/../../b", "cat $HOME/x", `cat "${HOME}/x"`, "grep -r x --include=*.go -f/x /", "cd / && cat etc/passwd", "cd ..; ls",
		"cat < /etc/passwd", "x=/etc/passwd; cat $x", "for f in ~/*; do cat \"$f\"; done", "sh -c 'cat /etc/passwd'", "find / -name x", "grep --file=/etc/passwd x",
	} {
		require.Equal(t, Allow, judge(editors.ApprovalAsk, shellCall(t, c), true).Decision, c)
		v := judge(editors.ApprovalAsk, shellCall(t, c), false)
		require.Equal(t, Ask, v.Decision, c)
		require.Contains(t, v.Reason, "nothing confines it", c)
		require.False(t, covers([]Rule{{Tool: execCommand, Pattern: "make"}}, shellCall(t, "make; "+c)), c)
	}
	within := shellCall(t, "cd /w && cat /w/a 2>/dev/null")
	within.Root = "/w"
	require.Equal(t, Allow, judge(editors.ApprovalAsk, within, false).Decision)
}

func TestWholeCommandsAreJudgedAsBefore(t *testing.T) {
	list := shellCall(t, "ls")
	list.Whole = true
	v := judge(editors.ApprovalAsk, list, true)
	require.Equal(t, Ask, v.Decision)
	require.Equal(t, "ls", v.Pattern)
	require.Equal(t, Deny, judge(editors.ApprovalReadOnly, list, true).Decision)
	require.True(t, covers([]Rule{{Tool: execCommand, Pattern: "ls"}}, list))
	require.False(t, covers([]Rule{{Tool: execCommand, Pattern: "ls *"}}, list))
}

func TestEscalationsSayWhatAndWhy(t *testing.T) {
	cases := []struct {
		mode     editors.ApprovalMode
		call     Call
		confined bool
		want     string
	}{
		{
			editors.ApprovalAuto,
			Call{Name: execCommand, Arguments: `{"command":"npm ci","network":true}`},
			true,
			"the command needs your approval: it asks for the network, which commands do not have by themselves here",
		},
		{
			editors.ApprovalAuto, shellCall(t, "ls; make x"), false,
			"`make x` needs your approval: it is not known to only read, and nothing confines it, so it can do whatever you can",
		},
		{
			editors.ApprovalAsk, shellCall(t, "cat /etc/passwd"), false,
			"the command needs your approval: it reads outside the workspace (`/etc/passwd`), and nothing confines it",
		},
		{
			editors.ApprovalAuto,
			Call{Name: writeStdin, Arguments: `{"command_id":"c","input":"y"}`},
			false,
			"writing to a running command needs your approval: nothing confines it, so it can do whatever you can",
		},
		{
			editors.ApprovalAsk,
			Call{Name: execCommand, Arguments: `{"command":"rm a`, Cut: true},
			true,
			"the command needs your approval: it is too long to be looked into",
		},
		{
			editors.ApprovalAsk,
			Call{Name: execCommand, Arguments: `{"command":"rm a`, Cut: true, Network: true},
			true,
			"the command needs your approval: it asks for the network, and it is too long to be looked into",
		},
	}
	for _, c := range cases {
		v := judge(c.mode, c.call, c.confined)
		require.Equal(t, Ask, v.Decision, c.want)
		require.Equal(t, c.want, v.Reason)
	}
	require.Equal(t, Allow, judge(editors.ApprovalAuto, Call{Name: execCommand, Arguments: `{"comm`, Cut: true}, true).Decision)
	denied := Policy{Deny: []string{"git push *"}}.Judge(editors.ApprovalAuto, Call{Name: execCommand, Arguments: `{"comm`, Cut: true}, true, nil)
	require.Equal(t, Ask, denied.Decision, "a long command may hold what the policy denies")
}

// TestJudgingTakesLittleTime holds the worst that limits allow far under the second that a workflow may take.
func TestJudgingTakesLittleTime(t *testing.T) {
	var p Policy
	var rules []Rule
	for i := range 250 {
		p.Allow, p.Deny = append(p.Allow, fmt.Sprint("make a", i)), append(p.Deny, fmt.Sprint("make d", i, " *"))
		rules = append(rules, Rule{Tool: execCommand, Pattern: fmt.Sprint("make b", i)}, Rule{Tool: execCommand, Pattern: fmt.Sprint("make c", i)})
	}
	rules = append(rules, Rule{Tool: execCommand, Pattern: "make"})
	call := shellCall(t, strings.Repeat("make;", maxJudged/5))
	start := time.Now()
	require.Equal(t, Allow, p.Judge(editors.ApprovalAsk, call, true, rules).Decision)
	took := time.Since(start)
	t.Log(took)
	require.Less(t, took, 500*time.Millisecond)
}

func TestABrokenPolicyAllowsNothing(t *testing.T) {
	p := Policy{Allow: []string{"make"}, Broken: "policy.json:3: it is not JSON"}
	rules := []Rule{{Tool: execCommand, Pattern: "make"}}
	calls := []Call{shellCall(t, "make"), shellCall(t, "ls"), {Name: applyPatch, Arguments: "{}"}, {Name: writeStdin, Arguments: `{"command_id":"c","input":"y"}`}}
	for _, c := range calls {
		for _, mode := range []editors.ApprovalMode{editors.ApprovalAsk, editors.ApprovalAuto, editors.ApprovalNever, ""} {
			v := p.Judge(mode, c, true, rules)
			require.Equal(t, Ask, v.Decision, "%s %s", mode, c.Name)
			require.Contains(t, v.Reason, "policy.json:3")
			require.Empty(t, v.Pattern)
		}
		require.Equal(t, Deny, p.Judge(editors.ApprovalReadOnly, c, true, rules).Decision)
	}
	require.Equal(t, Allow, p.Judge(editors.ApprovalAsk, Call{Name: "read_file"}, true, nil).Decision)
}
