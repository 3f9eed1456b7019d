// This file is the engine on a Temporal client.

package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
	"sandboxagent/internal/temporal"
)

const (
	maxListed = 1000 // sessions read from visibility
	listPage  = 200
)

// temporalEngine implements engine.
type temporalEngine struct {
	client    client.Client
	namespace string
	converter converter.DataConverter
}

func (e *temporalEngine) Create(ctx context.Context, in session.CreateInput) (session.CreateResult, error) {
	return e.askManager(ctx, in.Owner, session.UpdateCreate, in.RequestID, in)
}

func (e *temporalEngine) Fork(ctx context.Context, in session.ForkInput) (session.CreateResult, error) {
	return e.askManager(ctx, in.Owner, session.UpdateFork, session.UpdateFork+"/"+in.RequestID, in)
}

// askManager starts the owner's manager if need be and runs an update of it.
func (e *temporalEngine) askManager(ctx context.Context, owner, name, updateID string, in any) (session.CreateResult, error) {
	id := session.ManagerID(owner)
	start := e.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: id, TaskQueue: agent.AgentQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, session.WorkflowName, session.Input{Owner: owner})
	var result session.CreateResult
	handle, err := e.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: updateID, WorkflowID: id, UpdateName: name,
			Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, &result)
	}
	return result, err
}

func (e *temporalEngine) Update(ctx context.Context, u update, result any) error {
	handle, err := e.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID: u.id, WorkflowID: u.workflowID, UpdateName: u.name,
		Args: []any{u.arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, result)
}

func (e *temporalEngine) Query(ctx context.Context, workflowID, query string, arg, result any) error {
	value, err := e.client.QueryWorkflow(ctx, workflowID, "", query, arg)
	if err != nil {
		return err
	}
	return value.Get(result)
}

func (e *temporalEngine) Signal(ctx context.Context, workflowID, signal string, arg any) error {
	return e.client.SignalWorkflow(ctx, workflowID, "", signal, arg)
}

func (e *temporalEngine) Describe(ctx context.Context, workflowID string) (description, error) {
	described, err := e.client.DescribeWorkflow(ctx, workflowID, "")
	if err != nil {
		return description{}, err
	}
	resp := described.RawResponse
	d := description{session: e.memoSession(resp.GetWorkflowExecutionInfo().GetMemo())}
	for _, activity := range resp.GetPendingActivities() {
		var tail agent.HeartbeatTail
		details := activity.GetHeartbeatDetails()
		if details == nil || e.converter.FromPayloads(details, &tail) != nil || tail.ItemID == "" {
			continue // of an activity that shows nothing
		}
		d.tails = append(d.tails, tail)
	}
	return d, nil
}

func (e *temporalEngine) memoSession(memo *commonpb.Memo) *editors.Session {
	payload := memo.GetFields()[agent.MemoSession]
	if payload == nil {
		return nil
	}
	var s editors.Session
	if e.converter.FromPayload(payload, &s) != nil || s.ID == "" {
		return nil
	}
	return &s
}

func (e *temporalEngine) List(ctx context.Context, owner string) ([]editors.Session, error) {
	running := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", agent.WorkflowName)
	sessions, err := e.list(ctx, fmt.Sprintf("%s AND %s = '%s'", running, agent.AttrOwner, strings.ReplaceAll(owner, "'", "''")))
	var unknown *serviceerror.InvalidArgument
	if errors.As(err, &unknown) {
		return e.list(ctx, running) // the cluster does not know our search attributes
	}
	return sessions, err
}

func (e *temporalEngine) list(ctx context.Context, query string) ([]editors.Session, error) {
	var sessions []editors.Session
	var token []byte
	for {
		resp, err := e.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: e.namespace, PageSize: listPage, NextPageToken: token, Query: query,
		})
		if err != nil {
			return nil, err
		}
		for _, info := range resp.GetExecutions() {
			if s := e.memoSession(info.GetMemo()); s != nil {
				sessions = append(sessions, *s)
			}
		}
		if token = resp.GetNextPageToken(); len(token) == 0 || len(sessions) >= maxListed {
			return sessions, nil
		}
	}
}

// Follow reads the history as it grows. Only completed workflow tasks change what a session shows.
func (e *temporalEngine) Follow(ctx context.Context, workflowID string, ring func()) error {
	run := ""
	for {
		next, err := e.followRun(ctx, workflowID, run, ring)
		if err != nil || next == "" {
			return err
		}
		run = next
	}
}

// followRun returns the id of the run that continues this one, "" when none does.
func (e *temporalEngine) followRun(ctx context.Context, workflowID, run string, ring func()) (next string, err error) {
	events := e.client.GetWorkflowHistory(ctx, workflowID, run, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		var event *historypb.HistoryEvent
		if event, err = events.Next(); err != nil {
			return "", err
		}
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
			ring()
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
			ring()
			next = event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
	}
	if next == "" && ctx.Err() == nil {
		return "", errWorkflowEnded
	}
	return next, ctx.Err()
}

// errWorkflowEnded tells that nothing more will happen in a workflow.
var errWorkflowEnded = errors.New("the workflow has ended")

func (e *temporalEngine) Pollers(ctx context.Context, queue string) (n int, last time.Time, err error) {
	return temporal.Pollers(ctx, e.client, queue)
}

func (e *temporalEngine) Health(ctx context.Context) error { return temporal.Health(ctx, e.client) }

func (e *temporalEngine) Close() { e.client.Close() }
