// This file tests that clients without a view of sessions are told what was done to a workspace, and that nothing is written
// under what stands unsaved in the editor.

package lsp

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestOutcomesAreTold(t *testing.T) {
	core := newFakeCore()
	editors.Handle(&core.mux, editors.Switch, func(_ context.Context, p editors.SwitchParams) (editors.SwitchResult, error) {
		carry := editors.Carry{Added: 2, Removed: 1, SkippedAll: 3}
		return editors.SwitchResult{Backend: p.Backend, Carry: carry, Queued: p.ExpectedTurnID > 0, AfterTurnID: p.ExpectedTurnID, Undo: "0123456789abcdef"}, nil
	})
	editors.Handle(&core.mux, editors.Adopt, func(context.Context, editors.AdoptParams) (editors.AdoptResult, error) {
		return editors.AdoptResult{Carry: editors.Carry{Changed: 1, Merged: 1}, Undo: "u"}, nil
	})
	editors.Handle(&core.mux, editors.Restore, func(context.Context, editors.RestoreParams) (editors.RestoreResult, error) {
		return editors.RestoreResult{Restored: []string{"a", "b"}, Conflicts: []string{"c"}}, nil
	})
	editors.Handle(&core.mux, editors.Fork, func(_ context.Context, p editors.ForkParams) (editors.SessionResult, error) {
		return editors.SessionResult{Session: editors.Session{Title: "X (fork #1)", WorkspaceFolder: "file:///forks/a%20b", Backend: *p.Backend}, Notice: p.Title}, nil
	})
	editors.Handle(&core.mux, editors.Destroy, func(context.Context, editors.SessionParams) (editors.DestroyResult, error) {
		return editors.DestroyResult{Remains: "Its container is still there."}, nil
	})
	editors.Handle(&core.mux, editors.Title, func(context.Context, editors.TitleParams) (editors.SessionResult, error) {
		return editors.SessionResult{}, nil
	})
	e := serve(t, core.options(t))
	e.initialize(`{}`)
	for _, tt := range []struct{ command, params, says string }{
		{"switch", `{"sessionId":"s","backend":{"kind":"docker"}}`, "The session runs in docker now: 2 files added, 1 removed, 3 left out. To undo it, restore the checkpoint 0123456789ab."},
		{"switch", `{"sessionId":"s","backend":{"kind":"docker"},"dryRun":true}`, "A switch to docker would bring: 2 files added, 1 removed, 3 left out."},
		{"switch", `{"sessionId":"s","backend":{"kind":"local"},"expectedTurnId":1}`, "The session leaves local when turn 1 has ended."},
		{"adopt", `{"sessionId":"s"}`, "The fork's changes are in its parent's workspace: 1 file changed, 1 of the changed with the changes of both sides. To undo it, restore the checkpoint u."},
		{"adopt", `{"sessionId":"s","dryRun":true}`, "The fork would bring: 1 file changed, 1 of the changed with the changes of both sides."},
		{"restore", `{"sessionId":"s","checkpointId":"c"}`, "Restored: 2, left as they are: 1."},
		{"restore", `{"sessionId":"s","checkpointId":"c","dryRun":true}`, "To be restored: 2, left as they are: 1."},
		{"fork", `{"sessionId":"s","backend":{"kind":"local"}}`, `The fork "X (fork #1)" works in /forks/a b.`},
		{"fork", `{"sessionId":"s","backend":{"kind":"docker"},"title":"Its files are older."}`, `The fork "X (fork #1)" runs in docker. Its files are older.`},
		{"destroy", `{"sessionId":"s"}`, "Its container is still there."},
	} {
		m := e.call("1", "workspace/executeCommand", `{"command":"sandboxAgent.`+tt.command+`","arguments":[`+tt.params+`]}`)
		require.Nil(t, m.Error)
		m = e.read()
		require.Equal(t, "window/showMessage", m.Method)
		require.Equal(t, tt.says, decode[struct{ Message string }](t, m.Params).Message)
	}
	e.call("2", "workspace/executeCommand", `{"command":"sandboxAgent.title","arguments":[{"sessionId":"s","title":"t"}]}`)
	e.call("3", "sandboxAgent/adopt", `{"sessionId":"s"}`)
	require.NoError(t, e.end(), "nothing is shown to a client that asked by the protocol's own requests")
}

func TestLongCommandsShowProgress(t *testing.T) {
	core := newFakeCore()
	type progressKey struct{}
	o := core.options(t)
	o.Progress = func(ctx context.Context, report func(string)) context.Context {
		return context.WithValue(ctx, progressKey{}, report)
	}
	editors.Handle(&core.mux, editors.Fork, func(ctx context.Context, _ editors.ForkParams) (editors.SessionResult, error) {
		ctx.Value(progressKey{}).(func(string))("Filling the new sandbox.")
		return editors.SessionResult{}, nil
	})
	e := serve(t, o)
	e.initialize(`{}`)
	e.send(request("1", "workspace/executeCommand", `{"command":"sandboxAgent.fork","workDoneToken":"w","arguments":[{"sessionId":"s"}]}`))
	for _, want := range []string{"begin", "end"} {
		m := e.read()
		require.Equal(t, "$/progress", m.Method)
		require.Equal(t, want, decode[struct{ Value struct{ Kind string } }](t, m.Params).Value.Kind)
	}
	require.Equal(t, "1", string(e.read().ID))
	e.until("window/showMessage")
	require.NoError(t, e.end())
}

func TestUnsavedFilesAreLeftAlone(t *testing.T) {
	core := newFakeCore()
	type filesKey struct{}
	o := core.options(t)
	o.Unsaved = func(ctx context.Context, files []string) context.Context {
		return context.WithValue(ctx, filesKey{}, files)
	}
	left := make(chan []string, 1)
	tell := func(ctx context.Context) { files, _ := ctx.Value(filesKey{}).([]string); left <- files }
	editors.Handle(&core.mux, editors.Restore, func(ctx context.Context, _ editors.RestoreParams) (editors.RestoreResult, error) {
		tell(ctx)
		return editors.RestoreResult{}, nil
	})
	editors.Handle(&core.mux, editors.Switch, func(ctx context.Context, _ editors.SwitchParams) (editors.SwitchResult, error) {
		tell(ctx)
		return editors.SwitchResult{}, nil
	})
	editors.Handle(&core.mux, editors.Adopt, func(ctx context.Context, _ editors.AdoptParams) (editors.AdoptResult, error) {
		tell(ctx)
		return editors.AdoptResult{}, nil
	})
	e := serve(t, o)
	e.initialize(`{}`)
	for _, uri := range []string{"file:///w/saved", "file:///w/a%20b", "untitled:new"} {
		e.notify("textDocument/didOpen", `{"textDocument":{"uri":"`+uri+`","languageId":"x","version":1,"text":"1"}}`)
	}
	e.notify("textDocument/didSave", `{"textDocument":{"uri":"file:///w/saved"}}`)
	for _, uri := range []string{"file:///w/a%20b", "untitled:new"} {
		e.notify("textDocument/didChange", `{"textDocument":{"uri":"`+uri+`","version":2},"contentChanges":[{"text":"2"}]}`)
	}
	for _, call := range []struct{ method, params string }{
		{"restore", `{"sessionId":"s","checkpointId":"c"}`},
		{"switch", `{"sessionId":"s","backend":{"kind":"local"}}`},
		{"adopt", `{"sessionId":"s"}`},
	} {
		require.Nil(t, e.call("1", "sandboxAgent/"+call.method, call.params).Error)
		require.Equal(t, []string{"/w/a b"}, <-left)
	}
	require.NoError(t, e.end())
}
