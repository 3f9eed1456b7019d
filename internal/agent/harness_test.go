package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// harness runs one session's workflow in virtual time with scripted activities.
type harness struct {
	*testing.T
	mu     sync.Mutex // of what activities record, which may run side by side
	env    *testsuite.TestWorkflowEnvironment
	model  func(ModelStepInput) (ModelStepResult, error)
	tool   func(context.Context, RunToolInput) (RunToolResult, error)
	steps  []ModelStepInput
	tools  []RunToolInput
	sealed []SealInput
	killed int
	pings  int

	pictured  []CheckpointInput
	noPicture string // why no checkpoint can be taken
	rung      int64

	kept      []KeepRuleInput
	noKeeping error

	carried carried

	compacted []CompactInput
	compact   func(CompactInput) (CompactResult, error)
	stopped   []CommandInput
	stop      func(CommandInput) (CommandEnd, error)
	awaited   []CommandInput
	awaitEnd  func(CommandInput) (CommandEnd, error)

	titled []TitleInput
	title  func(TitleInput) (TitleResult, error)
}

func newHarness(t *testing.T) *harness {
	var suite testsuite.WorkflowTestSuite
	h := &harness{T: t, env: suite.NewTestWorkflowEnvironment()}
	h.model = func(ModelStepInput) (ModelStepResult, error) { return says("done"), nil }
	h.tool = func(context.Context, RunToolInput) (RunToolResult, error) {
		return RunToolResult{Status: editors.ItemCompleted, ModelRef: "sha256:result"}, nil
	}
	h.compact = func(in CompactInput) (CompactResult, error) {
		return CompactResult{Head: "sha256:short", Before: in.Tokens, After: 21_000, How: "it was summarised", Usage: editors.Usage{InputTokens: 7, ModelCalls: 1}}, nil
	}
	h.stop = func(in CommandInput) (CommandEnd, error) {
		return CommandEnd{How: "Stopped by the user (" + in.By + ") after 12.0 s with all it started.", StoppedBy: in.By}, nil
	}
	h.awaitEnd = func(CommandInput) (CommandEnd, error) { return CommandEnd{How: "Exit code 3 after 5m0s."}, nil }
	h.title = func(TitleInput) (TitleResult, error) { return TitleResult{}, errors.New("no title") }
	w := &Workflows{Ring: func(_ string, seq int64) { h.rung = seq }}
	h.env.RegisterWorkflowWithOptions(w.Agent, workflow.RegisterOptions{Name: WorkflowName})
	register := func(name string, f any) {
		h.env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	register(ActivityModelStep, func(_ context.Context, in ModelStepInput) (ModelStepResult, error) {
		record(h, &h.steps, in)
		return h.model(in)
	})
	register(ActivityRunTool, func(ctx context.Context, in RunToolInput) (RunToolResult, error) {
		record(h, &h.tools, in)
		return h.tool(ctx, in)
	})
	register(ActivityCheckpoint, func(ctx context.Context, in CheckpointInput) (CheckpointOutput, error) {
		record(h, &h.pictured, in)
		if h.carried.picture != nil {
			return h.carried.picture(ctx, in)
		}
		if h.noPicture != "" {
			return CheckpointOutput{Failure: h.noPicture}, nil
		}
		return CheckpointOutput{Checkpoint: &editors.Checkpoint{ID: fmt.Sprint("c", len(h.pictured)), TurnID: in.TurnID, ItemID: in.ItemID, Summary: in.Summary}}, nil
	})
	register(ActivityCompact, func(_ context.Context, in CompactInput) (CompactResult, error) {
		record(h, &h.compacted, in)
		return h.compact(in)
	})
	register(ActivityTitle, func(_ context.Context, in TitleInput) (TitleResult, error) {
		record(h, &h.titled, in)
		return h.title(in)
	})
	register(ActivityStopCommand, func(_ context.Context, in CommandInput) (CommandEnd, error) {
		record(h, &h.stopped, in)
		return h.stop(in)
	})
	register(ActivityAwaitCommand, func(_ context.Context, in CommandInput) (CommandEnd, error) {
		record(h, &h.awaited, in)
		return h.awaitEnd(in)
	})
	register(ActivityKeepRule, func(_ context.Context, in KeepRuleInput) error {
		record(h, &h.kept, in)
		return h.noKeeping
	})
	register(ActivityPing, func(context.Context) error { h.pings++; return nil })
	register(ActivitySeal, func(_ context.Context, in SealInput) (string, error) {
		record(h, &h.sealed, in)
		return fmt.Sprintf("sha256:segment%d", len(h.sealed)), nil
	})
	h.registerCarrying(register)
	h.env.OnSignalExternalWorkflow("default-test-namespace", "session-manager/me", "", ManagerSignalClosed, "s1").Return(nil).Maybe()
	h.env.OnSignalExternalWorkflow("default-test-namespace", "session-manager/me", "", ManagerSignalChanged, mockAny).Return(nil).Maybe()
	return h
}

func record[T any](h *harness, list *[]T, in T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*list = append(*list, in)
}

func says(text string) ModelStepResult {
	return ModelStepResult{Head: "sha256:head", Message: Text{Inline: text, Bytes: int64(len(text))}, Usage: editors.Usage{InputTokens: 10, OutputTokens: 5}}
}

func calls(requests ...CallRequest) ModelStepResult {
	r := says("")
	r.Calls = requests
	return r
}

func run(id, command string) CallRequest {
	return CallRequest{CallID: id, Tool: "exec_command", Arguments: fmt.Sprintf(`{"command":%q}`, command), Subject: command}
}

func reads(id string) CallRequest {
	return CallRequest{CallID: id, Tool: "read_file", Arguments: `{"path":"a"}`, Subject: "a"}
}

func testSession(mode editors.ApprovalMode) Input {
	return Input{State: NewState("me", "/w", false, editors.Session{
		ID: "s1", Title: "Session s1", TitleSource: editors.TitleDefault, Model: "demo", ApprovalMode: mode,
		HostID: "h1", Backend: editors.Backend{Kind: editors.Local},
	})}
}

// meanwhile lets an activity do something with the session, in the test's own loop, and waits for it.
func (h *harness) meanwhile(f func()) {
	done := make(chan struct{})
	h.env.RegisterDelayedCallback(func() { defer close(done); f() }, 0)
	<-done
}

// at runs f at a virtual time.
func (h *harness) at(d time.Duration, f func()) { h.env.RegisterDelayedCallback(f, d) }

// reply is what an update came to.
type reply struct {
	rejected error
	value    any
	err      error
}

func (h *harness) update(name string, arg any) *reply {
	r := &reply{}
	h.env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
		OnReject:   func(err error) { r.rejected = err },
		OnAccept:   func() {},
		OnComplete: func(v any, err error) { r.value, r.err = v, err },
	}, arg)
	return r
}

func (h *harness) ask(id, text string) *reply {
	return h.update(UpdateAsk, AskInput{RequestID: id, Text: text})
}

func (h *harness) view(after *int64) View {
	v, err := h.env.QueryWorkflow(QueryView, ViewRequest{AfterSeq: after})
	require.NoError(h, err)
	var out View
	require.NoError(h, v.Get(&out))
	return out
}

// finish destroys the session at d, runs the workflow to its end and returns all events.
func (h *harness) finish(d time.Duration, in Input) []editors.EventMessage {
	var events []editors.EventMessage
	h.at(d, func() {
		zero := int64(0)
		events = h.all(zero)
		h.update(UpdateDestroy, editors.SessionParams{SessionID: "s1"})
	})
	h.env.ExecuteWorkflow(WorkflowName, in)
	require.True(h, h.env.IsWorkflowCompleted())
	require.NoError(h, h.env.GetWorkflowError())
	require.Equal(h, 1, h.killed, "the sandbox is removed once")
	for i, e := range events {
		require.EqualValues(h, i+1, e.Seq, "seq has no gap")
	}
	return events
}

// all reads the events after seq, page by page.
func (h *harness) all(after int64) []editors.EventMessage {
	var out []editors.EventMessage
	for {
		v := h.view(&after)
		out = append(out, v.Events...)
		if !v.More {
			return out
		}
		after = v.Events[len(v.Events)-1].Seq
	}
}

func ofType(events []editors.EventMessage, t editors.EventType) []editors.Event {
	var out []editors.Event
	for _, e := range events {
		if e.Event.Type == t {
			out = append(out, e.Event)
		}
	}
	return out
}

func endsOf(events []editors.EventMessage) []string {
	var out []string
	for _, e := range ofType(events, editors.TurnEnded) {
		out = append(out, fmt.Sprintf("%d %s", e.TurnID, e.Status))
	}
	return out
}

func itemsOf(events []editors.EventMessage, kind editors.ItemKind) []editors.Item {
	var out []editors.Item
	for _, e := range ofType(events, editors.ItemEnded) {
		if e.Item.Kind == kind {
			out = append(out, *e.Item)
		}
	}
	return out
}
