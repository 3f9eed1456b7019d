// This file finds out which folders of this host other sessions have, wherever those run at the moment.

package worker

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"go.temporal.io/api/serviceerror"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

// Folders returns the folders of this host that the sessions of an owner have, but the session named: those they work in and
// those they will come back to.
func (t temporalSessions) Folders(ctx context.Context, owner, hostID, but string) ([]string, error) {
	var folders []string
	for req := (session.ListRequest{IncludeForks: true, Limit: registryPage}); ; {
		page, err := t.list(ctx, owner, req)
		if err != nil {
			return nil, fmt.Errorf("ask which folders other sessions have: %w", err)
		}
		for _, s := range page.Sessions {
			if s.HostID != hostID || s.ID == but {
				continue
			}
			has, err := t.foldersOf(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("ask which folder session %s has: %w", s.ID, err)
			}
			folders = append(folders, has...)
		}
		if req.Cursor = page.NextCursor; req.Cursor == "" {
			return folders, nil
		}
	}
}

const registryPage = 200 // sessions

// list returns a page of the registry of an owner, who may have none yet.
func (t temporalSessions) list(ctx context.Context, owner string, req session.ListRequest) (page session.ListResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return page, t.query(ctx, session.ManagerID(owner), session.QueryList, req, &page)
}

// query asks a workflow; of one that is not there, the answer stays as it is.
func (t temporalSessions) query(ctx context.Context, workflow, name string, in, out any) error {
	answer, err := t.client.QueryWorkflow(ctx, workflow, "", name, in)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	return answer.Get(out)
}

// foldersOf returns the folders that a session has. That of a fork which is away is known to the fork only; what it was forked
// from has the other.
func (t temporalSessions) foldersOf(ctx context.Context, s editors.Session) ([]string, error) {
	var folders []string
	if s.Backend.Kind == editors.Local && s.Backend.WorkspaceRoot != "" {
		folders = append(folders, s.Backend.WorkspaceRoot)
	}
	if s.ParentID == "" {
		u, err := url.Parse(s.WorkspaceFolder)
		if err != nil {
			return nil, err
		}
		return append(folders, u.Path), nil
	}
	if s.Backend.Kind == editors.Local {
		return folders, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var v agent.View
	if err := t.query(ctx, agent.WorkflowID(s.ID), agent.QueryView, agent.ViewRequest{AfterSeq: new(int64)}, &v); err != nil {
		return nil, err
	}
	if v.Home != "" {
		folders = append(folders, v.Home)
	}
	return folders, nil
}
