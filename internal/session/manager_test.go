package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// harness runs a manager in virtual time; the sessions it starts do nothing.
type harness struct {
	*testing.T
	env     *testsuite.TestWorkflowEnvironment
	found   Found
	lists   int
	started []agent.Input

	opened    []agent.OpenInput
	destroyed []agent.DestroyInput
	open      func(context.Context, agent.OpenInput) (agent.CarryOutput, error)
}

func newHarness(t *testing.T) *harness {
	var suite testsuite.WorkflowTestSuite
	h := &harness{T: t, env: suite.NewTestWorkflowEnvironment()}
	h.env.RegisterWorkflowWithOptions(Manager, workflow.RegisterOptions{Name: WorkflowName})
	h.env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in agent.Input) error {
		h.started = append(h.started, in)
		return workflow.Sleep(ctx, 1000*time.Hour)
	}, workflow.RegisterOptions{Name: agent.WorkflowName})
	h.env.RegisterActivityWithOptions(func(context.Context, string) (Found, error) {
		h.lists++
		return h.found, nil
	}, activity.RegisterOptions{Name: ActivityListSessions})
	h.registerForking()
	return h
}

func (h *harness) at(d time.Duration, f func()) { h.env.RegisterDelayedCallback(f, d) }

type reply struct {
	rejected, err error
	result        CreateResult
}

func (h *harness) create(in CreateInput) *reply {
	r := &reply{}
	h.env.UpdateWorkflow(UpdateCreate, "", &testsuite.TestUpdateCallback{
		OnReject: func(err error) { r.rejected = err },
		OnAccept: func() {},
		OnComplete: func(v any, err error) {
			r.err = err
			r.result, _ = v.(CreateResult)
		},
	}, in)
	return r
}

func wanted(n int) CreateInput {
	return CreateInput{
		RequestID: fmt.Sprint("request-", n), SessionID: fmt.Sprint("session-", n), Owner: "me", HostID: "h1", Folder: fmt.Sprint("/w", n%2),
		FolderURI: fmt.Sprint("file:///w", n%2), Params: editors.NewParams{Model: "demo", Title: fmt.Sprint("Title ", n)},
	}
}

func (h *harness) list(req ListRequest) ListResult {
	v, err := h.env.QueryWorkflow(QueryList, req)
	require.NoError(h, err)
	var out ListResult
	require.NoError(h, v.Get(&out))
	return out
}

// roll ends the run by continue-as-new at d and returns what it carried.
func (h *harness) roll(d time.Duration, in Input) Input {
	h.at(d, func() {
		h.env.SetContinueAsNewSuggested(true)
		h.env.SignalWorkflow(SignalClosed, "nobody") // something must wake it
	})
	h.env.ExecuteWorkflow(WorkflowName, in)
	var can *workflow.ContinueAsNewError
	require.True(h, errors.As(h.env.GetWorkflowError(), &can))
	var out Input
	require.NoError(h, converter.GetDefaultDataConverter().FromPayloads(can.Input, &out))
	return out
}

func TestSessionsAreCreatedOnceAndListedNewestFirst(t *testing.T) {
	h := newHarness(t)
	var first, again, bad *reply
	h.at(time.Second, func() {
		first = h.create(wanted(1))
		h.create(wanted(2))
	})
	h.at(2*time.Second, func() {
		again = h.create(wanted(1))
		noFolder := wanted(3)
		noFolder.Folder = "relative"
		bad = h.create(noFolder)
	})
	h.at(3*time.Second, func() {
		all := h.list(ListRequest{})
		require.Equal(t, []string{"session-2", "session-1"}, ids(all))
		require.Equal(t, []string{"session-1"}, ids(h.list(ListRequest{FolderURI: "file:///w1"})))
		require.Equal(t, []string{"session-2"}, ids(h.list(ListRequest{Search: "TITLE 2"})))
		page := h.list(ListRequest{Limit: 1})
		require.Equal(t, []string{"session-2"}, ids(page))
		require.Equal(t, []string{"session-1"}, ids(h.list(ListRequest{Limit: 1, Cursor: page.NextCursor})))
	})
	carried := h.roll(time.Minute, Input{Owner: "me"})
	require.NoError(t, first.err)
	require.Equal(t, "session-1", first.result.Session.ID)
	require.Equal(t, editors.TitleUser, first.result.Session.TitleSource)
	require.Equal(t, first.result.Session, again.result.Session)
	require.ErrorContains(t, bad.rejected, "not an absolute path")
	require.Len(t, h.started, 2)
	require.Len(t, carried.State.Sessions, 2)
	require.Equal(t, 1, h.lists)
}

func ids(r ListResult) []string {
	var out []string
	for _, s := range r.Sessions {
		out = append(out, s.ID)
	}
	return out
}

func TestALostRegistryIsRebuiltFromVisibility(t *testing.T) {
	h := newHarness(t)
	h.found = Found{Sessions: []editors.Session{{ID: "old", Title: "Old"}, {ID: "older", Title: "Older"}}, SearchAttributes: true}
	h.at(time.Second, func() { require.Equal(t, []string{"older", "old"}, ids(h.list(ListRequest{}))) })
	h.at(2*time.Second, func() { h.create(wanted(1)) })
	h.roll(time.Minute, Input{Owner: "me"})
	require.True(t, h.started[0].State.SearchAttributes)
}

func TestTheRegistryFollowsItsSessionsOverContinueAsNew(t *testing.T) {
	h := newHarness(t)
	h.at(time.Second, func() { h.create(wanted(1)); h.create(wanted(2)) })
	h.at(2*time.Second, func() {
		h.env.SignalWorkflow(SignalChanged, editors.Session{ID: "session-1", Title: "Renamed"})
		h.env.SignalWorkflow(SignalClosed, "session-2")
	})
	carried := h.roll(time.Minute, Input{Owner: "me"})
	require.Len(t, carried.State.Sessions, 1)
	require.Equal(t, "Renamed", carried.State.Sessions[0].Title)

	next := newHarness(t)
	var again *reply
	next.at(time.Second, func() { again = next.create(wanted(1)) })
	next.roll(time.Minute, carried)
	require.Equal(t, "Renamed", again.result.Session.Title, "a request repeated over the roll is known")
	require.Zero(t, next.lists, "a registry that was carried over is not rebuilt")
	require.Empty(t, next.started)
}

func TestTheRegistryStaysBounded(t *testing.T) {
	m := &manager{}
	for i := range 3 * maxSessions {
		m.add(editors.Session{ID: fmt.Sprint(i)})
	}
	m.prune()
	require.Len(t, m.state.Sessions, maxSessions)
	require.Equal(t, fmt.Sprint(3*maxSessions-1), m.state.Sessions[maxSessions-1].ID, "the newest stay")
}
