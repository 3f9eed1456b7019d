// This file is SessionManagerWorkflow: it creates sessions, orders them and knows their titles.

package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

const (
	stateSchema = 1
	maxSessions = 1000 // kept in the registry; older ones are still found in visibility
	maxSeen     = 256
	rollEvents  = 2000
	// These end a run for certain, earlier than the server would.
	mustRollEvents = 10_000
	mustRollBytes  = 16 << 20
	pageLimit      = 50
	maxPage        = 200
	// maxCarried bounds the registry as JSON; the carried state must stay well under Temporal's 2 MB.
	maxCarried = 900 << 10
)

// manager is a running SessionManagerWorkflow.
type manager struct {
	owner    string
	state    State
	ready    bool // the registry has been rebuilt
	draining bool
	forks    []*forking // being made
}

// Manager is SessionManagerWorkflow.
func Manager(ctx workflow.Context, in Input) error {
	m := &manager{owner: in.Owner}
	if err := m.register(ctx); err != nil {
		return fmt.Errorf("register handlers: %w", err)
	}
	if err := m.restore(ctx, in); err != nil {
		return err
	}
	m.listen(ctx)
	if err := workflow.Await(ctx, func() bool { return m.shouldRoll(ctx) && (!m.filling() || m.mustRoll(ctx)) }); err != nil {
		return err
	}
	m.draining = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	m.drain(ctx)
	m.prune()
	return workflow.NewContinueAsNewError(ctx, WorkflowName, Input{Owner: m.owner, State: &m.state})
}

func (m *manager) shouldRoll(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > rollEvents
}

// mustRoll tells whether the run has grown so long that it ends even though a fork is being filled, which is asked for again.
func (m *manager) mustRoll(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetCurrentHistoryLength() > mustRollEvents || info.GetCurrentHistorySize() > mustRollBytes
}

// restore takes over the registry, or rebuilds it from visibility when there is none.
func (m *manager) restore(ctx workflow.Context, in Input) error {
	if in.State != nil {
		m.state, m.ready = *in.State, true
		return nil
	}
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: agent.AgentQueue, StartToCloseTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	})
	var found Found
	if err := workflow.ExecuteActivity(actx, ActivityListSessions, m.owner).Get(actx, &found); err != nil {
		return fmt.Errorf("rebuild the registry: %w", err)
	}
	m.state = State{Schema: stateSchema, Sessions: found.Sessions, SearchAttributes: found.SearchAttributes}
	m.prune()
	m.ready = true
	return nil
}

func (m *manager) register(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryList, m.list); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateCreate, m.create, workflow.UpdateHandlerOptions{Validator: m.validateCreate}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateFork, m.fork, workflow.UpdateHandlerOptions{Validator: m.validateFork}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateForget, m.forget, workflow.UpdateHandlerOptions{Validator: func(ForgetInput) error { return m.open() }})
}

func refuse(kind, format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), kind, nil)
}

func (m *manager) open() error {
	if m.draining {
		return refuse(agent.ErrTypeDraining, "The session manager is being carried over; try again.")
	}
	return nil
}

func (m *manager) validateCreate(in CreateInput) error {
	switch {
	case !validID(in.SessionID) || in.HostID == "":
		return refuse(agent.ErrTypeInvalid, "A session needs a host, and an id of at most 64 letters, digits and dashes.")
	case !strings.HasPrefix(in.Folder, "/"):
		return refuse(agent.ErrTypeInvalid, "The workspace folder %q is not an absolute path.", in.Folder)
	case len(in.RequestID) > editors.MaxRequestID:
		return refuse(agent.ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	}
	if err := agent.CheckApprovalMode(in.Params.ApprovalMode); err != nil {
		return err
	}
	return m.open()
}

// validID tells whether a session id is safe wherever it becomes part of a name, such as a file's.
func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}

// create starts a session's workflow. It lives on when the manager ends.
func (m *manager) create(ctx workflow.Context, in CreateInput) (CreateResult, error) {
	if err := workflow.Await(ctx, func() bool { return m.ready && !m.making(in.RequestID) }); err != nil {
		return CreateResult{}, err
	}
	if s := m.seen(in.RequestID); s != nil {
		return CreateResult{Session: *s}, nil
	}
	s := newSession(workflow.Now(ctx), in)
	state := agent.NewState(m.owner, in.Folder, m.state.SearchAttributes, s)
	switch {
	case s.Backend.Kind == editors.Local:
		state.Home = s.Backend.WorkspaceRoot // where it works is its own directory
	case agent.BeginsEmpty(s.Backend.Kind):
		return m.createAway(ctx, in, state)
	}
	if err := m.start(ctx, in.RequestID, state); err != nil {
		return CreateResult{}, err
	}
	return CreateResult{Session: s}, nil
}

// start starts the workflow of a session and lists it.
func (m *manager) start(ctx workflow.Context, requestID string, state agent.State) error {
	s := state.Session
	cctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: agent.WorkflowID(s.ID), TaskQueue: agent.AgentQueue,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo:                  map[string]any{agent.MemoSession: s},
	})
	err := workflow.ExecuteChildWorkflow(cctx, agent.WorkflowName, agent.Input{State: state}).GetChildWorkflowExecution().Get(cctx, nil)
	var started *temporal.ChildWorkflowExecutionAlreadyStartedError
	if err != nil && !errors.As(err, &started) {
		return refuse("internal", "The session's workflow could not be started: %v", err)
	}
	m.add(s)
	m.state.Seen = append(m.state.Seen, Seen{requestID, s.ID})
	if len(m.state.Seen) > maxSeen {
		m.state.Seen = append([]Seen(nil), m.state.Seen[len(m.state.Seen)-maxSeen:]...)
	}
	return nil
}

func newSession(now time.Time, in CreateInput) editors.Session {
	p := in.Params
	s := editors.Session{
		ID: in.SessionID, Title: agent.CleanTitle(p.Title), TitleSource: editors.TitleUser, WorkspaceFolder: in.FolderURI,
		Backend: editors.Backend{Kind: editors.Local}, Model: p.Model, ApprovalMode: p.ApprovalMode, HostID: in.HostID,
		CreatedAt: now, UpdatedAt: now, State: editors.State{Status: editors.StatusIdle, Since: now},
	}
	if s.Title == "" {
		s.Title, s.TitleSource = "Session "+last(in.SessionID, 8), editors.TitleDefault
	}
	if p.Backend != nil {
		s.Backend = *p.Backend
	}
	if s.ApprovalMode == "" {
		s.ApprovalMode = editors.ApprovalAsk
	}
	return s
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

func (m *manager) seen(requestID string) *editors.Session {
	if requestID == "" {
		return nil
	}
	for _, k := range m.state.Seen {
		if k.RequestID == requestID {
			return m.find(k.SessionID)
		}
	}
	return nil
}

func (m *manager) find(id string) *editors.Session {
	for i := range m.state.Sessions {
		if m.state.Sessions[i].ID == id {
			return &m.state.Sessions[i]
		}
	}
	return nil
}

func (m *manager) add(s editors.Session) {
	if old := m.find(s.ID); old != nil {
		*old = s
		return
	}
	m.state.Sessions = append(m.state.Sessions, s)
}

func (m *manager) remove(id string) {
	kept := make([]editors.Session, 0, len(m.state.Sessions))
	for _, s := range m.state.Sessions {
		if s.ID != id {
			kept = append(kept, s)
		}
	}
	m.state.Sessions = kept
}

// prune keeps the registry within bounds, dropping the oldest.
func (m *manager) prune() {
	drop := max(0, len(m.state.Sessions)-maxSessions)
	for bytes := registrySize(m.state.Sessions[drop:]); bytes > maxCarried; bytes = registrySize(m.state.Sessions[drop:]) {
		drop++
	}
	m.state.Sessions = append([]editors.Session(nil), m.state.Sessions[drop:]...)
}

// registrySize estimates the registry's length as JSON: some 700 bytes a session besides its texts.
func registrySize(sessions []editors.Session) int {
	n := 0
	for _, s := range sessions {
		n += 700 + len(s.Title) + len(s.WorkspaceFolder) + len(s.State.Reason) + len(s.Backend.Image) + len(s.Backend.WorkspaceRoot)
	}
	return n
}

func (m *manager) forget(_ workflow.Context, in ForgetInput) error {
	m.remove(in.SessionID)
	return nil
}

// listen keeps the registry up to date with what the sessions say of themselves.
func (m *manager) listen(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ch := workflow.GetSignalChannel(ctx, SignalChanged)
		var s editors.Session
		for ch.Receive(ctx, &s) {
			m.changed(s)
			s = editors.Session{}
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		ch := workflow.GetSignalChannel(ctx, SignalClosed)
		var id string
		for ch.Receive(ctx, &id) {
			m.remove(id)
		}
	})
}

func (m *manager) changed(s editors.Session) {
	if s.ID != "" {
		m.add(s)
	}
}

func (m *manager) drain(ctx workflow.Context) {
	changed, closed := workflow.GetSignalChannel(ctx, SignalChanged), workflow.GetSignalChannel(ctx, SignalClosed)
	for s := (editors.Session{}); changed.ReceiveAsync(&s); s = (editors.Session{}) {
		m.changed(s)
	}
	for id := ""; closed.ReceiveAsync(&id); {
		m.remove(id)
	}
}

// list answers QueryList, newest first. A cursor is the number of sessions already given.
func (m *manager) list(req ListRequest) (ListResult, error) {
	skip := 0
	if req.Cursor != "" {
		n, err := strconv.Atoi(req.Cursor)
		if err != nil || n < 0 {
			return ListResult{}, refuse(agent.ErrTypeInvalid, "The cursor %q is not one of ours.", req.Cursor)
		}
		skip = n
	}
	limit := req.Limit
	if limit <= 0 {
		limit = pageLimit
	}
	limit = min(limit, maxPage)
	out := ListResult{Sessions: []editors.Session{}}
	for i := len(m.state.Sessions) - 1; i >= 0; i-- {
		s := m.state.Sessions[i]
		if !matches(s, req) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(out.Sessions) == limit {
			n, _ := strconv.Atoi(req.Cursor)
			out.NextCursor = strconv.Itoa(n + limit)
			break
		}
		out.Sessions = append(out.Sessions, s)
	}
	return out, nil
}

func matches(s editors.Session, req ListRequest) bool {
	switch {
	case req.FolderURI != "" && s.WorkspaceFolder != req.FolderURI:
		return false
	case !req.IncludeForks && s.ParentID != "":
		return false
	}
	return req.Search == "" || strings.Contains(strings.ToLower(s.Title), strings.ToLower(req.Search))
}
