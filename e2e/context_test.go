// These tests are of what the agent sees besides the question: what the workspace says to agents, and what the editor has.

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// requested returns what the model was sent, call by call.
func (i *install) requested() []string {
	var bodies []string
	for _, r := range i.model.Requests() {
		if strings.Contains(string(r.Body), `"exec_command"`) { // others make titles
			bodies = append(bodies, string(r.Body))
		}
	}
	return bodies
}

func TestTheAgentFollowsTheWorkspacesInstructions(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("look", "read_file", `{"path":"sub/a.txt"}`, "Looked."), modeltest.Rule{
		Match: modeltest.Match{LastUser: "again", Step: n(0)}, Respond: modeltest.Answer{Text: "Again."},
	}, modeltest.Rule{
		Match: modeltest.Match{LastUser: "sub rules"}, Respond: modeltest.Answer{Text: "With the rules of sub."},
	}))
	i.write("AGENTS.md", "root rules")
	i.write("sub/AGENTS.md", "sub rules")
	i.write("sub/a.txt", "hi\n")
	i.write(".agents/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: how to deploy\n---\nThe body.\n")
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "look")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, []string{"With the rules of sub."}, answers(s.durable()))
	sent := i.requested()
	require.Contains(t, sent[0], "root rules")
	require.Contains(t, sent[0], "deploy: how to deploy")
	require.NotContains(t, sent[0], "The body.")
	require.NotContains(t, sent[0], "sub rules")
	require.Contains(t, sent[1], "sub rules")

	s = i.start("ask", "--workspace", i.work, "again")
	require.Zero(t, s.wait(), s.describe())
	sent = i.requested()
	require.Equal(t, 1, strings.Count(sent[len(sent)-1], "root rules"))
}

func TestInstructionsInAContainer(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(say("hello", "Hello.")))
	i.write("AGENTS.md", "root rules")
	s := i.start("ask", "--workspace", i.work, "--backend", "docker", "hello")
	require.Zero(t, s.wait(), s.describe())
	require.Contains(t, i.requested()[0], "root rules")
}

// steps answers a message that contains part with one call after the other, then with what the last one gave.
func steps(part string, calls ...modeltest.ToolCall) []modeltest.Rule {
	var all []modeltest.Rule
	for s, c := range calls {
		all = append(all, modeltest.Rule{Match: modeltest.Match{LastUser: part, Step: n(s)}, Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{c}}})
	}
	return append(all, modeltest.Rule{Match: modeltest.Match{LastUser: part, Step: n(len(calls))}, Respond: modeltest.Answer{Text: "{{lastToolResult}}"}})
}

func TestWhatTheUserChangedMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(steps("change it",
		modeltest.ToolCall{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)},
		modeltest.ToolCall{Name: "exec_command", Arguments: json.RawMessage(`{"command":"touch waiting; until [ -e go ]; do sleep 0.05; done"}`)},
		modeltest.ToolCall{Name: "apply_patch", Arguments: json.RawMessage(`{"patch":"*** Update File: a.txt\n one\n-two\n+2\n"}`)},
	)))
	i.write("a.txt", "one\ntwo\n")
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "change it")
	i.eventually("the agent waits", func() bool { _, err := os.Stat(i.work + "/waiting"); return err == nil })
	i.write("a.txt", "one\nzwei\n")
	i.write("go", "")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, "one\nzwei\n", i.read("a.txt"))
	require.Contains(t, answers(s.durable())[0], "was changed since you last saw it")
	require.Contains(t, answers(s.durable())[0], "     2\tzwei\n", "it is shown what is there")
}

// typing opens a file in the editor and replaces its text without saving it.
func (e *editor) typing(name, before, after string) {
	e.Helper()
	uri := "file://" + e.work + "/" + name
	text := func(s string) string {
		quoted, err := json.Marshal(s)
		require.NoError(e, err)
		return string(quoted)
	}
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"` + uri + `","languageId":"text","version":1,"text":` + text(before) + `}}}`)
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"` + uri + `","version":2},"contentChanges":[{"text":` + text(after) + `}]}}`)
}

// begin makes a session and attaches the editor to it.
func (e *editor) begin(params string) (session string) {
	e.Helper()
	var made editors.SessionResult
	e.call("sandboxAgent/new", params, &made)
	e.call("sandboxAgent/attach", `{"sessionId":"`+made.Session.ID+`","afterSeq":0}`, nil)
	return made.Session.ID
}

// askFrom asks from an editor and returns the final answer.
func (e *editor) askFrom(session, text string) string {
	e.Helper()
	var asked editors.AskResult
	e.call("sandboxAgent/ask", `{"sessionId":"`+session+`","text":"`+text+`"}`, &asked)
	e.untilEvent("the end", endOf(asked.TurnID))
	all := answers(e.durable())
	require.NotEmpty(e, all)
	return all[len(all)-1]
}

var quoteAndEdit = rules(
	steps("quote it", modeltest.ToolCall{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)}),
	steps("change it", modeltest.ToolCall{Name: "apply_patch", Arguments: json.RawMessage(`{"patch":"*** Update File: a.txt\n-rest\n+mine\n"}`)}),
)

func TestTheAgentReadsWhatIsNotSavedAndDoesNotWriteUnderIt(t *testing.T) {
	t.Parallel()
	i := newInstall(t, quoteAndEdit)
	i.write("a.txt", "saved\nrest\n")
	e := i.editor("{}")
	session := e.begin(`{"approvalMode":"never"}`)
	e.typing("a.txt", "saved\nrest\n", "typed\nrest\n")
	require.Equal(t, "     1\ttyped\n     2\trest\n(2 lines; unsaved in the editor)\n", e.askFrom(session, "quote it"))
	require.Contains(t, e.askFrom(session, "change it"), "a.txt: this file has unsaved changes in the user's editor, so nothing was written")
	require.Equal(t, "saved\nrest\n", i.read("a.txt"))

	i.write("a.txt", "typed\nrest\n")
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didSave","params":{"textDocument":{"uri":"file://` + i.work + `/a.txt"}}}`)
	e.askFrom(session, "change it")
	require.Equal(t, "typed\nmine\n", i.read("a.txt"))
}

func TestTheAgentInAContainerReadsAndChangesWhatIsNotSaved(t *testing.T) {
	t.Parallel()
	i := inContainers(t, quoteAndEdit)
	i.write("a.txt", "saved\nrest\n")
	e := i.editor("{}")
	session := e.begin(`{"approvalMode":"never","backend":{"kind":"docker"}}`)
	e.typing("a.txt", "saved\nrest\n", "typed\nrest\n")
	require.Contains(t, e.askFrom(session, "quote it"), "     1\ttyped\n")
	e.askFrom(session, "change it")
	require.Equal(t, "typed\nmine\n", i.inside(session, "cat /workspace/a.txt"))
	require.Equal(t, "saved\nrest\n", i.read("a.txt"))
}

func TestTheAgentChangesWhatIsNotSavedThroughTheEditor(t *testing.T) {
	t.Parallel()
	i := newInstall(t, quoteAndEdit)
	i.write("a.txt", "saved\nrest\n")
	e := i.editor(`{"workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true}}}`)
	session := e.begin(`{"approvalMode":"never"}`)
	e.typing("a.txt", "saved\nrest\n", "typed\nrest\n")
	e.send(`{"jsonrpc":"2.0","id":"ask","method":"sandboxAgent/ask","params":{"sessionId":"` + session + `","text":"change it"}}`)
	edit := e.until("the change", func(m message) bool { return m.Method == "workspace/applyEdit" })
	require.Contains(t, string(edit.Params), `"version":2`)
	require.Contains(t, string(edit.Params), `"newText":"mine\n"`)
	e.send(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file://` + i.work + `/a.txt","version":3},"contentChanges":[{"text":"typed\nmine\n"}]}}`)
	e.send(`{"jsonrpc":"2.0","id":` + string(edit.ID) + `,"result":{"applied":true}}`)
	e.untilEvent("the end", endOf(1))
	require.Contains(t, answers(e.durable())[0], "The change was made in the user's editor")
	require.Equal(t, "saved\nrest\n", i.read("a.txt"), "the user saves")
	require.Equal(t, "     1\ttyped\n     2\tmine\n(2 lines; unsaved in the editor)\n", e.askFrom(session, "quote it"))
}

func TestTheAgentsChangeMeetsTextTypedInAnotherEditorAfterTheQuestion(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(run("prepare", `printf 'saved\nmiddle\nrest\n' > a.txt`, "Prepared."), steps("change it",
		modeltest.ToolCall{Name: "exec_command", Arguments: json.RawMessage(`{"command":"touch waiting; until [ -e go ]; do sleep 0.05; done"}`)},
		modeltest.ToolCall{Name: "apply_patch", Arguments: json.RawMessage(`{"patch":"*** Update File: a.txt\n-rest\n+mine\n"}`)},
		modeltest.ToolCall{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)},
	), steps("change again",
		modeltest.ToolCall{Name: "apply_patch", Arguments: json.RawMessage(`{"patch":"*** Update File: a.txt\n-mine\n+yours\n"}`)},
	)))
	i.write("a.txt", "older\n")
	idle := i.session()
	i.done(idle, "prepare")
	var older editors.CheckpointsResult
	i.ok(&older, "checkpoints", idle)
	asker := i.editor("{}")
	session := asker.begin(`{"approvalMode":"never"}`)
	asker.send(`{"jsonrpc":"2.0","id":"ask","method":"sandboxAgent/ask","params":{"sessionId":"` + session + `","text":"change it"}}`)
	i.eventually("the agent waits", func() bool { _, err := os.Stat(i.work + "/waiting"); return err == nil })

	other := i.editor(`{"workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true}}}`)
	other.typing("a.txt", "saved\nmiddle\nrest\n", "typed\nmiddle\nrest\n")
	i.eventually("the worker knows", func() bool {
		var plan editors.RestoreResult
		i.ok(&plan, "restore", "--dry-run", idle, older.Checkpoints[0].ID)
		return strings.Contains(plan.Reasons["a.txt"], "unsaved")
	})
	i.write("go", "")
	edit := other.until("the change", func(m message) bool { return m.Method == "workspace/applyEdit" })
	require.Contains(t, string(edit.Params), `"version":2`)
	require.Contains(t, string(edit.Params), `"newText":"mine\n"`)
	other.send(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file://` + i.work + `/a.txt","version":3},"contentChanges":[{"text":"typed\nmiddle\nmine\n"}]}}`)
	other.send(`{"jsonrpc":"2.0","id":` + string(edit.ID) + `,"result":{"applied":true}}`)
	asker.untilEvent("the end", endOf(1))
	require.Equal(t, []string{"     1\ttyped\n     2\tmiddle\n     3\tmine\n(3 lines; unsaved in the editor)\n"}, answers(asker.durable()))
	require.Equal(t, "saved\nmiddle\nrest\n", i.read("a.txt"), "the user saves")

	other.send(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file://` + i.work + `/a.txt","version":4},"contentChanges":[{"text":"typed\nmiddle\nMINE\n"}]}}`)
	other.call("sandboxAgent/sessions", `{}`, nil) // the server knows it then
	require.Contains(t, asker.askFrom(session, "change again"), "the user has changed the same lines meanwhile")
	require.Equal(t, "saved\nmiddle\nrest\n", i.read("a.txt"))
	other.call("sandboxAgent/sessions", `{}`, nil)
	require.Len(t, other.requests, 1, "the editor was asked for no second change")
}
