// This file tests switch, fork and adopt against the engine in memory and a worker that plans.

package core

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/feed"
)

var toDocker = editors.Backend{Kind: editors.Docker, Image: "debian"}

// planner is a worker that has Docker, and remembers what it was asked to plan.
type planner struct {
	open  agent.OpenInput
	merge agent.MergeInput
	out   agent.CarryOutput
}

func newPlanner(t *testing.T, core *Core) *planner {
	t.Helper()
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	p := new(planner)
	hub.Handle(CallPlanOpen, func(_ context.Context, raw editors.Raw) (any, error) { return p.out, copyJSON(raw, &p.open) })
	hub.Handle(CallPlanMerge, func(_ context.Context, raw editors.Raw) (any, error) { return p.out, copyJSON(raw, &p.merge) })
	return p
}

func TestSwitch(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	got := newRecorder()
	conn := core.Connect("test editor", got.sink)
	f.add("s1", core.HostID())
	_, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)

	result, err := run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: toDocker, RequestID: "r"})
	require.NoError(t, err)
	require.Equal(t, toDocker, result.Backend)
	require.True(t, hasSeq(result.Seq)(got.all()), "its events came before the answer")
	u := f.updates[len(f.updates)-1]
	require.Equal(t, "switch_backend/r", u.id)
	require.Equal(t, "test editor", u.arg.(agent.SwitchInput).By)
	again, err := run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: toDocker, RequestID: "r"})
	require.NoError(t, err)
	require.Equal(t, result, again)
}

func TestWhereASessionCannotGo(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	f.add("far", "another host")
	f.add("gone", core.HostID()).setStatus(editors.StatusDestroyed)
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	local := func(root string) editors.Backend { return editors.Backend{Kind: editors.Local, WorkspaceRoot: root} }
	for _, tt := range []struct {
		session string
		backend editors.Backend
		code    editors.Code
		says    string
	}{
		{"", toDocker, editors.CodeInvalidParams, "sessionId"},
		{"none", toDocker, editors.CodeNotFound, "no such session"},
		{"far", toDocker, editors.CodeUnsupported, "another host"},
		{"gone", toDocker, editors.CodeNotFound, "destroyed"},
		{"s1", local("relative"), editors.CodeInvalidParams, "not an absolute path"},
		{"s1", local(home), editors.CodeInvalidParams, "cannot be worked in"},
		{"s1", local("/does/not/exist"), editors.CodeInvalidParams, "there is no folder /does/not"},
		{"s1", local(file), editors.CodeInvalidParams, "is not a folder"},
		{"s1", editors.Backend{Kind: editors.Local, Image: "debian"}, editors.CodeInvalidParams, "no images"},
		{"s1", editors.Backend{Kind: editors.Docker, WorkspaceRoot: "/w"}, editors.CodeInvalidParams, "for the backend local"},
	} {
		_, err := run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: tt.session, Backend: tt.backend})
		require.Equal(t, tt.code, editors.CodeOf(err), "%+v: %v", tt, err)
		require.Contains(t, err.Error(), tt.says)
	}
	require.Empty(t, f.updates, "nothing was begun")
	_, err = run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: local(filepath.Join(t.TempDir(), "new"))})
	require.NoError(t, err, "it is made")
}

func TestWhatIsUnsavedIsHeld(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	folder := strings.TrimPrefix(testFolder, "file://")
	f.add("s1", core.HostID())
	fork := f.add("fork", core.HostID())
	fork.view.ParentID = "s1"
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(folder, link))
	ctx := WithUnsaved(t.Context(), []string{filepath.Join(folder, "a/b"), filepath.Join(link, "c"), folder + "-other/d"})
	want := map[string]string{"a/b": heldReason, "c": heldReason}
	dispatch := func(name, params string) any {
		t.Helper()
		_, err := conn.Mux().Dispatch(ctx, name, editors.Raw(params))
		require.NoError(t, err)
		return f.updates[len(f.updates)-1].arg
	}
	require.Equal(t, want, dispatch("restore", `{"sessionId":"s1","checkpointId":"c"}`).(agent.RestoreInput).Held)
	require.Equal(t, want, dispatch("adopt", `{"sessionId":"fork"}`).(agent.AdoptInput).Held)
	require.Empty(t, dispatch("switch", `{"sessionId":"s1","backend":{"kind":"docker"}}`).(agent.SwitchInput).Held)
	require.Empty(t, dispatch("restore", `{"sessionId":"s1","checkpointId":"c"}`).(agent.RestoreInput).Held, "it is in a container now")
	require.Equal(t, want, dispatch("switch", `{"sessionId":"s1","backend":{"kind":"local"}}`).(agent.SwitchInput).Held)

	many := make([]string, maxUnsaved+1)
	for i := range many {
		many[i] = filepath.Join(folder, strings.Repeat("x", 1+i%200), strings.Repeat("y", 1+i/200))
	}
	_, err := conn.Mux().Dispatch(WithUnsaved(t.Context(), many), "restore", editors.Raw(`{"sessionId":"s1","checkpointId":"c"}`))
	require.Equal(t, editors.CodeLimit, editors.CodeOf(err))
}

func TestRefusalsComeWhole(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	s := f.add("s1", core.HostID())
	s.refuse = agent.ConflictFailure("Switching to local", editors.Carry{Conflicts: []editors.Skipped{{Path: "a"}, {Path: "b"}}, ConflictsAll: 3}).Refusal()
	_, err := run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: editors.Backend{Kind: editors.Local}})
	var e *editors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, editors.CodeConflict, e.Code)
	require.Equal(t, "a\nb\nand 1 more", e.Detail)
	require.Contains(t, e.Message, "3 conflicts")
	require.Contains(t, e.Remedy, "theirs")

	s.refuse = agent.Failure{Code: editors.CodeBackendUnavailable, Message: "Docker does not run.", Remedy: "Start it."}.Refusal()
	_, err = run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: toDocker})
	require.ErrorAs(t, err, &e)
	require.Equal(t, editors.ErrorData{Code: editors.CodeBackendUnavailable, Remedy: "Start it."}, e.ErrorData)
}

func TestDryRunsChangeNothing(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	worker := newPlanner(t, core)
	worker.out.Carry.Added = 7
	s := f.add("s1", core.HostID())
	fork := f.add("fork", core.HostID())
	fork.view.ParentID, fork.view.Backend = "s1", toDocker
	fork.place = agent.View{Home: "/forks/x", ForkBase: "base"}

	result, err := run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: toDocker, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, 7, result.Carry.Added)
	require.True(t, worker.open.DryRun)
	require.Equal(t, toDocker, worker.open.Sandbox.Backend)
	require.Equal(t, int64(1), worker.open.Epoch)
	require.Equal(t, editors.Local, worker.open.From.Backend.Kind)

	_, err = run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: editors.Backend{Kind: editors.Local}, DryRun: true})
	require.Equal(t, editors.CodeConflict, editors.CodeOf(err), "it is there")

	s.place.Base, s.view.Backend = "left", toDocker
	_, err = run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "s1", Backend: editors.Backend{Kind: editors.Local}, DryRun: true, OnConflict: editors.ConflictMine})
	require.NoError(t, err)
	require.Equal(t, []any{"left", editors.ConflictMine, true}, []any{worker.merge.Base, worker.merge.OnConflict, worker.merge.DryRun})

	adopted, err := run[editors.AdoptResult](t, conn, "adopt", editors.AdoptParams{SessionID: "fork", DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "s1", adopted.SessionID)
	require.Equal(t, []any{"base", "s1", "fork"}, []any{worker.merge.Base, worker.merge.SessionID, worker.merge.From.SessionID})
	_, err = run[editors.SwitchResult](t, conn, "switch", editors.SwitchParams{SessionID: "fork", Backend: editors.Backend{Kind: editors.Local}, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "/forks/x", worker.open.Backend.WorkspaceRoot, "its own folder, where it never was")

	worker.out.Failure = &agent.Failure{Code: editors.CodeCorruptCheckpoint, Message: "The checkpoint is damaged."}
	_, err = run[editors.AdoptResult](t, conn, "adopt", editors.AdoptParams{SessionID: "fork", DryRun: true})
	require.Equal(t, editors.CodeCorruptCheckpoint, editors.CodeOf(err))
	require.Empty(t, f.updates)
}

func TestFork(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	source := f.add("s1", core.HostID())
	source.view.Backend = toDocker
	params := editors.ForkParams{SessionID: "s1", RequestID: "r", Title: "Another way", TurnID: 3}
	result, err := run[editors.SessionResult](t, conn, "fork", params)
	require.NoError(t, err)
	require.Equal(t, "s1", result.Session.ParentID)
	require.Equal(t, 3, result.Session.ForkedAtTurn)
	require.Len(t, f.forks, 1)
	in := f.forks[0]
	require.Equal(t, core.sessionIDFor("r"), in.SessionID)
	require.Equal(t, toDocker, *in.Params.Backend, "as its source")
	require.Equal(t, filepath.Join(core.opts.Paths.ForkDir, in.SessionID, filepath.Base(testFolder)), in.Home)

	f.mu.Lock()
	delete(f.sessions, agent.WorkflowID("s1"))
	f.mu.Unlock()
	again, err := run[editors.SessionResult](t, conn, "fork", params)
	require.NoError(t, err, "also when the source is gone")
	require.Equal(t, result.Session, again.Session)
	require.Len(t, f.forks, 1)

	f.add("s2", core.HostID())
	for _, params := range []editors.ForkParams{
		{}, {SessionID: "s2", TurnID: -1}, {SessionID: "s2", Backend: &editors.Backend{Kind: editors.Local, WorkspaceRoot: "w"}},
	} {
		_, err := run[editors.SessionResult](t, conn, "fork", params)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), "%+v", params)
	}
	require.Len(t, f.forks, 1)
}

func TestAForkIsFoundByItsOwnFolder(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	fork := f.add("f1", core.HostID()) // newer
	fork.view.ParentID = "s1"
	home := filepath.Join(core.opts.Paths.ForkDir, "f1", "app")
	require.NoError(t, os.MkdirAll(home, 0o700))
	fork.view.Backend.WorkspaceRoot = home
	asked := func(folder string) string {
		t.Helper()
		result, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{WorkspaceFolder: folder, Text: "x"})
		require.NoError(t, err)
		return result.SessionID
	}
	require.Equal(t, "s1", asked(testFolder), "the fork works elsewhere")
	require.Equal(t, "f1", asked("file://"+home))
	listed := func(folder string) (ids []string) {
		t.Helper()
		list, err := run[editors.SessionsResult](t, conn, "sessions", editors.SessionsParams{WorkspaceFolder: folder})
		require.NoError(t, err)
		for _, s := range list.Sessions {
			ids = append(ids, s.ID)
		}
		return ids
	}
	require.Equal(t, []string{"f1", "s1"}, listed(testFolder))
	require.Equal(t, []string{"f1"}, listed("file://"+home))
	f.manager = false
	require.Equal(t, []string{"f1"}, listed("file://"+home), "also without the manager")
}

func TestAdopt(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	fork := f.add("fork", core.HostID())
	_, err := run[editors.AdoptResult](t, conn, "adopt", editors.AdoptParams{SessionID: "fork"})
	require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err))
	require.Contains(t, err.Error(), "not a fork")
	fork.view.ParentID = "s1"
	result, err := run[editors.AdoptResult](t, conn, "adopt", editors.AdoptParams{SessionID: "fork", OnConflict: editors.ConflictTheirs})
	require.NoError(t, err)
	require.Equal(t, "offered", result.Carry.Theirs)
	in := f.updates[len(f.updates)-1].arg.(agent.AdoptInput)
	require.Equal(t, []any{editors.ConflictTheirs, "fork", "test editor"}, []any{in.OnConflict, in.Offer.ForkID, in.By})
	fork.view.ParentID = "none"
	_, err = run[editors.AdoptResult](t, conn, "adopt", editors.AdoptParams{SessionID: "fork"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
	require.Contains(t, err.Error(), "forked from is gone")
}

func TestALongRequestComesAgainWhenItsRunIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeEngine()
		core := testCore(t, f)
		f.add("s1", core.HostID())
		v, err := core.view(t.Context(), "s1", nil)
		require.NoError(t, err)
		began := time.Now()
		f.quiet, f.fail = 10, []error{refused(agent.ErrTypeDraining, "again")}
		var result editors.SwitchResult
		err = core.update(patientWith(t.Context(), v), "switching", agent.WorkflowID("s1"), agent.UpdateSwitch, "r", agent.SwitchInput{}, &result)
		require.NoError(t, err)
		require.Greater(t, time.Since(began), retryTime)
		require.Len(t, f.updates, 1)
	})
}

func TestASwitchThatWaitsForAWorkerSaysSo(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", core.HostID()).setStatus(editors.StatusSwitching)
	list, err := run[editors.SessionsResult](t, testConn(t, core), "sessions", editors.SessionsParams{})
	require.NoError(t, err)
	require.Equal(t, editors.StatusRecovering, list.Sessions[0].State.Status)
	require.Contains(t, list.Sessions[0].State.Reason, "no worker is polling")
}

func TestALongRequestTellsWhatTheSessionDoes(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	s := f.add("s1", core.HostID())
	s.view.State.Reason = "Filling the new sandbox."
	v, err := core.view(t.Context(), "s1", nil)
	require.NoError(t, err)
	var said []string
	ctx := WithProgress(patientWith(t.Context(), v), func(message string) { said = append(said, message) })
	tell(ctx, f)
	tell(WithProgress(t.Context(), func(message string) { said = append(said, message) }), f)
	require.Equal(t, []string{"Filling the new sandbox.", "Waiting for the worker to answer."}, said)
}

func TestACarryThatIsNotWaitedForGoesOn(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	ctx, cancel := context.WithCancel(t.Context())
	f.onUpdate = cancel
	_, err := conn.Mux().Dispatch(ctx, "switch", editors.Raw(`{"sessionId":"s1","backend":{"kind":"docker"}}`))
	require.Equal(t, editors.CodeCancelled, editors.CodeOf(err))
	require.Contains(t, err.Error(), "goes on")
}

func TestAWorkerHearsWhatAnEditorHasUnsaved(t *testing.T) {
	core := testCore(t, newFakeEngine())
	conn := core.Connect("editor", func(editors.EventMessage) {})
	heard := make(chan agent.HoldUnsaved, 10)
	listen := func() *feed.Hub {
		hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
		require.NoError(t, err)
		hub.Handle(CallHoldUnsaved, func(ctx context.Context, raw editors.Raw) (any, error) {
			var p agent.HoldUnsaved
			err := copyJSON(raw, &p)
			heard <- p
			if len(p.Files) > 0 {
				<-ctx.Done()
			}
			return editors.Empty{}, err
		})
		return hub
	}
	hub := listen()
	conn.SetUnsaved([]string{"/w/a"}, "e")
	first := <-heard
	require.Equal(t, []string{"/w/a"}, first.Files)
	require.Equal(t, "e", first.Editor)
	require.NoError(t, hub.Close())
	hub = listen()
	t.Cleanup(func() { _ = hub.Close() })
	require.Equal(t, first, <-heard, "the next worker is told too")
	conn.SetUnsaved(nil, "e")
	last := <-heard
	require.Empty(t, last.Files)
	require.Equal(t, first.Holder, last.Holder)
	require.Greater(t, last.N, first.N)
}
