// This file is a session engine in memory: what the workflows promise, without Temporal.

package core

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/policy"
	"sandboxagent/internal/session"
)

// testFolder is the URI of a folder that is there while the tests run.
var testFolder string

// fakeEngine implements engine.
type fakeEngine struct {
	mu       sync.Mutex
	sessions map[string]*fakeSession // by workflow id
	manager  bool                    // the manager runs
	listed   []string                // session ids in the manager's registry, oldest first
	updates  []update
	forks    []session.ForkInput
	onUpdate func() // called when an update comes, which then takes for ever
	signals  []string
	pollers  int
	polled   time.Time      // when somebody last polled
	queues   map[string]int // pollers of other queues
	tails    []agent.HeartbeatTail
	silent   bool // no worker answers
	renamed  bool // sessions have taken every request for a title before
	quiet    int  // so many more requests find none
	down     bool // Temporal does not answer
	begun    int  // it has just begun: it is healthy, but so many more requests fail
	unseen   bool // visibility knows nothing
	fail     []error
	queryErr error
	followed chan struct{} // closed when somebody follows
	jitter   bool
	rules    []policy.Rule // of every session
}

// fakeSession is one AgentWorkflow.
type fakeSession struct {
	engine *fakeEngine
	view   editors.Session
	events []editors.EventMessage
	seq    int64
	keep   int // events kept
	page   int // events in one view
	items  []editors.Item
	sealed string
	pend   []editors.Approval
	seen   map[string]any
	rings  []func()
	ended  bool       // its workflow takes no more updates
	place  agent.View // what a view says of where it is
	refuse error      // what its next updates fail with
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{sessions: make(map[string]*fakeSession), pollers: 1, manager: true, followed: make(chan struct{})}
}

// add makes a session with one event.
func (f *fakeEngine) add(id, host string) *fakeSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Unix(int64(1000+len(f.sessions)), 0).UTC()
	s := &fakeSession{engine: f, keep: 200, page: 50, seen: make(map[string]any), view: editors.Session{
		ID: id, Title: "Session " + id, WorkspaceFolder: testFolder, HostID: host, CreatedAt: now, UpdatedAt: now,
		Backend: editors.Backend{Kind: editors.Local}, State: editors.State{Status: editors.StatusIdle, Since: now},
	}}
	f.sessions[agent.WorkflowID(id)] = s
	f.listed = append(f.listed, id)
	s.emit(editors.Event{Type: editors.SessionUpdated, Session: &s.view})
	return s
}

// emit records an event; the engine's lock is held.
func (s *fakeSession) emit(e editors.Event) int64 {
	s.seq++
	s.events = append(s.events, editors.EventMessage{SessionID: s.view.ID, Seq: s.seq, Event: e})
	if over := len(s.events) - s.keep; over > 0 {
		s.events = s.events[over:]
	}
	return s.seq
}

// do changes the session under the engine's lock and rings.
func (s *fakeSession) do(change func()) int64 {
	s.engine.mu.Lock()
	change()
	seq, rings := s.seq, append([]func(){}, s.rings...)
	s.engine.mu.Unlock()
	for _, ring := range rings {
		ring()
	}
	return seq
}

func (s *fakeSession) start(item editors.Item) int64 {
	return s.do(func() {
		item.Seq, item.Status = s.seq+1, editors.ItemInProgress
		s.items = append(s.items, item)
		s.emit(editors.Event{Type: editors.ItemStarted, Item: &item})
	})
}

func (s *fakeSession) complete(id string) int64 {
	return s.do(func() {
		for i := range s.items {
			if s.items[i].ID == id {
				s.items[i].Status = editors.ItemCompleted
				item := s.items[i]
				s.emit(editors.Event{Type: editors.ItemEnded, Item: &item})
			}
		}
	})
}

func (s *fakeSession) setStatus(status editors.Status) int64 {
	return s.do(func() {
		s.view.State.Status = status
		state := s.view.State
		s.emit(editors.Event{Type: editors.StateChanged, State: &state})
	})
}

func (s *fakeSession) look(after *int64) agent.View {
	v := s.place
	v.Session, v.Seq, v.Approvals, v.Queued = s.view, s.seq, append([]editors.Approval{}, s.pend...), []editors.QueuedMessage{}
	first := s.seq + 1 - int64(len(s.events))
	if after == nil || *after < first-1 || *after > s.seq {
		v.Snapshot, v.Items, v.Sealed = true, append([]editors.Item{}, s.items...), s.sealed
		return v
	}
	events := s.events[*after+1-first:]
	if len(events) > s.page {
		events, v.More = events[:s.page], true
		v.Seq = events[len(events)-1].Seq
	}
	v.Events = append([]editors.EventMessage{}, events...)
	return v
}

// trouble is what stands between a request and its answer. It returns with the lock held when there is none.
func (f *fakeEngine) trouble(ctx context.Context, needsWorker bool) error {
	if f.jitter {
		pause(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
	}
	f.mu.Lock()
	switch {
	case f.down || f.beginning():
		f.mu.Unlock()
		return serviceerror.NewUnavailable("connection refused")
	case needsWorker && (f.silent || f.quiet > 0):
		f.quiet--
		f.mu.Unlock()
		<-ctx.Done()
		return serviceerror.NewDeadlineExceeded("deadline exceeded")
	case len(f.fail) > 0:
		err := f.fail[0]
		f.fail = f.fail[1:]
		f.mu.Unlock()
		return err
	}
	return nil
}

func (f *fakeEngine) Create(ctx context.Context, in session.CreateInput) (session.CreateResult, error) {
	if err := f.trouble(ctx, true); err != nil {
		return session.CreateResult{}, err
	}
	old := f.sessions[agent.WorkflowID(in.SessionID)]
	f.mu.Unlock()
	if old != nil {
		return session.CreateResult{Session: old.view, Seq: 1}, nil
	}
	s := f.add(in.SessionID, in.HostID)
	s.view.WorkspaceFolder, s.view.Model, s.view.Title = in.FolderURI, in.Params.Model, in.Params.Title
	return session.CreateResult{Session: s.view, Seq: 1}, nil
}

func (f *fakeEngine) Update(ctx context.Context, u update, result any) error {
	if err := f.trouble(ctx, true); err != nil {
		return err
	}
	f.updates = append(f.updates, u)
	if hold := f.onUpdate; hold != nil {
		f.mu.Unlock()
		hold()
		<-ctx.Done()
		return ctx.Err()
	}
	if u.workflowID == session.ManagerID("me") {
		f.mu.Unlock()
		return nil
	}
	s := f.sessions[u.workflowID]
	if s == nil || s.ended {
		f.mu.Unlock()
		return serviceerror.NewNotFound("workflow not found for ID: " + u.workflowID)
	}
	answer, known := s.seen[u.id]
	f.mu.Unlock()
	if !known {
		if s.refuse != nil {
			return s.refuse
		}
		if answer = s.answer(u); answer == nil {
			return refused(agent.ErrTypeNotFound, "there is none")
		}
	}
	return copyJSON(answer, result)
}

// answer carries an update out.
func (s *fakeSession) answer(u update) (answer any) {
	s.do(func() {
		switch u.name {
		case agent.UpdateAsk:
			in := u.arg.(agent.AskInput)
			id := fmt.Sprintf("i%d", s.seq+1)
			item := editors.Item{ID: id, Kind: editors.UserMessage, Status: editors.ItemCompleted, Text: in.Text, Seq: s.seq + 1}
			s.items = append(s.items, item)
			s.emit(editors.Event{Type: editors.ItemStarted, Item: &item})
			s.emit(editors.Event{Type: editors.ItemEnded, Item: &item})
			answer = editors.AskResult{SessionID: s.view.ID, TurnID: 1, ItemID: id, Seq: s.seq}
		case agent.UpdateAnswer:
			p := u.arg.(editors.AnswerApprovalParams)
			answer = editors.AnswerApprovalResult{ApprovalID: p.ApprovalID, Decision: p.Decision, DecidedBy: p.By, Seq: s.seq}
		case agent.UpdateForget:
			answer = s.engine.forget(u.arg.(editors.RulesParams).Pattern)
			if answer == nil {
				return
			}
		case agent.UpdateDestroy:
			s.view.State.Status = editors.StatusDestroyed
			state := s.view.State
			answer = agent.DestroyOutput{Seq: s.emit(editors.Event{Type: editors.StateChanged, State: &state})}
		default:
			answer = s.carry(u)
		}
		s.seen[u.id] = answer
	})
	return answer
}

// forget takes a rule back, nil if there is none.
func (f *fakeEngine) forget(pattern string) any {
	for i, r := range f.rules {
		if r.Pattern == pattern {
			f.rules = slices.Delete(f.rules, i, i+1)
			return editors.RulesResult{Rules: []editors.Rule{{Scope: editors.ScopeSession, Tool: r.Tool, Pattern: r.Pattern}}}
		}
	}
	return nil
}

func copyJSON(from, to any) error {
	if to == nil {
		return nil
	}
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

func (f *fakeEngine) Query(ctx context.Context, workflowID, query string, arg, result any) error {
	if err := f.trouble(ctx, true); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if f.queryErr != nil {
		return f.queryErr
	}
	if query == session.QueryList {
		return f.list(arg.(session.ListRequest), result)
	}
	s := f.sessions[workflowID]
	if s == nil {
		return serviceerror.NewNotFound("workflow not found for ID: " + workflowID)
	}
	if query == agent.QueryRules {
		return copyJSON(f.rules, result)
	}
	return copyJSON(s.look(arg.(agent.ViewRequest).AfterSeq), result)
}

func (f *fakeEngine) list(req session.ListRequest, result any) error {
	if !f.manager {
		return serviceerror.NewNotFound("workflow not found")
	}
	out := session.ListResult{Sessions: []editors.Session{}}
	for i := len(f.listed) - 1; i >= 0; i-- {
		s := f.sessions[agent.WorkflowID(f.listed[i])]
		if req.FolderURI == "" || s.view.WorkspaceFolder == req.FolderURI {
			stale := s.view
			stale.State.Status, stale.UpdatedAt = editors.StatusIdle, time.Time{}
			out.Sessions = append(out.Sessions, stale)
		}
	}
	return copyJSON(out, result)
}

func (f *fakeEngine) Signal(ctx context.Context, workflowID, signal string, arg any) error {
	if err := f.trouble(ctx, false); err != nil {
		return err
	}
	s := f.sessions[workflowID]
	f.signals = append(f.signals, signal)
	deaf := f.silent || f.renamed
	f.mu.Unlock()
	if s == nil {
		return serviceerror.NewNotFound("workflow not found")
	}
	if rename, ok := arg.(agent.RenameSignal); ok && !deaf {
		s.do(func() {
			s.view.Title, s.view.TitleSource = rename.Title, editors.TitleUser
			renamed := s.view
			s.emit(editors.Event{Type: editors.SessionUpdated, Session: &renamed})
		})
	}
	return nil
}

func (f *fakeEngine) Describe(ctx context.Context, workflowID string) (description, error) {
	if err := f.trouble(ctx, false); err != nil {
		return description{}, err
	}
	defer f.mu.Unlock()
	s := f.sessions[workflowID]
	if s == nil {
		return description{}, serviceerror.NewNotFound("workflow not found")
	}
	known := s.view
	return description{session: &known, tails: append([]agent.HeartbeatTail{}, f.tails...)}, nil
}

func (f *fakeEngine) List(ctx context.Context, _ string) ([]editors.Session, error) {
	if err := f.trouble(ctx, false); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	var all []editors.Session
	for _, s := range f.sessions {
		if !f.unseen {
			all = append(all, s.view)
		}
	}
	return all, nil
}

func (f *fakeEngine) Follow(ctx context.Context, workflowID string, ring func()) error {
	f.mu.Lock()
	if s := f.sessions[workflowID]; s != nil {
		s.rings = append(s.rings, ring)
	}
	select {
	case <-f.followed:
	default:
		close(f.followed)
	}
	f.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeEngine) Pollers(_ context.Context, queue string) (n int, last time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down || f.beginning() {
		return 0, time.Time{}, serviceerror.NewUnavailable("connection refused")
	}
	if n, known := f.queues[queue]; known {
		return n, f.polled, nil
	}
	return f.pollers, f.polled, nil
}

// beginning tells whether a request comes too early; the lock is held.
func (f *fakeEngine) beginning() bool {
	f.begun--
	return f.begun >= 0
}

func (f *fakeEngine) Health(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return serviceerror.NewUnavailable("connection refused")
	}
	return nil
}

func (f *fakeEngine) Close() {}

func refused(kind, message string) error {
	return sdk.NewNonRetryableApplicationError(message, kind, nil)
}
