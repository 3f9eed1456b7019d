// This file finds what this host has made for sessions that do not need it, or do not exist, any more.

package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/sandbox"
)

// Orphan is something that nobody seems to need.
type Orphan struct {
	Kind      string    `json:"kind"` // of the backend, or fork: the folder of one
	ID        string    `json:"id"`   // of the sandbox, or the folder
	SessionID string    `json:"sessionId"`
	Reason    string    `json:"reason"`
	Made      time.Time `json:"made,omitzero"`
	Removable bool      `json:"removable"` // the worker removes it when it is old enough; else nobody can tell whether it is needed
}

// OrphansResult lists what nobody seems to need. Problems tell what could not be looked at.
type OrphansResult struct {
	Orphans  []Orphan `json:"orphans"`
	Problems []string `json:"problems,omitempty"`
}

const kindFork = "fork"

// sessionNow is what Temporal knows of a session.
type sessionNow struct {
	exists bool
	epochs func(ctx context.Context) (present int64, former []int64, changing bool, err error) // of its sandboxes
}

// sessions tell of sessions; temporalSessions is one.
type sessions interface {
	now(ctx context.Context, id string) (sessionNow, error)
}

// finder looks for orphans.
type finder struct {
	acts     *Activities
	sessions sessions
	seen     map[string]sessionNow
	out      OrphansResult
}

// findOrphans lists them. What cannot be asked for is never taken for an orphan.
func (a *Activities) findOrphans(ctx context.Context, s sessions) OrphansResult {
	f := &finder{acts: a, sessions: s, seen: map[string]sessionNow{}, out: OrphansResult{Orphans: []Orphan{}}}
	for _, kind := range []editors.BackendKind{editors.Local, editors.Docker, editors.E2B, editors.Daytona} {
		b := a.Backends[kind]
		l, ok := b.(sandbox.Lister)
		if !ok || carry.Leaves(sandbox.Kind(kind)) && b.Available(ctx) != nil {
			continue // without a key nobody can be asked, and nobody misses it
		}
		f.sandboxes(ctx, kind, l)
	}
	f.forks(ctx)
	return f.out
}

func (f *finder) problem(what string, err error) {
	f.out.Problems = append(f.out.Problems, fmt.Sprintf("%s: %s", what, plain(err)))
}

func (f *finder) sandboxes(ctx context.Context, kind editors.BackendKind, l sandbox.Lister) {
	found, err := l.List(ctx, "")
	if err != nil {
		f.problem("list the sandboxes of "+string(kind), err)
		return
	}
	for _, x := range found {
		session, epoch, ok := splitID(x.ID)
		if !ok || x.HostID != "" && x.HostID != f.acts.HostID { // those of a cloud are no host's: their realm tells whose they are
			continue
		}
		if x.Away != "" {
			f.out.Problems = append(f.out.Problems, fmt.Sprintf("sandbox %s lives %s", x.ID, x.Away))
			continue
		}
		o := Orphan{Kind: string(kind), ID: x.ID, SessionID: session, Made: x.Made}
		f.judge(ctx, o, x.Realm, func(n sessionNow) (string, error) { return superfluous(ctx, n, epoch) })
	}
}

func (f *finder) forks(ctx context.Context) {
	forks, err := f.acts.Forks.List()
	if err != nil {
		f.problem("list the folders of forks", err)
		return
	}
	for _, x := range forks {
		if x.HostID != "" && x.HostID != f.acts.HostID {
			continue
		}
		o := Orphan{Kind: kindFork, ID: f.acts.Forks.Dir + "/" + x.Session, SessionID: x.Session, Made: x.Made}
		f.judge(ctx, o, x.Realm, func(sessionNow) (string, error) { return "", nil })
	}
}

// judge lists what is an orphan. needless says why a session that exists does not need it, "" if it may.
func (f *finder) judge(ctx context.Context, o Orphan, realm string, needless func(sessionNow) (string, error)) {
	if realm != "" && realm != f.acts.Realm {
		o.Reason = "it belongs to a session of another Temporal namespace"
		f.out.Orphans = append(f.out.Orphans, o)
		return
	}
	now, err := f.session(ctx, o.SessionID)
	if err == nil && now.exists {
		o.Reason, err = needless(now)
	} else if err == nil {
		o.Reason = "its session does not exist"
	}
	if err != nil {
		f.problem("ask for session "+o.SessionID, err)
		return
	}
	if o.Reason == "" {
		return
	}
	if o.Removable = realm != ""; !o.Removable {
		o.Reason += ", as far as this Temporal namespace knows"
	}
	f.out.Orphans = append(f.out.Orphans, o)
}

func (f *finder) session(ctx context.Context, id string) (sessionNow, error) {
	if now, ok := f.seen[id]; ok {
		return now, nil
	}
	now, err := f.sessions.now(ctx, id)
	if err == nil {
		f.seen[id] = now
	}
	return now, err
}

// superfluous says why a session that exists does not need its sandbox of an epoch.
func superfluous(ctx context.Context, n sessionNow, epoch int64) (string, error) {
	present, former, changing, err := n.epochs(ctx)
	switch {
	case err != nil:
		return "", err
	case epoch == present, slices.Contains(former, epoch), epoch > present && changing:
		return "", nil
	}
	return "its session has left it", nil
}

// splitID is the inverse of agent.Sandbox.ID.
func splitID(id string) (session string, epoch int64, ok bool) {
	session, number, dotted := strings.Cut(id, ".")
	if !dotted {
		return session, 0, session != ""
	}
	epoch, err := strconv.ParseInt(number, 10, 64)
	return session, epoch, err == nil && epoch > 0 && session != ""
}

// temporalSessions asks Temporal.
type temporalSessions struct{ client client.Client }

const askTime = 10 * time.Second

func (t temporalSessions) now(ctx context.Context, id string) (sessionNow, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	d, err := t.client.DescribeWorkflow(ctx, agent.WorkflowID(id), "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return sessionNow{}, nil
	}
	if err != nil {
		return sessionNow{}, err
	}
	if d.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return sessionNow{}, nil
	}
	return sessionNow{exists: true, epochs: func(ctx context.Context) (int64, []int64, bool, error) { return t.epochs(ctx, id) }}, nil
}

func (t temporalSessions) epochs(ctx context.Context, id string) (int64, []int64, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := t.client.QueryWorkflow(ctx, agent.WorkflowID(id), "", agent.QueryView, agent.ViewRequest{AfterSeq: new(int64)})
	if err != nil {
		return 0, nil, false, err
	}
	var v agent.View
	if err := answer.Get(&v); err != nil {
		return 0, nil, false, err
	}
	resting := slices.Contains([]editors.Status{editors.StatusIdle, editors.StatusPaused, editors.StatusFailed, editors.StatusWaitingApproval}, v.Session.State.Status)
	return v.Session.Epoch, v.Former, !resting, nil
}
