// This file tests what a client without a view of sessions gets to see of a turn.

package lsp

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// turn is a core in which one turn runs, as told by the test.
type turn struct {
	*fakeCore
	t           *testing.T
	e           *editor
	follower    *fakeConn
	snapshot    editors.AttachResult
	answered    chan editors.AnswerApprovalParams
	interrupted chan editors.InterruptParams
	seq         int64
}

const everything = `{"capabilities":{"window":{"workDoneProgress":true,"showDocument":{"support":true}}}}`

// ask starts a turn for a client with the given params of initialize.
func ask(t *testing.T, snapshot editors.AttachResult, initialize, execute string) *turn {
	u := &turn{
		fakeCore: newFakeCore(), t: t, snapshot: snapshot,
		answered: make(chan editors.AnswerApprovalParams, 1), interrupted: make(chan editors.InterruptParams, 1),
	}
	handleAsk(u.fakeCore, make(chan editors.AskParams, 1))
	editors.Handle(&u.mux, editors.Attach, func(_ context.Context, p editors.AttachParams) (editors.AttachResult, error) {
		require.Equal(t, int64(3), *p.AfterSeq)
		return u.snapshot, nil
	})
	editors.Handle(&u.mux, editors.AnswerApproval, func(_ context.Context, p editors.AnswerApprovalParams) (editors.AnswerApprovalResult, error) {
		u.answered <- p
		return editors.AnswerApprovalResult{}, nil
	})
	editors.Handle(&u.mux, editors.Interrupt, func(_ context.Context, p editors.InterruptParams) (editors.InterruptResult, error) {
		u.interrupted <- p
		return editors.InterruptResult{}, nil
	})
	editors.Handle(&u.mux, editors.ReadOutput, func(_ context.Context, p editors.ReadOutputParams) (editors.ReadOutputResult, error) {
		return editors.ReadOutputResult{Data: " the rest", Encoding: "utf8", Offset: p.Offset}, nil
	})
	u.e = serve(t, u.options(t))
	u.e.initialize(initialize)
	<-u.made
	answer := u.e.call("1", "workspace/executeCommand", execute)
	require.Equal(t, 1, decode[editors.AskResult](t, answer.Result).TurnID)
	u.follower = <-u.made
	return u
}

func (u *turn) emit(event editors.Event) {
	u.seq++
	u.follower.sink(editors.EventMessage{SessionID: "s1", Seq: 3 + u.seq, Event: event})
}

func (u *turn) respond(to message, result string) {
	u.e.send(`{"jsonrpc":"2.0","id":` + string(to.ID) + `,"result":` + result + `}`)
}

// progress reads the next progress and returns its kind and message.
func (u *turn) progress(token string) (string, string) {
	u.t.Helper()
	m := u.e.read()
	require.Equal(u.t, "$/progress", m.Method, "%+v", m)
	p := decode[struct {
		Token json.RawMessage
		Value struct{ Kind, Message string }
	}](u.t, m.Params)
	require.Equal(u.t, token, string(p.Token))
	return p.Value.Kind, p.Value.Message
}

func (u *turn) expect(token, kind, message string) {
	u.t.Helper()
	k, m := u.progress(token)
	require.Equal(u.t, kind, k)
	require.Equal(u.t, message, m)
}

func running() editors.AttachResult {
	return editors.AttachResult{
		Session: editors.Session{TurnID: 1},
		State:   editors.State{Status: editors.StatusRunning, Reason: "Waiting for the model"},
	}
}

const askWithToken = `{"command":"sandboxAgent.ask","arguments":[{"text":"hi"}],"workDoneToken":7}`

func TestFollowToTheAnswer(t *testing.T) {
	u := ask(t, running(), everything, askWithToken)
	u.expect("7", "begin", "Working…")
	u.expect("7", "report", "Waiting for the model")
	u.emit(editors.Event{Type: editors.ItemStarted, Item: &editors.Item{TurnID: 1, Kind: editors.ToolCall, Tool: "exec_command", Arguments: `{"cmd":"ls"}`}})
	u.expect("7", "report", `exec_command {"cmd":"ls"}`)
	u.emit(editors.Event{Type: editors.StateChanged, State: &editors.State{Status: editors.StatusRunning, Reason: "Waiting for the model (retry 2 of 5: 429)"}})
	u.expect("7", "report", "Waiting for the model (retry 2 of 5: 429)")
	u.emit(editors.Event{Type: editors.ConnectionChanged, Reason: "no worker is running", Remedy: "Start one."})
	u.expect("7", "report", "Waiting: no worker is running. Start one.")
	u.emit(editors.Event{Type: editors.ConnectionChanged, Connected: true, State: &editors.State{Reason: "Waiting for the model"}})
	u.expect("7", "report", "Waiting for the model")
	u.emit(editors.Event{Type: editors.ItemEnded, Item: &editors.Item{ID: "i9", TurnID: 1, Kind: editors.AgentMessage, Text: "Hello", TextBytes: 14}})
	u.emit(editors.Event{Type: editors.ItemEnded, Item: &editors.Item{ID: "i10", TurnID: 1, Kind: editors.AgentMessage, Status: editors.ItemInterrupted}})
	u.emit(editors.Event{Type: editors.TurnEnded, TurnID: 9, Status: editors.TurnCompleted})
	u.emit(editors.Event{Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnCompleted})
	u.expect("7", "end", "Done")
	show := u.e.read()
	require.Equal(t, "window/showDocument", show.Method)
	link, err := url.Parse(decode[struct{ URI string }](t, show.Params).URI)
	require.NoError(t, err)
	text, err := os.ReadFile(link.Path)
	require.NoError(t, err)
	require.Equal(t, "Hello the rest", string(text))
	info, err := os.Stat(link.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	u.respond(show, `{"success":true}`)
	require.NoError(t, u.e.end())
	require.NoFileExists(t, link.Path)
	require.True(t, u.follower.closed)
}

func TestFollowWithATokenOfOurs(t *testing.T) {
	u := ask(t, running(), everything, `{"command":"sandboxAgent.ask","arguments":[{"text":"hi"}]}`)
	create := u.e.read()
	require.Equal(t, "window/workDoneProgress/create", create.Method)
	token := string(decode[struct{ Token json.RawMessage }](t, create.Params).Token)
	u.respond(create, "null")
	u.expect(token, "begin", "Working…")
	u.expect(token, "report", "Waiting for the model")
	u.e.notify("window/workDoneProgress/cancel", `{"token":`+token+`}`)
	require.Equal(t, editors.InterruptParams{SessionID: "s1", TurnID: 1}, <-u.interrupted)
	u.emit(editors.Event{Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnInterrupted})
	u.expect(token, "end", "Interrupted")
	require.Equal(t, "window/showMessage", u.e.read().Method)
	require.NoError(t, u.e.end())
}

func TestFollowForAClientThatCanDoNothing(t *testing.T) {
	u := ask(t, running(), `{}`, `{"command":"sandboxAgent.ask","arguments":[{"text":"hi"}]}`)
	u.emit(editors.Event{Type: editors.ItemEnded, Item: &editors.Item{TurnID: 1, Kind: editors.AgentMessage, Text: "Hello"}})
	u.emit(editors.Event{Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnCompleted})
	m := u.e.read()
	require.Equal(t, "window/showMessage", m.Method)
	require.JSONEq(t, `{"type":3,"message":"Hello"}`, string(m.Params))
	require.NoError(t, u.e.end())
}

func TestFollowFallsBackToAMessage(t *testing.T) {
	u := ask(t, running(), everything, askWithToken)
	u.emit(editors.Event{Type: editors.ItemEnded, Item: &editors.Item{TurnID: 1, Kind: editors.AgentMessage, Text: "Hello"}})
	u.emit(editors.Event{Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnCompleted})
	u.respond(u.e.until("window/showDocument"), `{"success":false}`)
	require.Contains(t, string(u.e.until("window/showMessage").Params), "Hello")
	require.NoError(t, u.e.end())
}

func TestFollowAFailedTurn(t *testing.T) {
	u := ask(t, running(), everything, askWithToken)
	u.emit(editors.Event{
		Type: editors.TurnEnded, TurnID: 1, Status: editors.TurnFailed, Message: "There is no key.",
		Error: &editors.ErrorData{Code: editors.CodeModelUnavailable, Remedy: "Set OPENAI_API_KEY."},
	})
	require.JSONEq(t, `{"type":1,"message":"There is no key. Set OPENAI_API_KEY."}`, string(u.e.until("window/showMessage").Params))
	require.NoError(t, u.e.end())
}

func TestFollowATurnThatIsOver(t *testing.T) {
	over := editors.AttachResult{
		Session: editors.Session{TurnID: 2},
		Items:   []editors.Item{{TurnID: 1, Kind: editors.AgentMessage, Text: "Long ago"}, {TurnID: 2, Kind: editors.AgentMessage, Text: "Now"}},
	}
	u := ask(t, over, `{}`, askWithToken)
	require.Contains(t, string(u.e.until("window/showMessage").Params), "Long ago")
	require.NoError(t, u.e.end())
}

func TestNoFollowingForAnAttachedClient(t *testing.T) {
	core := newFakeCore()
	handleAsk(core, make(chan editors.AskParams, 1))
	editors.Handle(&core.mux, editors.Attach, func(context.Context, editors.AttachParams) (editors.AttachResult, error) {
		return editors.AttachResult{}, nil
	})
	e := serve(t, core.options(t))
	e.initialize(everything)
	e.call("1", "sandboxAgent/attach", `{"sessionId":"s1"}`)
	require.Nil(t, e.call("2", "workspace/executeCommand", askWithToken).Error)
	require.NoError(t, e.end())
	require.Len(t, core.conns, 1)
}

func TestApprovals(t *testing.T) {
	approval := editors.Approval{
		ID: "a1", TurnID: 1, Tool: "exec_command", Subject: "rm -rf build", Reason: "It deletes files.",
		Options: []string{"allow", "allowAlways", "deny"}, Pattern: "rm -rf build",
	}
	for _, tt := range []struct {
		result string
		want   editors.AnswerApprovalParams
	}{
		{`{"title":"Allow"}`, editors.AnswerApprovalParams{SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllow}},
		{`{"title":"Always"}`, editors.AnswerApprovalParams{SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Pattern: "rm -rf build"}},
		{`{"title":"Deny"}`, editors.AnswerApprovalParams{SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionDeny}},
	} {
		u := ask(t, running(), everything, askWithToken)
		u.emit(editors.Event{Type: editors.ApprovalRequested, Approval: &approval})
		m := u.e.until("window/showMessageRequest")
		require.JSONEq(t, `{"type":2,"message":"The agent asks to run exec_command: rm -rf build\nIt deletes files.\nAlways allows in this session: rm -rf build",
			"actions":[{"title":"Allow"},{"title":"Always"},{"title":"Deny"}]}`, string(m.Params))
		u.respond(m, tt.result)
		require.Equal(t, tt.want, <-u.answered)
		require.NoError(t, u.e.end())
	}
}

func TestAChangeOfFilesIsShownBeforeItIsAllowed(t *testing.T) {
	waiting := running()
	patch := editors.Item{
		ID: "i7", TurnID: 1, Kind: editors.ToolCall, Status: editors.ItemInProgress, Tool: editors.PatchTool,
		Arguments: `{"patch":"-old\n+new"}`,
	}
	waiting.Items = append(waiting.Items, patch)
	waiting.PendingApprovals = []editors.Approval{{ID: "a1", TurnID: 1, ItemID: "i7", Tool: editors.PatchTool, Subject: "change f"}}
	u := ask(t, waiting, everything, askWithToken)
	require.Contains(t, string(u.e.until("window/showMessageRequest").Params), `change f\n-old\n+new`)

	patch.ID, patch.Arguments = "i8", `{"patch":"+more"}`
	u.emit(editors.Event{Type: editors.ItemStarted, Item: &patch})
	u.emit(editors.Event{Type: editors.ApprovalRequested, Approval: &editors.Approval{ID: "a2", TurnID: 1, ItemID: "i8", Tool: editors.PatchTool, Subject: "change f"}})
	require.Contains(t, string(u.e.until("window/showMessageRequest").Params), `change f\n+more`)
	require.NoError(t, u.e.end())
}

func TestApprovalInTheSnapshotThatOthersAnswer(t *testing.T) {
	waiting := running()
	waiting.PendingApprovals = []editors.Approval{
		{ID: "a1", TurnID: 1, Tool: "exec_command", Subject: "make", Options: []string{"allow", "deny"}},
		{ID: "a2", TurnID: 2},
	}
	u := ask(t, waiting, everything, askWithToken)
	m := u.e.until("window/showMessageRequest")
	require.NotContains(t, string(m.Params), "Always")
	u.emit(editors.Event{Type: editors.ApprovalResolved, Approval: &editors.Approval{ID: "a1"}})
	require.JSONEq(t, `{"id":`+string(m.ID)+`}`, string(u.e.until("$/cancelRequest").Params))
	require.NoError(t, u.e.end())
}

func TestApprovalThatTheUserCloses(t *testing.T) {
	waiting := running()
	waiting.PendingApprovals = []editors.Approval{{ID: "a1", TurnID: 1, Tool: "exec_command", Subject: "make"}}
	u := ask(t, waiting, everything, askWithToken)
	u.respond(u.e.until("window/showMessageRequest"), "null")
	require.Contains(t, string(u.e.until("window/showMessage").Params), "sandboxAgent.answerApproval")
	require.NoError(t, u.e.end())
}
