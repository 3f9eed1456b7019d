package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/model/modeltest"
)

// TestTwoHundredTurns takes one session through 200 turns with 100 KiB of output each. It takes minutes: see `make test-full`.
func TestTwoHundredTurns(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_FULL") == "" {
		t.Skip("takes minutes; runs with SANDBOX_TEST_FULL=1 (make test-full)")
	}
	const turns = 200
	i := newInstall(t, modeltest.Script{Rules: []modeltest.Rule{
		{Match: modeltest.Match{LastUser: "turn", Step: n(0)}, Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{{
			Name: "exec_command", Arguments: json.RawMessage(`{"command":"head -c 102400 /dev/zero | tr '\\0' x"}`),
		}}}},
		{Match: modeltest.Match{LastUser: "turn", Step: n(1)}, Respond: modeltest.Answer{Text: "did {{lastUser}}"}},
	}})
	var session string
	for turn := 1; turn <= turns; turn++ {
		s := i.start("ask", "--workspace", i.work, "--approve", "never", fmt.Sprintf("turn %d", turn))
		require.Zero(t, s.wait(), s.describe())
		require.Equal(t, []string{fmt.Sprintf("did turn %d", turn)}, answers(s.durable()))
		session = s.all()[0].SessionID
	}
	events, bytes, runs := i.histories(session)
	t.Logf("%d runs; the largest has %d events, %d bytes", runs, events, bytes)
	require.Less(t, events, int64(4000))
	require.Less(t, bytes, int64(4<<20))

	began := time.Now()
	s := i.start("attach", session)
	last := fmt.Sprintf("did turn %d", turns)
	s.until("the last answer", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemEnded && e.Event.Item.Text == last
	})
	t.Logf("attach took %v", time.Since(began))

	var texts []string
	for before := ""; ; {
		var page editors.HistoryResult
		args := []string{"history", session, "--limit", "100"}
		if before != "" {
			args = append(args, "--before", before)
		}
		i.ok(&page, args...)
		var part []string
		for _, item := range page.Items {
			if item.Kind == editors.UserMessage {
				part = append(part, item.Text)
			}
		}
		texts = append(part, texts...)
		if before = page.Before; before == "" {
			break
		}
	}
	require.Len(t, texts, turns, "nothing is lost over continue-as-new")
	for n, text := range texts {
		require.Equal(t, fmt.Sprintf("turn %d", n+1), text)
	}
}

// histories measures the runs of a session's workflow: the most events, the most bytes, and how many runs there were.
func (i *install) histories(session string) (events, bytes int64, runs int) {
	i.Helper()
	ctx, cancel := context.WithTimeout(i.Context(), patience)
	defer cancel()
	c := i.temporalClient(ctx)
	defer c.Close()
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", agent.WorkflowID(session))})
	require.NoError(i, err)
	for _, e := range list.Executions {
		d, err := c.DescribeWorkflow(ctx, e.Execution.WorkflowId, e.Execution.RunId)
		require.NoError(i, err)
		info := d.RawResponse.WorkflowExecutionInfo
		events, bytes = max(events, info.HistoryLength), max(bytes, info.HistorySizeBytes)
		runs++
	}
	return events, bytes, runs
}
