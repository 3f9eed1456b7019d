package session

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/policy"
)

func (h *harness) registerForking() {
	h.env.RegisterActivityWithOptions(func(ctx context.Context, in agent.OpenInput) (agent.CarryOutput, error) {
		h.opened = append(h.opened, in)
		if h.open != nil {
			return h.open(ctx, in)
		}
		return agent.CarryOutput{Carry: editors.Carry{Added: 7}, CheckpointID: "carried-" + in.SessionID}, nil
	}, activity.RegisterOptions{Name: agent.ActivityOpenCarried})
	h.env.RegisterActivityWithOptions(func(_ context.Context, in agent.DestroyInput) error {
		h.destroyed = append(h.destroyed, in)
		return nil
	}, activity.RegisterOptions{Name: agent.ActivityDestroySandbox})
	h.env.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: agent.ActivityPing})
}

func (h *harness) fork(in ForkInput) *reply {
	r := &reply{}
	h.env.UpdateWorkflow(UpdateFork, "", &testsuite.TestUpdateCallback{
		OnReject: func(err error) { r.rejected = err },
		OnAccept: func() {},
		OnComplete: func(v any, err error) {
			r.err = err
			r.result, _ = v.(CreateResult)
		},
	}, in)
	return r
}

// meanwhile lets an activity do something with the manager, in the test's own loop, and waits for it.
func (h *harness) meanwhile(f func()) {
	done := make(chan struct{})
	h.env.RegisterDelayedCallback(func() { defer close(done); f() }, 0)
	<-done
}

// state is what a session was started with.
func (h *harness) state(id string) agent.State {
	for _, in := range h.started {
		if in.State.Session.ID == id {
			return in.State
		}
	}
	require.Fail(h, "not started", id)
	return agent.State{}
}

func forkOf(source editors.Session, n int, b *editors.Backend) ForkInput {
	return ForkInput{
		RequestID: fmt.Sprint("fork-", n), SessionID: fmt.Sprint("f", n), Owner: "me", Home: fmt.Sprint("/forks/f", n),
		Params: editors.ForkParams{SessionID: source.ID, Backend: b},
		Point: agent.ForkPoint{
			Session: source, Sandbox: agent.Sandbox{SessionID: source.ID, Owner: "me", HostID: "h1", Folder: "/w", Backend: source.Backend},
			Turn:     agent.TurnEnd{ID: 3, Head: "sha256:head", CheckpointID: "after3", NextItem: 8, Pending: []agent.Pending{{Kind: "toolResult", CallID: "c"}}},
			Items:    []editors.Item{{ID: "i7", TurnID: 3, Seq: 40, Kind: editors.AgentMessage, Status: editors.ItemCompleted}},
			Turns:    []agent.TurnEnd{{ID: 2, CheckpointID: "after2"}, {ID: 3, CheckpointID: "after3"}},
			Sealed:   "sha256:old",
			NextItem: 12, Seq: 70, Rules: []policy.Rule{{Tool: "exec_command", Pattern: "make"}},
		},
	}
}

var source = editors.Session{ID: "src", Title: "Work", HostID: "h1", Model: "demo", ApprovalMode: editors.ApprovalAsk, Backend: editors.Backend{Kind: editors.Local}, WorkspaceFolder: "file:///w"}

func TestAForkIsASandboxFirstAndThenASession(t *testing.T) {
	h := newHarness(t)
	var local, again, second, other, named *reply
	h.at(time.Second, func() { local = h.fork(forkOf(source, 1, nil)) })
	h.at(2*time.Second, func() {
		again = h.fork(forkOf(source, 1, nil))
	})
	h.at(3*time.Second, func() {
		second = h.fork(forkOf(source, 2, nil))
		other = h.fork(forkOf(source, 3, &editors.Backend{Kind: editors.Docker, Image: "debian"}))
		in := forkOf(source, 4, &editors.Backend{Kind: editors.Local, WorkspaceRoot: "/mine/"})
		in.Params.Title = "Another way"
		named = h.fork(in)
	})
	h.at(4*time.Second, func() {
		require.Empty(t, ids(h.list(ListRequest{})), "forks are listed when asked for")
		require.Len(t, ids(h.list(ListRequest{IncludeForks: true})), 4)
	})
	carried := h.roll(time.Minute, Input{Owner: "me"})
	require.NoError(t, local.err)
	require.Equal(t, local.result.Session, again.result.Session)
	require.Len(t, h.opened, 4)
	require.Len(t, h.started, 4)
	require.Len(t, carried.State.Sessions, 4)

	open := h.opened[0]
	require.Equal(t, "f1", open.ID())
	require.Equal(t, "/forks/f1", open.Backend.WorkspaceRoot)
	require.Equal(t, "/w", open.Folder)
	require.Equal(t, "after3", open.CheckpointID)
	require.Equal(t, "after3", open.Base, "the source is at home, where its tree is its user's")
	require.Equal(t, "fork", open.Reason)
	require.Equal(t, "src", open.From.SessionID)

	var titles []string
	for _, r := range []*reply{local, second, other, named} {
		titles = append(titles, r.result.Session.Title)
	}
	require.Equal(t, []string{"Work (fork #1)", "Work (fork #2)", "Work [docker]", "Another way"}, titles)
	require.Equal(t, editors.TitleGenerated, local.result.Session.TitleSource)
	require.Equal(t, editors.TitleUser, named.result.Session.TitleSource)

	state := h.state("f1")
	require.Equal(t, "src", state.Session.ParentID)
	require.Equal(t, 3, state.Session.ForkedAtTurn)
	require.Equal(t, 3, state.Session.TurnID)
	require.Equal(t, "carried-f1", state.Session.CheckpointID)
	require.Equal(t, "carried-f1", state.ForkBase)
	require.Equal(t, "/forks/f1", state.Home)
	require.Equal(t, "/w", state.Folder)
	require.Equal(t, 4, state.NextTurn)
	require.Equal(t, 13, state.NextItem)
	require.Equal(t, "sha256:head", state.Head)
	require.Equal(t, "sha256:old", state.Sealed)
	require.False(t, state.Starting, "a fork begins as a checkpoint")
	require.Len(t, state.Rules, 1)
	require.Empty(t, h.state("f3").Rules, "what was allowed here is not allowed there")
	require.Equal(t, "c", state.Pending[0].CallID)
	require.True(t, state.Pending[1].Note)
	require.Contains(t, state.Pending[1].Text, `fork of "Work" as it was after turn 3`)
	require.Equal(t, "i7", state.Items[0].ID)
	require.Equal(t, editors.Notice, state.Items[1].Kind)
	require.Greater(t, state.Items[1].Seq, state.Items[0].Seq)
	require.Equal(t, state.Items[1].Seq, state.Seq, "later events come later")
	require.Equal(t, []string{"after2", "carried-f1"}, []string{state.Turns[0].CheckpointID, state.Turns[1].CheckpointID})
	require.Equal(t, "/mine", h.state("f4").Home)
}

func TestAForkThatFailsLeavesNothing(t *testing.T) {
	h := newHarness(t)
	h.open = func(_ context.Context, in agent.OpenInput) (agent.CarryOutput, error) {
		switch {
		case len(h.opened) == 1:
			return agent.CarryOutput{Failure: &agent.Failure{Code: editors.CodeBackendUnavailable, Message: "Docker does not answer.", Remedy: "Start it."}}, nil
		case len(h.opened) < 8:
			return agent.CarryOutput{}, temporal.NewNonRetryableApplicationError("stopped", agent.ErrTypeWorkerStopped, nil)
		}
		return agent.CarryOutput{}, nil
	}
	var down, dying, well, bad *reply
	h.at(time.Second, func() { down = h.fork(forkOf(source, 1, nil)) })
	h.at(2*time.Second, func() { dying = h.fork(forkOf(source, 2, nil)) })
	h.at(3*time.Second, func() { well = h.fork(forkOf(source, 2, nil)) })
	h.at(4*time.Second, func() {
		in := forkOf(source, 5, nil)
		in.Point.Turn.CheckpointID = ""
		bad = h.fork(in)
	})
	carried := h.roll(time.Minute, Input{Owner: "me"})
	var app *temporal.ApplicationError
	require.ErrorAs(t, down.err, &app)
	require.Equal(t, string(editors.CodeBackendUnavailable), app.Type())
	require.ErrorAs(t, dying.err, &app)
	require.Equal(t, string(editors.CodeWorkerUnavailable), app.Type())
	require.NoError(t, well.err, "asked again, it is tried again")
	require.ErrorContains(t, bad.rejected, "checkpoint")
	require.Len(t, h.opened, 8)
	for _, in := range h.opened[1:] {
		require.Equal(t, "f2-fork", in.Effect)
	}
	require.Len(t, h.started, 1)
	require.Len(t, carried.State.Sessions, 1)
	require.Equal(t, "Work (fork #1)", well.result.Session.Title)
}

func TestAForkWhoseSessionCannotStartLeavesNoSandbox(t *testing.T) {
	h := newHarness(t)
	h.env.OnWorkflow(agent.WorkflowName, mock.Anything, mock.Anything).Return(testsuite.ErrMockStartChildWorkflowFailed)
	var forked *reply
	h.at(time.Second, func() { forked = h.fork(forkOf(source, 1, nil)) })
	carried := h.roll(time.Minute, Input{Owner: "me"})
	require.Error(t, forked.err)
	require.Empty(t, carried.State.Sessions)
	require.Len(t, h.destroyed, 1)
	require.Equal(t, "f1", h.destroyed[0].ID())
	require.Equal(t, "/forks/f1", h.destroyed[0].Home)
}

func TestTheManagerTakesOthersWhileAForkIsFilled(t *testing.T) {
	h := newHarness(t)
	var created, duplicate *reply
	h.open = func(ctx context.Context, _ agent.OpenInput) (agent.CarryOutput, error) {
		if len(h.opened) == 1 {
			h.meanwhile(func() {
				created, duplicate = h.create(wanted(1)), h.fork(forkOf(source, 1, nil))
				h.env.SetCurrentHistoryLength(rollEvents + 1)
				h.env.SignalWorkflow(SignalClosed, "nobody")
			})
		}
		return agent.CarryOutput{}, nil
	}
	var forked *reply
	h.at(time.Second, func() { forked = h.fork(forkOf(source, 1, nil)) })
	h.env.ExecuteWorkflow(WorkflowName, Input{Owner: "me"})
	var can *workflow.ContinueAsNewError
	require.ErrorAs(t, h.env.GetWorkflowError(), &can)
	require.NoError(t, created.err)
	require.NoError(t, forked.err, "the run goes on as new only when the fork is there")
	require.Equal(t, forked.result.Session.ID, duplicate.result.Session.ID)
	require.Len(t, h.opened, 1)
	require.Len(t, h.started, 2)
}

func TestAForkThatWaitsForItsHostDoesNotHoldUpTheManager(t *testing.T) {
	h := newHarness(t)
	h.open = func(context.Context, agent.OpenInput) (agent.CarryOutput, error) {
		return agent.CarryOutput{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	}
	var forked *reply
	h.at(time.Second, func() { forked = h.fork(forkOf(source, 1, nil)) })
	h.env.OnActivity(agent.ActivityPing, mock.Anything).Return(temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)).After(time.Hour)
	h.roll(10*time.Hour, Input{Owner: "me"})
	var app *temporal.ApplicationError
	require.ErrorAs(t, forked.err, &app)
	require.Equal(t, agent.ErrTypeDraining, app.Type(), "who asks is to ask again")
	require.Empty(t, h.started)
}

func TestForksOfForksAreNamedAfterTheirOrigin(t *testing.T) {
	m := &manager{}
	made := func(title string, source editors.TitleSource, parent string) editors.Session {
		s := editors.Session{ID: title, Title: title, TitleSource: source, ParentID: parent, Backend: editors.Backend{Kind: editors.Local}}
		m.add(s)
		return s
	}
	docker, local := editors.Backend{Kind: editors.Docker}, editors.Backend{Kind: editors.Local}
	work := made("Work", editors.TitleGenerated, "")
	first := made(m.forkTitle(work, local), editors.TitleGenerated, work.ID)
	require.Equal(t, "Work (fork #1)", first.Title)
	second := made(m.forkTitle(first, local), editors.TitleGenerated, first.ID)
	require.Equal(t, "Work (fork #2)", second.Title)
	boxed := made(m.forkTitle(second, docker), editors.TitleGenerated, second.ID)
	require.Equal(t, "Work [docker]", boxed.Title)
	boxed.Backend = docker
	require.Equal(t, "Work [docker] (fork #2)", m.forkTitle(work, docker))
	require.Equal(t, "Work [local]", m.forkTitle(boxed, local))
	m.forks = []*forking{{session: editors.Session{Title: "Work [local]"}}}
	require.Equal(t, "Work [local] (fork #2)", m.forkTitle(boxed, local), "one that is being made counts")

	named := made("Plan (fork #7)", editors.TitleUser, work.ID)
	require.Equal(t, "Plan (fork #7) (fork #1)", m.forkTitle(named, local), "what the user wrote stays")
	odd := made(" [docker]", editors.TitleGenerated, work.ID)
	require.Equal(t, " [docker] (fork #1)", m.forkTitle(odd, local))
}

func TestTitlesOfForksStayWithinTheirBounds(t *testing.T) {
	m := &manager{}
	long := editors.Session{ID: "x", Title: strings.Repeat("ä", editors.MaxTitleRunes), Backend: editors.Backend{Kind: editors.Local}}
	title := m.forkTitle(long, long.Backend)
	require.Len(t, []rune(title), editors.MaxTitleRunes)
	require.True(t, strings.HasSuffix(title, " (fork #1)"))
}
