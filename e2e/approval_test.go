package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
	"sandboxagent/internal/policy/store"
)

// runs answers a message that contains part with one tool call after the other, then with text.
func runs(part, text string, commands ...string) []modeltest.Rule {
	var out []modeltest.Rule
	for k, command := range commands {
		arguments, _ := json.Marshal(map[string]string{"command": command})
		out = append(out, modeltest.Rule{
			Match:   modeltest.Match{LastUser: part, Step: n(k)},
			Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{{Name: "exec_command", Arguments: arguments}}},
		})
	}
	return append(out, modeltest.Rule{Match: modeltest.Match{LastUser: part, Step: n(len(commands))}, Respond: modeltest.Answer{Text: text}})
}

// asked starts a turn in mode ask and waits for its question.
func (i *install) asked(text string) editors.EventMessage {
	i.Helper()
	s := i.start("ask", "--workspace", i.work, "--approve", "ask", text)
	e := s.until("the question", isType(editors.ApprovalRequested))
	require.Equal(i, 3, s.wait(), s.describe())
	return e
}

func (i *install) pending(session string) []editors.Approval {
	i.Helper()
	var out struct {
		PendingApprovals []editors.Approval `json:"pendingApprovals"`
	}
	i.ok(&out, "approve", "--show", session)
	return out.PendingApprovals
}

func TestAnApprovalOutlivesEverybodyWhoKnewOfIt(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(runs("log", "Logged.", "echo once >> log")))
	e := i.editor(`{}`)
	var asked editors.AskResult
	e.call("sandboxAgent/ask", `{"text":"log it"}`, &asked)
	i.eventually("the question", func() bool { return len(i.pending(asked.SessionID)) == 1 })
	require.NoError(t, e.cmd.Process.Kill())
	temporal := temporalPID(i)
	kill(i, i.workerInfo().PID)
	kill(i, temporal)

	var first editors.AnswerApprovalResult
	follow := i.start("attach", asked.SessionID)
	again := follow.until("the question", isType(editors.ApprovalRequested)).Event.Approval
	require.Contains(t, again.Subject, "echo once")
	require.NoFileExists(t, filepath.Join(i.work, "log"))
	i.ok(&first, "approve", asked.SessionID, again.ID)
	require.False(t, first.Already)
	follow.until("the end", endOf(1))
	require.Equal(t, "once\n", i.read("log"))

	kill(i, i.workerInfo().PID)
	late := i.editor(`{}`)
	var answer editors.AnswerApprovalResult
	late.call("sandboxAgent/answerApproval", fmt.Sprintf(`{"sessionId":%q,"approvalId":%q,"decision":"deny"}`, asked.SessionID, again.ID), &answer)
	require.True(t, answer.Already)
	require.Equal(t, editors.DecisionAllow, answer.Decision)
	require.Equal(t, "terminal", answer.DecidedBy)
	require.Equal(t, "once\n", i.read("log"), "it ran once")
}

func TestOfTwoAnswersAtOnceOneCounts(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(runs("log", "Done.", "echo once >> log")))
	question := i.asked("log it")
	one, two := i.start("attach", question.SessionID), i.start("attach", question.SessionID)
	one.until("its snapshot", isType(editors.ApprovalRequested))
	two.until("its snapshot", isType(editors.ApprovalRequested))
	var answers [2]editors.AnswerApprovalResult
	var answering sync.WaitGroup
	for k, flag := range []string{"--always", "--deny"} {
		answering.Go(func() { i.ok(&answers[k], "approve", flag, question.SessionID, question.Event.Approval.ID) })
	}
	answering.Wait()
	require.NotEqual(t, answers[0].Already, answers[1].Already, "one wins")
	require.Equal(t, answers[0].Decision, answers[1].Decision, "both learn which")
	for _, s := range []*stream{one, two} {
		resolved := s.until("the answer", isType(editors.ApprovalResolved)).Event.Approval
		require.Equal(t, answers[0].Decision, resolved.Decision)
		s.until("the end", endOf(1))
	}
	_, err := os.Stat(filepath.Join(i.work, "log"))
	require.Equal(t, answers[0].Decision == editors.DecisionAllowAlways, err == nil)
}

func TestAnEditedPatternAllowsWhatItShows(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		runs("build", "Built.", "./build.sh one", "./build.sh two", "./build.sh three; touch other"),
		runs("more", "More.", "./build.sh four"),
	))
	i.write("build.sh", "#!/bin/sh\necho $1 >> built\n")
	require.NoError(t, os.Chmod(filepath.Join(i.work, "build.sh"), 0o755))
	session := i.asked("build").SessionID
	out, _, status := i.run("approve", "--always", "--pattern", "rm *", "--json", session)
	require.Equal(t, 1, status)
	require.Contains(t, out, `"invalidParams"`)
	require.Contains(t, out, "could reach, change or delete anything")

	follow := i.start("attach", session)
	var answer editors.AnswerApprovalResult
	i.ok(&answer, "approve", "--always", "--pattern", "./build.sh *", "--workspace", session)
	require.Equal(t, "./build.sh *", answer.Pattern)
	second := follow.until("the second question", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ApprovalRequested && e.Event.Approval.ID != answer.ApprovalID
	}).Event.Approval
	require.Contains(t, second.Subject, "touch other", "a compound with something else still asks")
	require.Equal(t, "one\ntwo\n", i.read("built"))
	i.ok(nil, "approve", "--deny", "--feedback", "leave other alone", session)
	follow.until("the end", endOf(1))

	var listed editors.RulesResult
	i.ok(&listed, "rules", "--workspace", i.work)
	require.Len(t, listed.Rules, 1)
	require.Equal(t, "./build.sh *", listed.Rules[0].Pattern)
	require.NoFileExists(t, filepath.Join(i.work, ".sandbox-agent"), "nothing is put into the folder")
	s := i.start("ask", "--workspace", i.work, "--new", "more")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, "one\ntwo\nfour\n", i.read("built"), "another session of the folder knows")

	i.ok(&listed, "rules", "--workspace", i.work, "--remove", "./build.sh *")
	s = i.start("ask", "--workspace", i.work, "--new", "more")
	require.Equal(t, 3, s.wait(), "taken back, it is asked about again: "+s.describe())
}

func TestAWorkspaceOnlyRestricts(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(runs("go", "Went.", "touch hostile", "./mine.sh", "rm .sandbox-agent/policy.json", "./forbidden.sh")))
	i.write(store.WorkspaceFile, `{"allow": ["touch hostile", "rm .sandbox-agent/policy.json"], "deny": ["forbidden.sh"]}`)
	for _, name := range []string{"mine.sh", "forbidden.sh"} {
		i.write(name, "#!/bin/sh\ntouch ran-$(basename $0)\n")
		require.NoError(t, os.Chmod(filepath.Join(i.work, name), 0o755))
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(i.paths.PolicyFile), 0o700))
	require.NoError(t, os.WriteFile(i.paths.PolicyFile, []byte(`{"allow": ["./mine.sh"]}`), 0o600))

	question := i.asked("go")
	require.Equal(t, "touch hostile", question.Event.Approval.Subject, "what the workspace allows is asked about")
	follow := i.start("attach", question.SessionID)
	i.ok(nil, "approve", question.SessionID)
	next := follow.until("the next question", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ApprovalRequested && strings.HasPrefix(e.Event.Approval.Subject, "rm ")
	})
	require.FileExists(t, filepath.Join(i.work, "ran-mine.sh"), "what the user allows runs")
	i.ok(nil, "approve", question.SessionID, next.Event.Approval.ID)
	follow.until("the end", endOf(1))
	require.NoFileExists(t, filepath.Join(i.work, "ran-forbidden.sh"), "what was denied when the turn began stays so until it ends")
	notices := 0
	for _, e := range follow.durable() {
		if e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.Notice && strings.Contains(e.Event.Item.Text, "does not count") {
			notices++
		}
	}
	require.Equal(t, 1, notices)
}

func TestABrokenPolicyIsToldAndAllowsNothing(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(runs("look", "Seen.", "ls")))
	require.NoError(t, os.MkdirAll(filepath.Dir(i.paths.PolicyFile), 0o700))
	require.NoError(t, os.WriteFile(i.paths.PolicyFile, []byte("{\n\"alow\": []}"), 0o600))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "look")
	asked := s.until("the question", isType(editors.ApprovalRequested)).Event.Approval
	require.Contains(t, asked.Reason, i.paths.PolicyFile+":2: there is no key")
	require.Equal(t, 3, s.wait())
	var report editors.DoctorResult
	out, _, _ := i.run("doctor", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	var found []string
	for _, c := range report.Checks {
		if c.Name == "policy" {
			found = append(found, c.Status+" "+c.Detail)
		}
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0], "error "+i.paths.PolicyFile+":2:")
}

func TestAnotherModeDecidesWhatIsPending(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(runs("write", "Written.", "echo x > file")))
	question := i.asked("write")
	follow := i.start("attach", question.SessionID)
	follow.until("its snapshot", isType(editors.ApprovalRequested))
	i.ok(nil, "configure", question.SessionID, "--approve", "auto")
	resolved := follow.until("the answer", isType(editors.ApprovalResolved)).Event.Approval
	require.Equal(t, "mode", resolved.DecidedBy)
	follow.until("the end", endOf(1))
	require.Equal(t, "x\n", i.read("file"))
}
