// This file tests the commands against the engine in memory.

package core

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/session"
	"sandboxagent/internal/workerproc"
)

func testConn(t *testing.T, c *Core) *Conn {
	t.Helper()
	conn := c.Connect("test editor", func(editors.EventMessage) {})
	conn.SetFolders([]string{testFolder})
	return conn
}

func TestEveryCommandHasAHandler(t *testing.T) {
	require.Empty(t, testConn(t, testCore(t, newFakeEngine())).Mux().Missing())
}

func TestLongTextsGoByReference(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("here", core.HostID())
	f.add("there", "another host")
	long := strings.Repeat("ä", 10_000)

	_, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "here", Text: long, Context: []editors.Context{{Kind: "text", Text: long}, {Kind: "text", Text: "b"}}})
	require.NoError(t, err)
	in := f.updates[len(f.updates)-1].arg.(agent.AskInput)
	require.Equal(t, int64(len(long)), in.TextBytes)
	require.LessOrEqual(t, len(in.Text), agent.MaxInlineText)
	require.True(t, strings.HasPrefix(long, in.Text))
	store, err := core.blobs.open()
	require.NoError(t, err)
	stored, err := blob.ReadAll(t.Context(), store, blob.Ref(in.TextRef), 1<<20)
	require.NoError(t, err)
	require.Equal(t, long, string(stored))
	var context []editors.Context
	require.NoError(t, blob.GetJSON(t.Context(), store, blob.Ref(in.ContextRef), &context))
	require.Equal(t, long, context[0].Text)
	require.Len(t, in.Context, 2)

	_, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "there", Text: long})
	require.NoError(t, err)
	require.Equal(t, long, f.updates[len(f.updates)-1].arg.(agent.AskInput).Text)
	_, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "there", Text: strings.Repeat(long, 3)})
	require.Equal(t, editors.CodeLimit, editors.CodeOf(err))
	_, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "here", Text: strings.Repeat("x", editors.MaxTextBytes+1)})
	require.Equal(t, editors.CodeLimit, editors.CodeOf(err))
	_, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "here", Text: " \n"})
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
}

func TestRequestsComeAgainUnderTheSameID(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	f.fail = []error{refused(agent.ErrTypeDraining, "again"), refused(errTypeRunEnded, "again"), serviceerror.NewAborted("again")}
	_, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "s1", Text: "x"})
	require.NoError(t, err)
	require.Len(t, f.updates, 1)
	require.True(t, strings.HasPrefix(f.updates[0].id, "ask/"))
}

func TestApprovalsNameWhoAnswered(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", core.HostID())
	result, err := run[editors.AnswerApprovalResult](t, testConn(t, core), "answerApproval",
		editors.AnswerApprovalParams{SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllow})
	require.NoError(t, err)
	require.Equal(t, "test editor", result.DecidedBy)
}

func TestStopsNameWhoStopped(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", core.HostID())
	conn := testConn(t, core)
	_, err := run[editors.StopResult](t, conn, "stop", editors.StopParams{SessionID: "s1", ItemID: "i3"})
	require.NoError(t, err)
	_, err = run[editors.StopResult](t, conn, "stop", editors.StopParams{SessionID: "s1", ItemID: "i3", By: "vscode", RequestID: "r"})
	require.NoError(t, err)
	require.Len(t, f.updates, 2)
	require.Equal(t, agent.UpdateStop, f.updates[0].name)
	require.Equal(t, "test editor", f.updates[0].arg.(editors.StopParams).By)
	require.Equal(t, "vscode", f.updates[1].arg.(editors.StopParams).By)
	require.Equal(t, "stop_command/r", f.updates[1].id)
}

func TestSilenceIsExplained(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fakeEngine)
		code   editors.Code
		says   string
	}{
		{"no worker", func(f *fakeEngine) { f.silent, f.pollers = true, 0 }, editors.CodeWorkerUnavailable, "no worker is running, so"},
		{
			"a worker that is gone", func(f *fakeEngine) { f.silent, f.pollers, f.polled = true, 0, time.Now().Add(-2*time.Minute) },
			editors.CodeWorkerUnavailable, "no worker is running (last seen 2m",
		},
		{
			"a worker elsewhere", func(f *fakeEngine) { f.silent, f.polled = true, time.Now().Add(-20*time.Second) },
			editors.CodeWorkerUnavailable, "no worker has answered in time (last seen 2",
		},
		{"what becomes of it", func(f *fakeEngine) { f.silent, f.pollers = true, 0 }, editors.CodeWorkerUnavailable, "will be carried out when a worker runs"},
		{"no Temporal", func(f *fakeEngine) { f.down = true }, editors.CodeTemporalUnavailable, "temporal.test:7233"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeEngine()
			core := testCore(t, f)
			conn := testConn(t, core)
			f.add("s1", core.HostID())
			_, err := core.link.engine(t.Context())
			require.NoError(t, err)
			f.mu.Lock()
			c.change(f)
			f.mu.Unlock()
			began := time.Now()
			_, err = run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "s1", Text: "x"})
			require.Less(t, time.Since(began), 5*time.Second)
			var e *editors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.code, e.Code)
			require.Contains(t, e.Message, c.says)
			require.NotEmpty(t, e.Remedy)
			require.True(t, e.Retryable)
		})
	}
}

func TestUpdatesThatTimeOutInTheClient(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.pollers = 0
	e, err := core.link.engine(t.Context())
	require.NoError(t, err)
	silent, alive := core.silence(t.Context(), e, "asking", sdk.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded))
	require.Equal(t, editors.CodeWorkerUnavailable, silent.Code)
	require.False(t, alive)
}

func TestTitleWorksWithoutAWorker(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	result, err := run[editors.SessionResult](t, conn, "title", editors.TitleParams{SessionID: "s1", Title: " Better "})
	require.NoError(t, err)
	require.Equal(t, "Better", result.Session.Title)
	require.NotZero(t, result.Seq)

	var said []string
	ctx := WithProgress(t.Context(), func(message string) { said = append(said, message) })
	f.mu.Lock()
	f.renamed = true
	f.mu.Unlock()
	answer, err := conn.Mux().Dispatch(ctx, "title", editors.Raw(`{"sessionId":"s1","title":"Good","requestId":"before"}`))
	require.NoError(t, err)
	require.Equal(t, "Better", answer.(editors.SessionResult).Session.Title, "what was done before is not done again, nor said to be")
	require.Empty(t, said)

	f.mu.Lock()
	f.silent = true
	f.mu.Unlock()
	answer, err = conn.Mux().Dispatch(ctx, "title", editors.Raw(`{"sessionId":"s1","title":"Best"}`))
	require.NoError(t, err)
	require.Contains(t, strings.Join(said, " "), "will be set when a worker runs")
	result = answer.(editors.SessionResult)
	require.Equal(t, "Best", result.Session.Title)
	require.Equal(t, editors.TitleUser, result.Session.TitleSource)

	_, err = run[editors.SessionResult](t, conn, "title", editors.TitleParams{SessionID: "none", Title: "x"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
	_, err = run[editors.SessionResult](t, conn, "title", editors.TitleParams{SessionID: "s1", Title: " "})
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
}

func TestDestroyIsRepeatable(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	_, err := run[editors.DestroyResult](t, conn, "destroy", editors.SessionParams{SessionID: "s1"})
	require.NoError(t, err)
	f.sessions[agent.WorkflowID("s1")].ended = true
	_, err = run[editors.DestroyResult](t, conn, "destroy", editors.SessionParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Equal(t, session.UpdateForget, f.updates[len(f.updates)-1].name)
	_, err = run[editors.DestroyResult](t, conn, "destroy", editors.SessionParams{SessionID: "s2"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err), "there never was one")
}

func TestParamsThatNoCommandMeansWell(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		command string
		params  map[string]any
		code    editors.Code
	}{
		{"attach", map[string]any{"sessionId": "a\x00b"}, editors.CodeNotFound},
		{"attach", map[string]any{"sessionId": "a\nb"}, editors.CodeNotFound},
		{"history", map[string]any{"sessionId": "sitzung-ä"}, editors.CodeNotFound},
		{"ask", map[string]any{"sessionId": long, "text": "x"}, editors.CodeNotFound},
		{"destroy", map[string]any{"sessionId": "../s1"}, editors.CodeNotFound},
		{"detach", map[string]any{"sessionId": "/"}, editors.CodeNotFound},
		{"ask", map[string]any{"sessionId": "s1", "text": "x", "model": long}, editors.CodeInvalidParams},
		{"new", map[string]any{"model": "a\x1bb"}, editors.CodeInvalidParams},
		{"configure", map[string]any{"sessionId": "s1", "effort": strings.Repeat("x", 51)}, editors.CodeInvalidParams},
		{"sessions", map[string]any{"limit": -1}, editors.CodeInvalidParams},
		{"history", map[string]any{"sessionId": "s1", "limit": -1}, editors.CodeInvalidParams},
		{"readOutput", map[string]any{"sessionId": "s1", "itemId": long, "stream": "text", "offset": 0}, editors.CodeInvalidParams},
		{"answerApproval", map[string]any{"sessionId": "s1", "approvalId": long, "decision": "allow"}, editors.CodeInvalidParams},
		{"queue", map[string]any{"sessionId": "s1", "op": "remove", "itemId": long}, editors.CodeInvalidParams},
		{"restore", map[string]any{"sessionId": "s1", "checkpointId": long}, editors.CodeInvalidParams},
	} {
		raw, err := json.Marshal(c.params)
		require.NoError(t, err)
		_, err = conn.Mux().Dispatch(t.Context(), c.command, raw)
		require.Equal(t, c.code, editors.CodeOf(err), "%s %v: %v", c.command, c.params, err)
	}
	require.Empty(t, f.updates)
}

func TestSessionsComeFromTheManagerOrFromVisibility(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID()).setStatus(editors.StatusWaitingApproval)
	f.add("s2", core.HostID())
	list := func() []string {
		result, err := run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{WorkspaceFolder: testFolder})
		require.NoError(t, err)
		require.Equal(t, editors.StatusWaitingApproval, result.Sessions[1].State.Status, "what it is doing is taken from visibility")
		return []string{result.Sessions[0].ID, result.Sessions[1].ID}
	}
	require.Equal(t, []string{"s2", "s1"}, list())
	f.manager = false
	require.Equal(t, []string{"s2", "s1"}, list())

	page, err := run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{Limit: 1})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	page, err = run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{Limit: 1, Cursor: page.NextCursor})
	require.NoError(t, err)
	require.Equal(t, "s1", page.Sessions[0].ID)
	require.Empty(t, page.NextCursor)
	for _, cursor := range []string{"x1", "m", "!", "e30"} {
		_, err = run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{Cursor: cursor})
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), cursor)
	}
	f.sessions[agent.WorkflowID("s1")].do(func() { f.sessions[agent.WorkflowID("s1")].view.UpdatedAt = time.Unix(5000, 0) })
	require.Equal(t, []string{"s1", "s2"}, used(t, conn), "the one used last comes first")
	page, err = run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{Search: "SESSION S2"})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	_, err = run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{})
	require.Equal(t, editors.CodeTemporalUnavailable, editors.CodeOf(err))
}

func used(t *testing.T, conn *Conn) (ids []string) {
	t.Helper()
	result, err := run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{})
	require.NoError(t, err)
	for _, s := range result.Sessions {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestACursorOutlivesTheUseOfSessions(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	for _, id := range []string{"s1", "s2", "s3", "s4"} {
		f.add(id, core.HostID())
	}
	page, err := run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{Limit: 2})
	require.NoError(t, err)
	first := f.sessions[agent.WorkflowID("s1")]
	first.do(func() { first.view.UpdatedAt = time.Unix(5000, 0) })
	page, err = run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{Limit: 2, Cursor: page.NextCursor})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	require.Equal(t, "s2", page.Sessions[0].ID, "neither skipped nor shown twice")
}

func TestARunningSessionWithoutItsWorkerSaysSo(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", "far").setStatus(editors.StatusRunning)
	f.queues = map[string]int{agent.HostQueue("far"): 0}
	result, err := run[editors.AttachResult](t, testConn(t, core), "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Equal(t, editors.StatusRecovering, result.State.Status)
	require.Contains(t, result.State.Reason, "no worker is polling")
	require.NotEmpty(t, result.State.Remedy)
}

func TestAttachToWhatIsNotThere(t *testing.T) {
	core := testCore(t, newFakeEngine())
	conn := testConn(t, core)
	_, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "none"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
	require.Empty(t, core.watchers)
}

func TestSecretsGoToTheWorkerOnly(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	_, err := run[editors.Empty](t, conn, "setSecret", editors.SetSecretParams{Name: "HOME", Value: "canary"})
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
	require.NotContains(t, err.Error(), "canary")

	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	got := make(chan editors.SetSecretParams, 8) // a worker that has just come may be told twice
	hub.Handle(CallSetSecret, func(_ context.Context, raw editors.Raw) (any, error) {
		var p editors.SetSecretParams
		err := copyJSON(raw, &p)
		got <- p
		return editors.Empty{}, err
	})
	_, err = run[editors.Empty](t, conn, "setSecret", editors.SetSecretParams{Name: "OPENAI_API_KEY", Value: "canary"})
	require.NoError(t, err)
	require.Equal(t, editors.SetSecretParams{Name: "OPENAI_API_KEY", Value: "canary"}, <-got)
	require.Empty(t, f.updates)
}

func TestKeysGoToAWorkerThatComesLaterToo(t *testing.T) {
	core := testCore(t, newFakeEngine())
	conn := testConn(t, core)
	worker := func() (*feed.Hub, func() map[string]string) {
		hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
		require.NoError(t, err)
		var mu sync.Mutex
		keys := map[string]string{}
		hub.Handle(CallSetSecret, func(_ context.Context, raw editors.Raw) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			var p editors.SetSecretParams
			err := copyJSON(raw, &p)
			keys[p.Name] = p.Value
			return editors.Empty{}, err
		})
		return hub, func() map[string]string {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(keys)
		}
	}
	first, _ := worker()
	for _, p := range []editors.SetSecretParams{{Name: "E2B_API_KEY", Value: "canary"}, {Name: "OPENAI_API_KEY", Value: "old"}, {Name: "OPENAI_API_KEY"}} {
		_, err := run[editors.Empty](t, conn, "setSecret", p)
		require.NoError(t, err)
	}
	require.NoError(t, first.Close())

	second, keys := worker()
	t.Cleanup(func() { _ = second.Close() })
	require.Eventually(t, func() bool { return keys()["E2B_API_KEY"] == "canary" }, 10*time.Second, 5*time.Millisecond)
	core.live.keyMu.Lock() // all is handed over
	defer core.live.keyMu.Unlock()
	require.NotContains(t, keys(), "OPENAI_API_KEY", "what was forgotten is not given")
}

func TestDoctorAlwaysAnswers(t *testing.T) {
	f := newFakeEngine()
	f.down = true
	conn := testConn(t, testCore(t, f))
	began := time.Now()
	result, err := run[editors.DoctorResult](t, conn, "doctor", editors.Empty{})
	require.NoError(t, err)
	require.Less(t, time.Since(began), 5*time.Second)
	found := map[string]editors.Check{}
	for _, c := range result.Checks {
		found[c.Name] = c
		require.NotEmpty(t, c.Detail, c.Name)
	}
	require.Equal(t, checkError, found["temporal"].Status)
	require.Contains(t, found["temporal"].Detail, "temporal.test:7233")
	require.NotEmpty(t, found["temporal"].Remedy)
	require.Equal(t, checkOK, found["directories"].Status)
	require.Equal(t, checkWarning, found["worker"].Status)
	require.Equal(t, checkWarning, found["backends"].Status, "nobody tested them")
}

func TestCatalogWithoutAWorker(t *testing.T) {
	core := testCore(t, newFakeEngine())
	began := time.Now()
	backends, models := core.Backends(t.Context()), core.Models(t.Context())
	require.Less(t, time.Since(began), 200*time.Millisecond)
	require.Len(t, backends, 4)
	require.False(t, backends[0].Available)
	require.NotEmpty(t, backends[0].Remedy)
	require.False(t, models[0].Available)
	require.True(t, models[len(models)-1].Available)
}

// TestABusyWorkerIsNotSaidToBeGone has a worker that takes longer than initialize waits for it, and one that never answers.
func TestABusyWorkerIsNotSaidToBeGone(t *testing.T) {
	core := testCore(t, newFakeEngine())
	release, err := workerproc.Hold(t.Context(), core.opts.Paths.WorkerLock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = release() })
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.Handle(CallBackends, func(ctx context.Context, _ editors.Raw) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	atOnce, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	backends := core.Backends(atOnce)
	require.True(t, backends[0].Available, "what runs can make a local sandbox")
	for _, b := range backends {
		require.Equal(t, workerBusy, b.Reason, b.Kind)
		require.True(t, b.Available || strings.Contains(b.Remedy, core.workerLog()), b.Kind)
	}
}

func TestErrorsAreAlwaysEditorErrors(t *testing.T) {
	var e *editors.Error
	require.ErrorAs(t, asEditorsError("x", errors.New("boom")), &e)
	require.NoError(t, asEditorsError("x", nil))
}
