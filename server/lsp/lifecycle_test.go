// This file tests a client's life from initialize to exit.

package lsp

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestInitialize(t *testing.T) {
	e := serve(t, newFakeCore().options(t))
	m := e.initialize(`{"processId":null,"rootUri":null,"clientInfo":{"name":"ed"},"capabilities":{"textDocument":7}}`)
	got := decode[struct {
		ServerInfo   struct{ Name, Version string }
		Capabilities struct {
			PositionEncoding string
			TextDocumentSync struct {
				OpenClose bool
				Change    int
				Save      *struct{}
			}
			ExecuteCommandProvider *struct{ Commands []string }
			Experimental           struct{ SandboxAgent extension }
		}
	}](t, m.Result)
	caps := got.Capabilities
	require.Equal(t, editors.Name, got.ServerInfo.Name)
	require.Equal(t, "utf-16", caps.PositionEncoding)
	require.True(t, caps.TextDocumentSync.OpenClose)
	require.Equal(t, 2, caps.TextDocumentSync.Change)
	require.NotNil(t, caps.TextDocumentSync.Save)
	require.Contains(t, caps.ExecuteCommandProvider.Commands, "sandboxAgent.ask")
	require.Equal(t, extension{
		Version: editors.Version, Limits: editors.Limits{MessageBytes: 1 << 20, HistoryPage: 200, TextBytes: 256 << 10, Queue: 20},
		Description: Description{"host-1", []editors.BackendInfo{}, []editors.ModelInfo{}, editors.Local, "demo"},
	}, caps.Experimental.SandboxAgent)
	require.NoError(t, e.end())
}

func TestInitializeOptions(t *testing.T) {
	core := newFakeCore()
	e := serve(t, core.options(t))
	m := e.initialize(`{"workspaceFolders":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","name":"b"}],
		"initializationOptions":{"clientName":"neovim","executeCommands":false}}`)
	require.NotContains(t, string(m.Result), "executeCommandProvider")
	conn := <-core.made
	require.Equal(t, "neovim", conn.name)
	require.Equal(t, []string{"file:///a", "file:///b"}, conn.folders)
	e.notify("workspace/didChangeWorkspaceFolders", `{"event":{"added":[{"uri":"file:///c","name":"c"}],"removed":[{"uri":"file:///a","name":"a"}]}}`)
	require.NotNil(t, e.call("1", "nope", "{}").Error)
	require.Equal(t, []string{"file:///b", "file:///c"}, conn.folders)
	require.NoError(t, e.end())
	require.True(t, conn.closed)
}

func TestInitializeTakesWhatClientsReallySend(t *testing.T) {
	for _, params := range []string{`{"initializationOptions":[]}`, `{"workspaceFolders":null,"rootPath":"/x","trace":"verbose"}`, `{}`, `null`} {
		e := serve(t, newFakeCore().options(t))
		require.Nil(t, e.call("1", "initialize", params).Error, params)
		require.NoError(t, e.end())
	}
}

func TestInitializeAgainAfterBadParams(t *testing.T) {
	e := serve(t, newFakeCore().options(t))
	m := e.call("1", "initialize", `{"workspaceFolders":"no"}`)
	require.Equal(t, -32602, m.Error.Code)
	require.Equal(t, editors.CodeInvalidParams, m.Error.Data.Code)
	require.Nil(t, e.call("2", "initialize", `{}`).Error)
	require.NoError(t, e.end())
}

func TestOrderOfLife(t *testing.T) {
	e := serve(t, newFakeCore().options(t))
	require.Equal(t, -32002, e.call("1", "sandboxAgent/sessions", "{}").Error.Code)
	e.notify("textDocument/didOpen", `{}`)
	e.initialize(`{}`)
	require.Equal(t, -32600, e.call("2", "initialize", "{}").Error.Code)
	m := e.call("3", "shutdown", "null")
	require.Nil(t, m.Error)
	require.Equal(t, -32600, e.call("4", "sandboxAgent/sessions", "{}").Error.Code)
	e.notify("exit", "null")
	require.NoError(t, e.result())
}

func TestExitWithoutShutdown(t *testing.T) {
	e := serve(t, newFakeCore().options(t))
	e.initialize(`{}`)
	e.notify("exit", "null")
	err := e.result()
	require.ErrorIs(t, err, ErrExitWithoutShutdown)
	require.Equal(t, StatusFailed, Status(err))
}

func TestRequestsAreAnsweredAfterTheInputEnds(t *testing.T) {
	core, started, proceed := newFakeCore(), make(chan struct{}), make(chan struct{})
	editors.Handle(&core.mux, editors.Sessions, func(context.Context, editors.SessionsParams) (editors.SessionsResult, error) {
		close(started)
		<-proceed
		return editors.SessionsResult{}, nil
	})
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	e.send(request("1", "sandboxAgent/sessions", "{}"))
	<-started
	require.NoError(t, e.in.Close())
	close(proceed)
	require.JSONEq(t, `{"sessions":[]}`, string(e.read().Result))
	require.NoError(t, e.result())
}

func TestIDsComeBackAsTheyWere(t *testing.T) {
	e := serve(t, newFakeCore().options(t))
	e.initialize(`{}`)
	for _, id := range []string{`0`, `-7`, `9007199254740993`, `1.5`, `"a\"b"`, `""`} {
		require.NotNil(t, e.call(id, "nope", "{}").Error)
	}
	require.NoError(t, e.end())
}
