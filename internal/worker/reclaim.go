// This file hands back what a dead worker of this host held, so that nobody waits for its heartbeats to time out.

package worker

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

const reclaimTime = 30 * time.Second

// identity names this process in histories: a worker of the host, and which one.
func identity(hostID string) string {
	return fmt.Sprintf("%s%d-%x", identityOf(hostID), os.Getpid(), time.Now().UnixNano())
}

func identityOf(hostID string) string { return "worker@" + hostID + "/" }

// reclaim fails every activity that another worker of this host has begun: the lock that this process holds shows that the
// other one is dead. The sessions then run them again at once, under the same ids.
func (p *process) reclaim(ctx context.Context, searchAttributes bool) {
	ctx, cancel := context.WithTimeout(ctx, reclaimTime)
	defer cancel()
	agents := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", agent.WorkflowName)
	if searchAttributes {
		agents += fmt.Sprintf(" AND %s = '%s' AND %s IN ('running', 'recovering', 'waitingApproval', 'switching')", agent.AttrHost, p.hostID, agent.AttrState)
	}
	p.reclaimAll(ctx, agents)
	p.reclaimAll(ctx, fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", session.WorkflowName)) // which make forks
}

func (p *process) reclaimAll(ctx context.Context, query string) {
	list, err := p.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 200})
	if err != nil {
		p.Log.Warn("cannot look for what a former worker left", "error", err)
		return
	}
	for _, e := range list.Executions {
		if err := p.reclaimFrom(ctx, e.Execution); err != nil {
			p.Log.Warn("cannot take over from a former worker", "workflow", e.Execution.WorkflowId, "error", err)
		}
	}
}

func (p *process) reclaimFrom(ctx context.Context, e *commonpb.WorkflowExecution) error {
	d, err := p.client.DescribeWorkflow(ctx, e.WorkflowId, e.RunId)
	if err != nil {
		return err
	}
	for _, a := range d.RawResponse.PendingActivities {
		if a.State != enums.PENDING_ACTIVITY_STATE_STARTED || a.LastWorkerIdentity == p.identity || !strings.HasPrefix(a.LastWorkerIdentity, identityOf(p.hostID)) {
			continue
		}
		if err := p.client.CompleteActivityByID(ctx, p.profile.Namespace, e.WorkflowId, e.RunId, a.ActivityId, nil, workerStopped()); err != nil {
			return fmt.Errorf("hand back activity %s: %w", a.ActivityId, err)
		}
		p.Log.Info("taken over from a former worker", "workflow", e.WorkflowId, "activity", a.ActivityType.GetName())
	}
	return nil
}
