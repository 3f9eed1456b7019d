// This file gives the tests a product without Temporal.

package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/server/core"
	"sandboxagent/server/lsp"
)

const deadline = 10 * time.Second

// fake is a product with one session, s1, whose turns the test tells.
type fake struct {
	mux      editors.Mux
	mu       sync.Mutex
	sink     func(editors.EventMessage)
	seq      int64
	sessions []editors.Session
	snapshot editors.AttachResult
	made     []editors.NewParams
	asked    []editors.AskParams
	changed  []editors.ConfigureParams
	ruled    []editors.RulesParams
	rules    []editors.Rule
	answered chan editors.AnswerApprovalParams
	stopped  chan editors.InterruptParams
	turn     []editors.Event // what an ask brings about
	result   editors.AskResult
	worker   core.WorkerStatus
	attached chan struct{}
}

func newFake() *fake {
	f := &fake{
		answered: make(chan editors.AnswerApprovalParams, 10), stopped: make(chan editors.InterruptParams, 10),
		attached: make(chan struct{}, 10),
		result:   editors.AskResult{SessionID: "s1", TurnID: 1, ItemID: "i1"},
		snapshot: editors.AttachResult{Session: editors.Session{ID: "s1"}, State: editors.State{Status: editors.StatusIdle}, Seq: 1},
		seq:      1,
	}
	editors.Handle(&f.mux, editors.New, func(_ context.Context, p editors.NewParams) (editors.NewResult, error) {
		f.made = append(f.made, p)
		return editors.NewResult{Session: editors.Session{ID: "s1"}}, nil
	})
	editors.Handle(&f.mux, editors.Sessions, func(context.Context, editors.SessionsParams) (editors.SessionsResult, error) {
		return editors.SessionsResult{Sessions: f.sessions}, nil
	})
	editors.Handle(&f.mux, editors.Attach, func(context.Context, editors.AttachParams) (editors.AttachResult, error) {
		f.attached <- struct{}{}
		return f.snapshot, nil
	})
	editors.Handle(&f.mux, editors.Detach, func(context.Context, editors.SessionParams) (editors.Empty, error) { return editors.Empty{}, nil })
	editors.Handle(&f.mux, editors.Ask, f.ask)
	editors.Handle(&f.mux, editors.Configure, func(_ context.Context, p editors.ConfigureParams) (editors.SessionResult, error) {
		f.changed = append(f.changed, p)
		return editors.SessionResult{Session: editors.Session{ID: p.SessionID, Model: "demo", ApprovalMode: p.ApprovalMode}}, nil
	})
	editors.Handle(&f.mux, editors.AnswerApproval, func(_ context.Context, p editors.AnswerApprovalParams) (editors.AnswerApprovalResult, error) {
		if p.Pattern == "*" {
			return editors.AnswerApprovalResult{}, editors.Errorf(editors.CodeInvalidParams, "that is everything")
		}
		f.answered <- p
		return editors.AnswerApprovalResult{ApprovalID: p.ApprovalID, Decision: p.Decision, DecidedBy: "terminal", Scope: p.Scope, Pattern: cmp.Or(p.Pattern, "make")}, nil
	})
	editors.Handle(&f.mux, editors.Rules, func(_ context.Context, p editors.RulesParams) (editors.RulesResult, error) {
		f.ruled = append(f.ruled, p)
		return editors.RulesResult{Rules: f.rules}, nil
	})
	editors.Handle(&f.mux, editors.Interrupt, func(_ context.Context, p editors.InterruptParams) (editors.InterruptResult, error) {
		f.stopped <- p
		return editors.InterruptResult{TurnID: p.TurnID, Status: editors.TurnInterrupted}, nil
	})
	return f
}

// ask answers after the events it caused, as the core does.
func (f *fake) ask(_ context.Context, p editors.AskParams) (editors.AskResult, error) {
	f.asked = append(f.asked, p)
	for _, e := range f.turn {
		f.emit(e)
	}
	return f.result, nil
}

func (f *fake) emit(e editors.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq := f.seq
	if e.Type.Durable() {
		f.seq++
		seq = f.seq
	}
	f.sink(editors.EventMessage{SessionID: "s1", Seq: seq, Event: e})
}

type fakeConn struct{ *fake }

func (c fakeConn) Mux() *editors.Mux         { return &c.mux }
func (fakeConn) SetFolders([]string)         {}
func (fakeConn) SetUnsaved([]string, string) {}
func (fakeConn) Close()                      {}

func (f *fake) Connect(_ string, sink func(editors.EventMessage)) lsp.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sink == nil {
		f.sink = sink
	}
	return fakeConn{f}
}

func (f *fake) HostID() string                                          { return "host" }
func (f *fake) HoldFirst(context.Context) func()                        { return func() {} }
func (f *fake) Describe(context.Context) lsp.Description                { return lsp.Description{HostID: "host"} }
func (f *fake) StartWorker(context.Context) (core.WorkerStatus, error)  { return f.worker, nil }
func (f *fake) StopWorker(context.Context) error                        { return nil }
func (f *fake) WorkerStatus(context.Context) (core.WorkerStatus, error) { return f.worker, nil }
func (f *fake) Close()                                                  {}

// outcome is what a run of the program left behind.
type outcome struct {
	status         int
	stdout, stderr string
}

// terminalRun is one run whose end can be waited for.
type terminalRun struct {
	t              *testing.T
	app            *app
	stdout, stderr bytes.Buffer
	done           chan int
}

func start(t *testing.T, f *fake, term terminal, stdin io.Reader, args ...string) *terminalRun {
	t.Helper()
	r := &terminalRun{t: t, done: make(chan int, 1)}
	r.app = &app{
		stdin: stdin, stdout: &r.stdout, stderr: &r.stderr, dir: t.TempDir(), term: term, warnings: io.Discard,
		signals: make(chan os.Signal, 4),
		open:    func(*app) (product, error) { return f, nil },
	}
	go func() { r.done <- r.app.run(t.Context(), args) }()
	return r
}

func (r *terminalRun) wait() outcome {
	r.t.Helper()
	select {
	case status := <-r.done:
		return outcome{status, r.stdout.String(), r.stderr.String()}
	case <-time.After(deadline):
		require.FailNow(r.t, "the program did not end")
		return outcome{}
	}
}

func runVerb(t *testing.T, f *fake, args ...string) outcome {
	t.Helper()
	return start(t, f, terminal{}, strings.NewReader(""), args...).wait()
}

func completed(turn int) editors.Event {
	return editors.Event{Type: editors.TurnEnded, TurnID: turn, Status: editors.TurnCompleted}
}
