// This file lists sessions, from their manager and from Temporal's visibility.

package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"sandboxagent/editors"
	"sandboxagent/internal/session"
)

const (
	listDefault    = 50
	listMax        = 200
	managerTime    = 2 * time.Second
	visibilityTime = 2 * time.Second
)

// A cursor names its source, since the two number their sessions differently.
const (
	fromManager    = "m"
	fromVisibility = "v"
)

func (c *Conn) sessions(ctx context.Context, p editors.SessionsParams) (editors.SessionsResult, error) {
	req := session.ListRequest{Search: p.Search, IncludeForks: p.IncludeForks == nil || *p.IncludeForks, Cursor: p.Cursor, Limit: p.Limit}
	if p.WorkspaceFolder != "" {
		folder, err := canonicalFolder(p.WorkspaceFolder)
		if err != nil {
			return editors.SessionsResult{}, err
		}
		req.FolderURI = folder
	}
	list, err := c.core.list(ctx, req)
	if err != nil {
		return editors.SessionsResult{}, err
	}
	for i := range list.Sessions {
		c.core.overlay(ctx, &list.Sessions[i])
	}
	return editors.SessionsResult{Sessions: list.Sessions, NextCursor: list.NextCursor}, nil
}

// list asks the manager for a page and visibility for what the sessions are doing. Without a manager visibility has to do.
func (c *Core) list(ctx context.Context, req session.ListRequest) (session.ListResult, error) {
	source, skip, err := parseListCursor(req.Cursor)
	if err != nil {
		return session.ListResult{}, err
	}
	if req.Limit <= 0 {
		req.Limit = listDefault
	}
	req.Limit = min(req.Limit, listMax)
	e, err := c.link.engine(ctx)
	if err != nil {
		return session.ListResult{}, err
	}
	var (
		registry            session.ListResult
		seen                []editors.Session
		managerErr, seenErr error
		jobs                conc.WaitGroup
	)
	jobs.Go(func() {
		seenErr = bounded(ctx, visibilityTime, func(ctx context.Context) (err error) {
			seen, err = e.List(ctx, c.opts.Config.Owner)
			return err
		})
	})
	if source != fromVisibility {
		registry, managerErr = c.askManager(ctx, e, req, skip)
	}
	jobs.Wait()
	switch {
	case source != fromVisibility && managerErr == nil:
		return refreshed(registry, seen), nil
	case seenErr == nil && source != fromManager:
		return pageOf(seen, req, skip), nil
	case seenErr != nil && isSilence(seenErr):
		c.link.lost()
		return session.ListResult{}, c.noTemporal(ctx, "listing the sessions", seenErr)
	case seenErr != nil:
		return session.ListResult{}, asError("listing the sessions", seenErr)
	}
	return session.ListResult{}, asError("listing the sessions", managerErr)
}

func (c *Core) askManager(ctx context.Context, e engine, req session.ListRequest, skip int) (session.ListResult, error) {
	if req.Cursor = ""; skip > 0 {
		req.Cursor = strconv.Itoa(skip)
	}
	var result session.ListResult
	err := bounded(ctx, managerTime, func(ctx context.Context) error {
		return e.Query(ctx, session.ManagerID(c.opts.Config.Owner), session.QueryList, req, &result)
	})
	if result.NextCursor != "" {
		result.NextCursor = fromManager + result.NextCursor
	}
	return result, err
}

// refreshed takes what the sessions are doing from visibility where that is newer.
func refreshed(list session.ListResult, seen []editors.Session) session.ListResult {
	newer := make(map[string]editors.Session, len(seen))
	for _, s := range seen {
		newer[s.ID] = s
	}
	for i, s := range list.Sessions {
		if n, ok := newer[s.ID]; ok && !n.UpdatedAt.Before(s.UpdatedAt) {
			list.Sessions[i] = n
		}
	}
	return list
}

// pageOf filters, orders and cuts what visibility gave.
func pageOf(seen []editors.Session, req session.ListRequest, skip int) session.ListResult {
	search := strings.ToLower(req.Search)
	kept := slices.DeleteFunc(seen, func(s editors.Session) bool {
		return req.FolderURI != "" && s.WorkspaceFolder != req.FolderURI || !req.IncludeForks && s.ParentID != "" ||
			!strings.Contains(strings.ToLower(s.Title), search)
	})
	slices.SortFunc(kept, func(a, b editors.Session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	kept = kept[min(skip, len(kept)):]
	if len(kept) <= req.Limit {
		return session.ListResult{Sessions: kept}
	}
	return session.ListResult{Sessions: kept[:req.Limit], NextCursor: fromVisibility + strconv.Itoa(skip+req.Limit)}
}

// parseListCursor returns the source and how many sessions were given before.
func parseListCursor(cursor string) (source string, skip int, err error) {
	if cursor == "" {
		return "", 0, nil
	}
	source, number := cursor[:1], cursor[1:]
	skip, err = strconv.Atoi(number)
	if source != fromManager && source != fromVisibility {
		err = errors.New("no source")
	}
	if err != nil || skip < 0 {
		return "", 0, editors.Errorf(editors.CodeInvalidParams, "the cursor is not one that sessions gave")
	}
	return source, skip, nil
}
