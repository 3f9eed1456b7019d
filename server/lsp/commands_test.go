// This file tests commands: dispatch, errors, cancellation, order and what is added to their params.

package lsp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func handleSessions(core *fakeCore, sessions ...editors.Session) {
	editors.Handle(&core.mux, editors.Sessions, func(context.Context, editors.SessionsParams) (editors.SessionsResult, error) {
		return editors.SessionsResult{Sessions: sessions}, nil
	})
}

func handleAsk(core *fakeCore, asked chan<- editors.AskParams) {
	editors.Handle(&core.mux, editors.Ask, func(_ context.Context, p editors.AskParams) (editors.AskResult, error) {
		asked <- p
		return editors.AskResult{SessionID: "s1", TurnID: 1, ItemID: "i1", Seq: 3}, nil
	})
}

func TestExecuteCommand(t *testing.T) {
	core := newFakeCore()
	handleSessions(core)
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	for _, params := range []string{`{"command":"sandboxAgent.sessions","arguments":[{"limit":1}]}`, `{"command":"sandboxAgent.sessions"}`} {
		require.JSONEq(t, `{"sessions":[]}`, string(e.call("1", "workspace/executeCommand", params).Result))
	}
	require.NoError(t, e.end())
}

func TestErrorsOfCommands(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		data editors.ErrorData
	}{
		{
			editors.Errorf(editors.CodeTemporalUnavailable, "Temporal does not answer.").WithRemedy("Start it."), -32803,
			editors.ErrorData{Code: editors.CodeTemporalUnavailable, Remedy: "Start it.", Retryable: true},
		},
		{editors.Errorf(editors.CodeInvalidParams, "No."), -32602, editors.ErrorData{Code: editors.CodeInvalidParams}},
		{fmt.Errorf("wrapped: %w", editors.Errorf(editors.CodeNotFound, "No.")), -32803, editors.ErrorData{Code: editors.CodeNotFound}},
		{errors.New("odd"), -32603, editors.ErrorData{Code: editors.CodeInternal}},
	} {
		core := newFakeCore()
		editors.Handle(&core.mux, editors.Doctor, func(context.Context, editors.Empty) (editors.DoctorResult, error) {
			return editors.DoctorResult{}, tt.err
		})
		e := serve(t, core.options(t))
		e.initialize(`{}`)
		m := e.call("1", "sandboxAgent/doctor", "{}")
		require.Equal(t, tt.code, m.Error.Code)
		require.Equal(t, tt.data, m.Error.Data)
		require.NoError(t, e.end())
	}
}

func TestPanicIsAnError(t *testing.T) {
	core := newFakeCore()
	editors.Handle(&core.mux, editors.Doctor, func(context.Context, editors.Empty) (editors.DoctorResult, error) { panic("oops") })
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	require.Equal(t, -32603, e.call("1", "sandboxAgent/doctor", "{}").Error.Code)
	require.NoError(t, e.end())
}

func TestCancel(t *testing.T) {
	core, started := newFakeCore(), make(chan struct{}, 2)
	handleSessions(core)
	editors.Handle(&core.mux, editors.Doctor, func(ctx context.Context, _ editors.Empty) (editors.DoctorResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		return editors.DoctorResult{}, ctx.Err()
	})
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	e.send(request(`"a"`, "sandboxAgent/doctor", "{}"))
	<-started
	require.Nil(t, e.call("2", "sandboxAgent/sessions", "{}").Error, "others run beside it")
	require.Equal(t, -32600, e.call(`"a"`, "sandboxAgent/sessions", "{}").Error.Code, "its id is in use")
	e.notify("$/cancelRequest", `{"id":"nobody"}`)
	e.notify("$/cancelRequest", `{"id":"a"}`)
	m := e.read()
	require.Equal(t, `"a"`, string(m.ID))
	require.Equal(t, -32800, m.Error.Code)
	require.Equal(t, editors.CodeCancelled, m.Error.Data.Code)
	e.send(request(`"a"`, "sandboxAgent/doctor", "{}"))
	<-started
	e.notify("exit", "null")
	require.Equal(t, -32800, e.read().Error.Code, "exit cancels what runs")
	require.ErrorIs(t, e.result(), ErrExitWithoutShutdown)
}

func TestEventsComeBeforeTheAnswerTheyBelongTo(t *testing.T) {
	core := newFakeCore()
	editors.Handle(&core.mux, editors.Title, func(_ context.Context, p editors.TitleParams) (editors.SessionResult, error) {
		for seq := range int64(3) {
			core.conns[0].sink(editors.EventMessage{SessionID: p.SessionID, Seq: seq, Event: editors.Event{Type: editors.SessionUpdated}})
		}
		return editors.SessionResult{Seq: 2}, nil
	})
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	e.send(request("1", "sandboxAgent/title", `{"sessionId":"s1","title":"t"}`))
	for seq := range int64(3) {
		m := e.read()
		require.Equal(t, editors.EventMethod, m.Method)
		require.Equal(t, seq, decode[editors.EventMessage](t, m.Params).Seq)
	}
	require.Equal(t, "1", string(e.read().ID))
	require.NoError(t, e.end())
}

func TestReplyingEndsAfterTheAnswer(t *testing.T) {
	core := newFakeCore()
	handleSessions(core)
	o := core.options(t)
	o.Replying = func(ctx context.Context) (context.Context, func()) {
		return ctx, func() {
			for _, conn := range core.conns {
				conn.sink(editors.EventMessage{SessionID: "s", Event: editors.Event{Type: editors.SessionUpdated}})
			}
		}
	}
	e := serve(t, o)
	require.Equal(t, `"init"`, string(e.initialize(`{}`).ID))
	require.Equal(t, editors.EventMethod, e.read().Method)
	require.Nil(t, e.call("1", "sandboxAgent/sessions", "{}").Error)
	require.Equal(t, editors.EventMethod, e.read().Method)
	require.NoError(t, e.end())
}

func TestLargeEventsAreShortened(t *testing.T) {
	text := longText(editors.MaxMessageBytes)
	event := editors.Event{
		Type: editors.ItemEnded, Message: text, Data: text,
		Item: &editors.Item{
			Text: text, Diff: text, Arguments: text, Output: &editors.Output{Head: text, Tail: text},
			Context: []editors.Context{{Text: text}},
		},
		Queued: []editors.QueuedMessage{{Text: text}},
	}
	body, err := encodeEvent(editors.EventMessage{Event: event})
	require.NoError(t, err)
	require.Less(t, len(body), editors.MaxMessageBytes)
	got := decode[message](t, body)
	item := decode[editors.EventMessage](t, got.Params).Event.Item
	require.Equal(t, int64(len(text)), item.TextBytes)
	require.Equal(t, text, event.Item.Text, "the event itself is as it was")
}

func TestSettingsFillNewSessions(t *testing.T) {
	core, made := newFakeCore(), make(chan editors.NewParams, 1)
	editors.Handle(&core.mux, editors.New, func(_ context.Context, p editors.NewParams) (editors.NewResult, error) {
		made <- p
		return editors.NewResult{}, nil
	})
	e := serve(t, core.options(t))
	m := e.call("1", "initialize", `{"capabilities":{"workspace":{"configuration":true}}}`)
	require.Nil(t, m.Error)
	e.notify("initialized", "{}")
	m = e.until("workspace/configuration")
	e.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":[{"model":"pulled"}]}`)
	require.Eventually(t, func() bool {
		e.call("1", "sandboxAgent/new", `{}`)
		return (<-made).Model == "pulled"
	}, deadline, time.Millisecond)
	e.notify("workspace/didChangeConfiguration", `{"settings":{"sandboxAgent":{"model":"demo","approvalMode":"never"}}}`)
	e.call("2", "sandboxAgent/new", `{"title":"t"}`)
	require.Equal(t, "", string((<-made).ApprovalMode), "a workspace cannot loosen approvals")
	e.notify("workspace/didChangeConfiguration", `{"settings":{"sandboxAgent":{"model":"demo","approvalMode":"readOnly"}}}`)
	e.call("3", "sandboxAgent/new", `null`)
	require.Equal(t, editors.NewParams{Model: "demo", ApprovalMode: editors.ApprovalReadOnly}, <-made)
	e.call("4", "sandboxAgent/new", `{"model":"mine"}`)
	require.Equal(t, "mine", (<-made).Model)
	require.NoError(t, e.end())
}

func TestTrace(t *testing.T) {
	core := newFakeCore()
	handleSessions(core)
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	e.notify("$/setTrace", `{"value":"messages"}`)
	e.call("1", "sandboxAgent/sessions", "{}")
	require.Equal(t, "$/logTrace", e.read().Method)
	require.NoError(t, e.end())
}
