// This file forks sessions: a sandbox of its own first, filled from a checkpoint, then the session that works in it.

package session

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

const (
	maxForks      = 16 // being made at a time
	fillTime      = time.Hour
	fillHeartbeat = 15 * time.Second
	removeTime    = time.Minute
)

// forking is a fork, or another session that begins with a sandbox which is filled first, that is being made.
type forking struct {
	requestID string
	session   editors.Session
	away      bool // it waits for a worker of its host, and nothing has begun
}

// filling tells whether a worker is making the sandbox of a fork.
func (m *manager) filling() bool {
	return slices.ContainsFunc(m.forks, func(f *forking) bool { return !f.away })
}

func (m *manager) making(requestID string) bool {
	return requestID != "" && slices.ContainsFunc(m.forks, func(f *forking) bool { return f.requestID == requestID })
}

func (m *manager) validateFork(in ForkInput) error {
	p := in.Point
	switch {
	case !validID(in.SessionID) || in.SessionID == p.Session.ID || p.Session.ID == "" || p.Sandbox.HostID == "":
		return refuse(agent.ErrTypeInvalid, "A fork needs a source, and an id of its own of at most 64 letters, digits and dashes.")
	case p.Turn.CheckpointID == "":
		return refuse(agent.ErrTypeInvalid, "A fork needs a checkpoint to begin with.")
	case !path.IsAbs(in.Home):
		return refuse(agent.ErrTypeInvalid, "The fork's directory %q is not an absolute path.", in.Home)
	case len(in.RequestID) > editors.MaxRequestID:
		return refuse(agent.ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	}
	if in.Params.Backend != nil {
		if err := agent.CheckBackend(*in.Params.Backend); err != nil {
			return err
		}
	}
	if len(m.forks) >= maxForks && !m.making(in.RequestID) {
		return refuse(agent.ErrTypeBusy, "%d forks are being made; wait for one of them.", len(m.forks))
	}
	return m.open()
}

// fork makes a session that goes on from a point of another one. Whatever fails, there is no fork then.
func (m *manager) fork(ctx workflow.Context, in ForkInput) (CreateResult, error) {
	if err := workflow.Await(ctx, func() bool { return m.ready && !m.making(in.RequestID) }); err != nil {
		return CreateResult{}, err
	}
	if s := m.seen(in.RequestID); s != nil {
		return CreateResult{Session: *s, Notice: in.Point.Notice}, nil
	}
	if err := m.open(); err != nil {
		return CreateResult{}, err
	}
	if m.find(in.SessionID) != nil {
		return CreateResult{}, refuse(agent.ErrTypeConflict, "There is a session %s already.", in.SessionID)
	}
	forked := m.describe(workflow.Now(ctx), in)
	f, made := m.begin(in.RequestID, forked.Session)
	defer made()
	box := agent.Sandbox{
		SessionID: in.SessionID, Owner: m.owner, HostID: in.Point.Sandbox.HostID, Folder: in.Point.Sandbox.Folder, Backend: forked.Session.Backend,
	}
	var err error
	if forked.Carried, err = m.fill(ctx, f, "making the fork", forkInput(box, in.Point)); err != nil {
		return CreateResult{}, err
	}
	state := agent.NewForkState(m.owner, m.state.SearchAttributes, forked)
	if err := m.start(ctx, in.RequestID, state); err != nil {
		m.empty(ctx, agent.DestroyInput{Sandbox: box, Home: forked.Home})
		return CreateResult{}, err
	}
	return CreateResult{Session: state.Session, Notice: in.Point.Notice}, nil
}

// forkInput asks for the fork's sandbox.
func forkInput(box agent.Sandbox, p agent.ForkPoint) agent.OpenInput {
	base := p.GitBase
	if base == "" {
		base = p.Turn.CheckpointID
	}
	return agent.OpenInput{
		Sandbox: box, From: p.Sandbox, CheckpointID: p.Turn.CheckpointID, Base: base, Effect: box.SessionID + "-fork", Reason: "fork", TurnID: p.Turn.ID,
	}
}

// begin notes that a session is being made, until made is called.
func (m *manager) begin(requestID string, s editors.Session) (f *forking, made func()) {
	f = &forking{requestID: requestID, session: s}
	m.forks = append(m.forks, f)
	return f, func() { m.forks = slices.DeleteFunc(m.forks, func(other *forking) bool { return other == f }) }
}

// fill makes a sandbox with what its session begins with.
func (m *manager) fill(ctx workflow.Context, f *forking, what string, in agent.OpenInput) (agent.CarryOutput, error) {
	fctx, cancel := workflow.WithCancel(ctx)
	ended := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Await(ctx, func() bool { return ended || m.draining })
		cancel()
	})
	defer func() { ended = true }()
	work := agent.Work{
		HostID: in.HostID, Name: agent.ActivityOpenCarried,
		Options: workflow.ActivityOptions{StartToCloseTimeout: fillTime, HeartbeatTimeout: fillHeartbeat},
		Input:   in,
		Away:    func(_ workflow.Context, away bool) { f.away = away },
	}
	var out agent.CarryOutput
	failure := work.Repeat(fctx, what, &out)
	if m.draining && failure != nil {
		return out, m.open()
	}
	if failure == nil {
		failure = out.Failure
	}
	if failure != nil {
		return out, failure.Refusal()
	}
	return out, nil
}

// empty removes the sandbox of a session that has not come to be.
func (m *manager) empty(ctx workflow.Context, in agent.DestroyInput) {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: agent.HostQueue(in.HostID), StartToCloseTimeout: removeTime, ScheduleToCloseTimeout: 2 * removeTime,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 5},
	})
	if err := workflow.ExecuteActivity(actx, agent.ActivityDestroySandbox, in).Get(actx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("sandbox of a session that did not begin not removed", "sandbox", in.ID(), "error", err)
	}
}

// describe says what the fork will be.
func (m *manager) describe(now time.Time, in ForkInput) agent.Forked {
	source := in.Point.Session
	b, home := source.Backend, path.Clean(in.Home)
	b.WorkspaceRoot = ""
	if in.Params.Backend != nil {
		b = *in.Params.Backend
	}
	switch {
	case b.Kind != editors.Local:
	case b.WorkspaceRoot == "":
		b.WorkspaceRoot = home
	default:
		b.WorkspaceRoot = path.Clean(b.WorkspaceRoot)
		home = b.WorkspaceRoot
	}
	s := editors.Session{
		ID: in.SessionID, Title: agent.CleanTitle(in.Params.Title), TitleSource: editors.TitleUser, WorkspaceFolder: source.WorkspaceFolder,
		Backend: b, Model: source.Model, Effort: source.Effort, Budget: source.Budget, ApprovalMode: source.ApprovalMode, ParentID: source.ID, HostID: source.HostID,
		CreatedAt: now, UpdatedAt: now, State: editors.State{Status: editors.StatusIdle, Since: now},
	}
	if s.Title == "" {
		s.Title, s.TitleSource = m.forkTitle(source, b), editors.TitleGenerated
	}
	return agent.Forked{Session: s, Home: home, Point: in.Point}
}

// forkTitle names a fork after what its source is named after: X [docker] on another kind of backend, else X (fork #n), so that
// no other session has that title.
func (m *manager) forkTitle(source editors.Session, b editors.Backend) string {
	stem, place, first := stemOf(source), "", 1
	if b.Kind != source.Backend.Kind {
		place, first = fmt.Sprintf(" [%s]", b.Kind), 2
		if title := titled(stem, place); !m.titleTaken(title) {
			return title
		}
	}
	for n := first; ; n++ {
		if title := titled(stem, fmt.Sprintf("%s (fork #%d)", place, n)); !m.titleTaken(title) {
			return title
		}
	}
}

var forkSuffixes = regexp.MustCompile(`(?: \(fork #\d+\)| \[(?:local|docker|e2b|daytona)\])+$`)

// stemOf is a session's title without what was put behind it when it was made as a fork.
func stemOf(s editors.Session) string {
	if s.ParentID == "" || s.TitleSource == editors.TitleUser {
		return s.Title
	}
	if stem := forkSuffixes.ReplaceAllString(s.Title, ""); stem != "" {
		return stem
	}
	return s.Title
}

// titled puts a suffix behind a title, which is cut if both are too long.
func titled(title, suffix string) string {
	if r := []rune(title); len(r)+len(suffix) > editors.MaxTitleRunes {
		title = string(r[:editors.MaxTitleRunes-len(suffix)])
	}
	return title + suffix
}

// titleTaken tells whether a session has that title, or one that is being made.
func (m *manager) titleTaken(title string) bool {
	return slices.ContainsFunc(m.state.Sessions, func(s editors.Session) bool { return s.Title == title }) ||
		slices.ContainsFunc(m.forks, func(f *forking) bool { return f.session.Title == title })
}
