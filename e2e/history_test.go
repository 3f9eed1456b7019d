package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/replay"
	"sandboxagent/internal/session"
	"sandboxagent/internal/temporal"
)

// TestTodaysHistoriesReplay records what a real session and its manager decided and replays it. With SANDBOX_RECORD naming
// a folder, the histories are kept there: put them into internal/replay/testdata with each release.
func TestTodaysHistoriesReplay(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		call("build", "exec_command", `{"command":"echo built; sleep 1"}`, "Built."),
		call("denied", "exec_command", `{"command":"rm -rf /"}`, "Understood."),
		call("long", "exec_command", `{"command":"sleep 600"}`, "?"),
		say("hello", "Hello."),
	), "SANDBOX_AGENT_OWNER=tester")
	first := i.start("ask", "--workspace", i.work, "--approve", "never", "build it")
	id := first.until("the turn", isType(editors.TurnStarted)).SessionID
	second := i.start("ask", "--session", id, "hello")
	require.Zero(t, first.wait(), first.describe())
	require.Zero(t, second.wait(), second.describe())
	i.ok(nil, "configure", id, "--approve", "ask")
	require.Equal(t, 3, i.start("ask", "--session", id, "denied").wait())
	i.ok(nil, "approve", id, "--deny", "--feedback", "no")
	i.ok(nil, "attach", id, "--until-idle")
	i.ok(nil, "configure", id, "--approve", "never")
	long := i.start("ask", "--session", id, "long")
	long.until("the command", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemStarted && e.Event.Item.Kind == editors.ToolCall
	})
	i.ok(nil, "interrupt", id)
	i.ok(nil, "title", id, "Recorded")
	i.ok(nil, "destroy", id)

	for name, workflow := range map[string]string{"session": agent.WorkflowID(id), "manager": session.ManagerID("tester")} {
		history := i.history(workflow)
		require.NoError(t, replay.History(history), name)
		i.keep(name, history)
	}
}

// TestTodaysLongTurnsReplay does the same for a session that is compacted, waits at its budget and gets a title.
func TestTodaysLongTurnsReplay(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rounds(10, 3000))
	i.configure("[models.scripted]\nwindow = 9000\ninput = 1\noutput = 2\n")
	id := i.session()
	i.done(id, "begin")
	i.ok(nil, "configure", id, "--budget", "turn-calls=8,cost=100")
	s := i.start("ask", "--session", id, "WORK until 10")
	asked := s.until("the question", isType(editors.ApprovalRequested)).Event.Approval
	i.ok(nil, "approve", id, asked.ID)
	i.eventually("the end", func() bool { return i.listed(id).State.Status == editors.StatusIdle })
	i.eventually("the title", func() bool { return i.listed(id).Title == "Counting rounds" })
	i.ok(nil, "compact", id)
	i.done(id, "begin again")
	i.ok(nil, "destroy", id)
	history := i.history(agent.WorkflowID(id))
	require.NoError(t, replay.History(history))
	i.keep("long", history)
}

// TestTodaysSealedSessionsReplay does the same for a session with so many items that the oldest are moved out of its state.
func TestTodaysSealedSessionsReplay(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rounds(85, 10))
	id := i.session()
	i.done(id, "WORK until 85")
	i.ok(nil, "destroy", id)
	history := i.history(agent.WorkflowID(id))
	require.Contains(t, history.String(), agent.ActivitySeal)
	require.NoError(t, replay.History(history))
	i.keep("sealed", history)
}

func (i *install) history(workflowID string) *historypb.History {
	i.Helper()
	ctx, cancel := context.WithTimeout(i.Context(), patience)
	defer cancel()
	c := i.temporalClient(ctx)
	defer c.Close()
	out := &historypb.History{}
	for it := c.GetWorkflowHistory(ctx, workflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(i, err)
		out.Events = append(out.Events, e)
	}
	return out
}

func (i *install) temporalClient(ctx context.Context) client.Client {
	i.Helper()
	profile, err := temporal.Resolve(ctx, temporal.ResolveOptions{StateDir: i.paths.TemporalDir, Embedded: true})
	require.NoError(i, err)
	c, err := temporal.Dial(ctx, profile, temporal.Options{})
	require.NoError(i, err)
	return c
}

func (i *install) keep(name string, h *historypb.History) {
	i.Helper()
	dir := os.Getenv("SANDBOX_RECORD")
	if dir == "" {
		return
	}
	b, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
	require.NoError(i, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(b)
	require.NoError(i, err)
	require.NoError(i, w.Close())
	require.NoError(i, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s.json.gz", name, editors.Version)), packed.Bytes(), 0o644))
}
