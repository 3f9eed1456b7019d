// This file tests how sessions are made and found.

package core

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/workerproc"
)

func TestNewIsRepeatable(t *testing.T) {
	f := newFakeEngine()
	conn := testConn(t, testCore(t, f))
	first, err := run[editors.NewResult](t, conn, "new", editors.NewParams{RequestID: "r1", Title: "One"})
	require.NoError(t, err)
	require.Equal(t, testFolder, first.Session.WorkspaceFolder)
	require.Equal(t, conn.core.opts.Config.Model, first.Session.Model)
	again, err := run[editors.NewResult](t, conn, "new", editors.NewParams{RequestID: "r1", Title: "One"})
	require.NoError(t, err)
	require.Equal(t, first.Session.ID, again.Session.ID)
	other, err := run[editors.NewResult](t, conn, "new", editors.NewParams{Title: "Two"})
	require.NoError(t, err)
	require.NotEqual(t, first.Session.ID, other.Session.ID)
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	conn := testConn(t, testCore(t, newFakeEngine()))
	for _, c := range []struct {
		name   string
		params editors.NewParams
		code   editors.Code
	}{
		{"folder of another scheme", editors.NewParams{WorkspaceFolder: "untitled:1"}, editors.CodeInvalidParams},
		{"folder of another machine", editors.NewParams{WorkspaceFolder: "file://server/share"}, editors.CodeInvalidParams},
		{"long title", editors.NewParams{Title: strings.Repeat("ä", editors.MaxTitleRunes+1)}, editors.CodeLimit},
		{"long request id", editors.NewParams{RequestID: strings.Repeat("x", editors.MaxRequestID+1)}, editors.CodeInvalidParams},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run[editors.NewResult](t, conn, "new", c.params)
			require.Equal(t, c.code, editors.CodeOf(err))
		})
	}
	conn.SetFolders(nil)
	_, err := run[editors.NewResult](t, conn, "new", editors.NewParams{})
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
}

func TestNewRefusesFoldersThatCannotBeWorkedIn(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	f := newFakeEngine()
	conn := testConn(t, testCore(t, f))
	file := filepath.Join(home, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, folder := range []string{"/", home, home + "/none", file, os.DevNull} {
		_, err := run[editors.NewResult](t, conn, "new", editors.NewParams{WorkspaceFolder: "file://" + folder})
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), folder)
		_, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{WorkspaceFolder: "file://" + folder, Text: "x"})
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), folder)
	}
	_, err := run[editors.NewResult](t, conn, "new", editors.NewParams{Backend: &editors.Backend{Kind: editors.Local, WorkspaceRoot: home}})
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
	require.Empty(t, f.sessions)
}

func TestALinkAndItsTargetAreOneFolder(t *testing.T) {
	f := newFakeEngine()
	conn := testConn(t, testCore(t, f))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(strings.TrimPrefix(testFolder, "file://"), link))
	first, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{WorkspaceFolder: "file://" + link, Text: "x"})
	require.NoError(t, err)
	second, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{Text: "x"})
	require.NoError(t, err)
	require.Equal(t, first.SessionID, second.SessionID)
}

func TestABackendThatCannotBeUsedIsRefused(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	release, err := workerproc.Hold(t.Context(), core.opts.Paths.WorkerLock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = release() })
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.Handle(CallBackends, func(context.Context, editors.Raw) (any, error) {
		return editors.BackendsResult{Backends: []editors.BackendInfo{
			{Kind: editors.Local, Available: true}, {Kind: editors.Docker, Reason: "No engine answers.", Remedy: "Start Docker."},
		}}, nil
	})
	_, err = run[editors.NewResult](t, conn, "new", editors.NewParams{Backend: &editors.Backend{Kind: editors.Docker}})
	var e *editors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, editors.CodeBackendUnavailable, e.Code)
	require.Equal(t, "the backend docker cannot be used: No engine answers", e.Message)
	require.Equal(t, "Start Docker.", e.Remedy)
	require.Empty(t, f.sessions)
	_, err = run[editors.NewResult](t, conn, "new", editors.NewParams{})
	require.NoError(t, err)
}

func TestAskFindsItsSession(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	first, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{RequestID: "r1", Text: "hello"})
	require.NoError(t, err, "without a session one is made")
	again, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{RequestID: "r1", Text: "hello"})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, f.sessions, 1)

	f.add("foreign", "another host")
	next, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{Text: "more", WorkspaceFolder: testFolder + "/"})
	require.NoError(t, err)
	require.Equal(t, first.SessionID, next.SessionID, "the latest session of the folder on this host")

	core.asked = askedSessions{}
	f.add("newer", core.HostID())
	again, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{RequestID: "r1", Text: "hello"})
	require.NoError(t, err)
	require.Equal(t, first, again, "a repeated request finds the session it made, also after a restart")
	require.Equal(t, agent.AskInput{RequestID: "r1", Text: "hello", By: "test editor"}, f.updates[len(f.updates)-1].arg)
}

// TestThoseWhoAskFirstShareASession asks from several connections of several processes at once.
func TestThoseWhoAskFirstShareASession(t *testing.T) {
	f := newFakeEngine()
	f.jitter = true
	one := testCore(t, f)
	other := New(one.opts)
	other.link.dial = one.link.dial
	t.Cleanup(other.Close)
	var asking sync.WaitGroup
	asked := make([]editors.AskResult, 8)
	errs := make([]error, len(asked))
	for i := range asked {
		conn := testConn(t, []*Core{one, other}[i%2])
		asking.Go(func() {
			asked[i], errs[i] = run[editors.AskResult](t, conn, "ask", editors.AskParams{Text: "x"})
		})
	}
	asking.Wait()
	for i := range asked {
		require.NoError(t, errs[i])
		require.Equal(t, asked[0].SessionID, asked[i].SessionID)
	}
	require.Len(t, f.sessions, 1)
}

func TestAttachAnswersWithItemsOrEvents(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", core.HostID())
	conn := testConn(t, core)
	snapshot, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Equal(t, []editors.Item{}, snapshot.Items)
	require.Nil(t, snapshot.Events)
	missed, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1", AfterSeq: &snapshot.Seq})
	require.NoError(t, err)
	require.Nil(t, missed.Items)
	require.Equal(t, []editors.EventMessage{}, missed.Events)
}
