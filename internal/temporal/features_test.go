// These tests exist because sessions are built on features of the server that other clusters switch off: creating by
// update-with-start, reading by standalone activity, listing by search attributes, cancelling by push.

package temporal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// cancellable answers an update with its text and, when told to stop, cancels an activity that heartbeats rarely.
func cancellable(ctx workflow.Context) error {
	_ = workflow.SetUpdateHandler(ctx, "echo", func(_ workflow.Context, s string) (string, error) { return s, nil })
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, HeartbeatTimeout: 30 * time.Second, WaitForCancellation: true,
	}))
	running := workflow.ExecuteActivity(ctx, "Long")
	workflow.GetSignalChannel(ctx, "stop").Receive(ctx, nil)
	cancel()
	return running.Get(ctx, nil)
}

func TestEmbeddedFeatures(t *testing.T) {
	dir := t.TempDir()
	startReal(t, dir)
	c := dialReal(t, dir, Options{})
	began := make(chan struct{})
	w := worker.New(c, "agent", worker.Options{})
	w.RegisterWorkflow(cancellable)
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		activity.RecordHeartbeat(ctx)
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}, activity.RegisterOptions{Name: "Long"})
	w.RegisterActivityWithOptions(func(_ context.Context, s string) (string, error) { return "read " + s, nil }, activity.RegisterOptions{Name: "Read"})
	require.NoError(t, w.Start())
	defer w.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	title := temporal.NewSearchAttributeKeyKeyword("SandboxTitle")
	start := c.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: "s", TaskQueue: "agent", WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes: temporal.NewSearchAttributes(title.ValueSet("Fix the parser")),
	}, cancellable)
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions:          client.UpdateWorkflowOptions{UpdateID: "1", UpdateName: "echo", Args: []any{"hi"}, WaitForStage: client.WorkflowUpdateStageCompleted},
	})
	require.NoError(t, err)
	var text string
	require.NoError(t, handle.Get(ctx, &text))
	require.Equal(t, "hi", text)

	for _, query := range []string{`SandboxTitle = "Fix the parser"`, `SandboxTitle STARTS_WITH "Fix the"`} {
		require.Eventually(t, func() bool {
			list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query})
			return err == nil && len(list.Executions) == 1
		}, 10*time.Second, 20*time.Millisecond, query)
	}

	read, err := c.ExecuteActivity(ctx, client.StartActivityOptions{ID: "a", TaskQueue: "agent", StartToCloseTimeout: 10 * time.Second}, "Read", "it")
	require.NoError(t, err)
	require.NoError(t, read.Get(ctx, &text))
	require.Equal(t, "read it", text)

	<-began
	stopped := time.Now()
	require.NoError(t, c.SignalWorkflow(ctx, "s", "", "stop", nil))
	run, err := start.Get(ctx)
	require.NoError(t, err)
	require.Error(t, run.Get(ctx, nil))
	require.Less(t, time.Since(stopped), 5*time.Second, "the next heartbeat would be 24 s away")
	t.Logf("cancelled in %s", time.Since(stopped))
}
