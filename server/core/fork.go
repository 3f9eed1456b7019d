// This file forks sessions.

package core

import (
	"context"
	"path/filepath"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
	"sandboxagent/internal/workspace"
)

// fork asks the source where the fork begins, and the manager to make it. Whoever gives up waiting finds the fork by the
// same request id.
func (c *Conn) fork(ctx context.Context, p editors.ForkParams) (editors.SessionResult, error) {
	if _, err := c.core.link.engine(ctx); err != nil {
		return editors.SessionResult{}, err
	}
	if s := c.core.forked(ctx, p); s != nil {
		return editors.SessionResult{Session: *s}, nil
	}
	p.RequestID = newRequestID(p.RequestID)
	result, err := c.core.fork(ctx, p)
	if err != nil {
		return editors.SessionResult{}, err
	}
	c.settle(ctx, result.Session.ID, result.Seq)
	return editors.SessionResult{Session: result.Session, Notice: result.Notice, Seq: result.Seq}, nil
}

// forked returns the fork that the same request made before, also when its source is gone since; nil when there is none.
func (c *Core) forked(ctx context.Context, p editors.ForkParams) *editors.Session {
	if p.RequestID == "" {
		return nil
	}
	s := c.remembered(ctx, c.sessionIDFor(p.RequestID))
	if s == nil || s.ParentID != p.SessionID || s.State.Status == editors.StatusDestroyed {
		return nil
	}
	return s
}

func (c *Core) fork(ctx context.Context, p editors.ForkParams) (session.CreateResult, error) {
	source, err := c.here(ctx, p.SessionID)
	if err != nil {
		return session.CreateResult{}, err
	}
	if err := c.checkFork(ctx, &p, source.Session); err != nil {
		return session.CreateResult{}, err
	}
	ctx = patientWith(ctx, source)
	point := agent.ForkPointInput{RequestID: p.RequestID, TurnID: p.TurnID}
	in := session.ForkInput{RequestID: p.RequestID, SessionID: c.sessionIDFor(p.RequestID), Owner: c.opts.Config.Owner, Params: p}
	err = c.update(ctx, "forking the session", agent.WorkflowID(p.SessionID), agent.UpdateForkPoint, p.RequestID, point, &in.Point)
	if err != nil {
		return session.CreateResult{}, goesOn(err)
	}
	folder, err := folderPath(source.Session.WorkspaceFolder)
	if err != nil {
		return session.CreateResult{}, err
	}
	in.Home = filepath.Join(c.opts.Paths.ForkDir, in.SessionID, filepath.Base(folder))
	ctx = telling(ctx, func(context.Context, engine) string { return "Making a sandbox for the fork, and filling it." })
	var result session.CreateResult
	err = held(c.request(ctx, "forking the session", func(ctx context.Context, e engine) (err error) {
		result, err = e.Fork(ctx, in)
		return err
	}))
	return result, goesOn(err)
}

// forkOf returns the fork whose own folder this is, "" when it is that of none.
func (c *Core) forkOf(folder string) string {
	path, err := folderPath(folder)
	if err != nil {
		return ""
	}
	id, _ := workspace.Forks{Dir: workspace.Resolve(c.opts.Paths.ForkDir)}.Of(path)
	if !mayBeSession(id) {
		return ""
	}
	return id
}

// checkFork refuses a fork that cannot be, and fills in the backend.
func (c *Core) checkFork(ctx context.Context, p *editors.ForkParams, source editors.Session) error {
	if p.Backend == nil {
		p.Backend = &editors.Backend{Kind: source.Backend.Kind, Image: source.Backend.Image}
	}
	if p.TurnID < 0 {
		return editors.Errorf(editors.CodeInvalidParams, "turnId must not be negative")
	}
	if err := checkTitle(p.Title); err != nil {
		return err
	}
	return c.checkDestination(ctx, *p.Backend)
}
