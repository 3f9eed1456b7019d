// This file tests the engine on Temporal's client, as far as that needs no server.

package core

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

func mockedEngine(t *testing.T) (*temporalEngine, *mocks.Client) {
	t.Helper()
	m := new(mocks.Client)
	t.Cleanup(func() { m.AssertExpectations(t) })
	return &temporalEngine{client: m, namespace: "agent", converter: converter.GetDefaultDataConverter()}, m
}

func memoOf(t *testing.T, id string) *commonpb.Memo {
	t.Helper()
	payload, err := converter.GetDefaultDataConverter().ToPayload(editors.Session{ID: id, Title: "T"})
	require.NoError(t, err)
	return &commonpb.Memo{Fields: map[string]*commonpb.Payload{agent.MemoSession: payload}}
}

func TestListingDoesWithoutSearchAttributes(t *testing.T) {
	e, m := mockedEngine(t)
	asks := func(owner bool) any {
		return mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
			return r.Namespace == "agent" && strings.Contains(r.Query, "SandboxOwner = 'o''neill'") == owner
		})
	}
	m.On("ListWorkflow", mock.Anything, asks(true)).Return(nil, serviceerror.NewInvalidArgument("invalid search attribute")).Once()
	m.On("ListWorkflow", mock.Anything, asks(false)).Return(&workflowservice.ListWorkflowExecutionsResponse{
		Executions:    []*workflowpb.WorkflowExecutionInfo{{Memo: memoOf(t, "s1")}, {}},
		NextPageToken: []byte("more"),
	}, nil).Once()
	m.On("ListWorkflow", mock.Anything, asks(false)).Return(&workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{{Memo: memoOf(t, "s2")}},
	}, nil).Once()
	sessions, err := e.List(t.Context(), "o'neill")
	require.NoError(t, err)
	require.Len(t, sessions, 2)
	require.Equal(t, "s2", sessions[1].ID)
}

func TestDescribingReadsMemoAndHeartbeats(t *testing.T) {
	e, m := mockedEngine(t)
	tail := agent.HeartbeatTail{ItemID: "i1", Seq: 4, Attempt: 1, Stream: "stdout", Offset: 10, Tail: "x"}
	details, err := e.converter.ToPayloads(tail)
	require.NoError(t, err)
	other, err := e.converter.ToPayloads("progress of something else")
	require.NoError(t, err)
	m.On("DescribeWorkflow", mock.Anything, "session/s1", "").Return(&client.WorkflowExecutionDescription{
		RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Memo: memoOf(t, "s1")},
			PendingActivities: []*workflowpb.PendingActivityInfo{
				{HeartbeatDetails: details},
				{HeartbeatDetails: other},
				{},
			},
		},
	}, nil)
	d, err := e.Describe(t.Context(), agent.WorkflowID("s1"))
	require.NoError(t, err)
	require.Equal(t, "s1", d.session.ID)
	require.Equal(t, []agent.HeartbeatTail{tail}, d.tails)
}

// historyOf is an iterator over events and, at its end, an error.
func historyOf(err error, events ...*historypb.HistoryEvent) client.HistoryEventIterator {
	it := new(mocks.HistoryEventIterator)
	for _, event := range events {
		it.On("HasNext").Return(true).Once()
		it.On("Next").Return(event, nil).Once()
	}
	it.On("HasNext").Return(err != nil)
	it.On("Next").Return(nil, err)
	return it
}

func TestFollowingGoesOnWithTheNextRun(t *testing.T) {
	e, m := mockedEngine(t)
	done := &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED}
	timer := &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_TIMER_STARTED}
	next := &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
			WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: "run2"},
		},
	}
	all := enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
	m.On("GetWorkflowHistory", mock.Anything, "session/s1", "", true, all).Return(historyOf(nil, done, timer, next)).Once()
	m.On("GetWorkflowHistory", mock.Anything, "session/s1", "run2", true, all).Return(historyOf(nil, done)).Once()
	rings := 0
	err := e.Follow(t.Context(), "session/s1", func() { rings++ })
	require.ErrorIs(t, err, errWorkflowEnded)
	require.Equal(t, 3, rings)

	broken := errors.New("connection lost")
	m.On("GetWorkflowHistory", mock.Anything, "session/s1", "", true, all).Return(historyOf(broken)).Once()
	require.ErrorIs(t, e.Follow(t.Context(), "session/s1", func() {}), broken)
}

func TestUpdatesWaitForTheirAnswer(t *testing.T) {
	e, m := mockedEngine(t)
	handle := new(mocks.WorkflowUpdateHandle)
	handle.On("Get", mock.Anything, mock.Anything).Run(func(args mock.Arguments) {
		args.Get(1).(*editors.AskResult).Seq = 7
	}).Return(nil)
	m.On("UpdateWorkflow", mock.Anything, client.UpdateWorkflowOptions{
		UpdateID: "ask/r1", WorkflowID: "session/s1", UpdateName: agent.UpdateAsk,
		Args: []any{agent.AskInput{Text: "x"}}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}).Return(handle, nil)
	var result editors.AskResult
	u := update{workflowID: "session/s1", name: agent.UpdateAsk, id: "ask/r1", arg: agent.AskInput{Text: "x"}}
	require.NoError(t, e.Update(context.Background(), u, &result))
	require.Equal(t, int64(7), result.Seq)
}
