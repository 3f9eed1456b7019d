// This file lists sessions, from their manager and from Temporal's visibility.

package core

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
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

// list returns a page of the sessions that meet the request, the one used last first.
func (c *Core) list(ctx context.Context, req session.ListRequest) (session.ListResult, error) {
	from, err := parseListCursor(req.Cursor)
	if err != nil {
		return session.ListResult{}, err
	}
	if req.Limit <= 0 {
		req.Limit = listDefault
	}
	all, err := c.known(ctx, req.FolderURI)
	if err != nil {
		return session.ListResult{}, err
	}
	search := strings.ToLower(req.Search)
	all = slices.DeleteFunc(all, func(s editors.Session) bool {
		return !req.IncludeForks && s.ParentID != "" || !strings.Contains(strings.ToLower(s.Title), search) ||
			req.Cursor != "" && !placeOf(s).after(from)
	})
	slices.SortFunc(all, func(a, b editors.Session) int { return placeOf(a).compare(placeOf(b)) })
	limit := min(req.Limit, listMax)
	if len(all) <= limit {
		return session.ListResult{Sessions: all}, nil
	}
	return session.ListResult{Sessions: all[:limit], NextCursor: placeOf(all[limit-1]).String()}, nil
}

// known returns the sessions of a folder, or all, in no order, as soon as Temporal answers.
func (c *Core) known(ctx context.Context, folder string) ([]editors.Session, error) {
	const what = "listing the sessions"
	began := time.Now()
	for {
		e, err := c.link.engine(ctx)
		if err != nil {
			return nil, err
		}
		life := c.workerLife()
		all, err := c.merged(ctx, e, folder)
		switch {
		case err == nil:
			return all, nil
		case ctx.Err() != nil:
			return nil, asError(what, ctx.Err())
		case !isSilence(err):
			return nil, asError(what, err)
		case !c.link.heals(ctx, life, began):
			return nil, c.noTemporal(ctx, what, err)
		}
		pause(ctx, retryFirst)
	}
}

// merged asks the manager which sessions there are and visibility what they are doing. Where one of them does not answer
// the other has to do.
func (c *Core) merged(ctx context.Context, e engine, folder string) ([]editors.Session, error) {
	fork, asked := c.forkOf(folder), folder
	if fork != "" { // it is listed under the folder of its source
		asked = ""
	}
	var (
		registry, seen      []editors.Session
		managerErr, seenErr error
		jobs                conc.WaitGroup
	)
	jobs.Go(func() {
		seenErr = bounded(ctx, visibilityTime, func(ctx context.Context) (err error) {
			seen, err = e.List(ctx, c.opts.Config.Owner)
			return err
		})
	})
	managerErr = bounded(ctx, managerTime, func(ctx context.Context) (err error) {
		registry, err = c.registry(ctx, e, asked)
		return err
	})
	jobs.Wait()
	all := seen
	switch {
	case managerErr == nil:
		all = refreshed(registry, seen)
	case seenErr != nil:
		return nil, seenErr
	}
	return slices.DeleteFunc(all, func(s editors.Session) bool { return folder != "" && s.WorkspaceFolder != folder && s.ID != fork }), nil
}

// registry reads all sessions of a folder that the manager knows, of which there are a thousand at most.
func (c *Core) registry(ctx context.Context, e engine, folder string) ([]editors.Session, error) {
	req := session.ListRequest{FolderURI: folder, IncludeForks: true, Limit: listMax}
	var all []editors.Session
	for {
		var page session.ListResult
		if err := e.Query(ctx, session.ManagerID(c.opts.Config.Owner), session.QueryList, req, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if req.Cursor = page.NextCursor; req.Cursor == "" || len(all) >= maxListed {
			return all, nil
		}
	}
}

// refreshed takes what the sessions are doing from visibility where that is newer.
func refreshed(list, seen []editors.Session) []editors.Session {
	newer := make(map[string]editors.Session, len(seen))
	for _, s := range seen {
		newer[s.ID] = s
	}
	for i, s := range list {
		if n, ok := newer[s.ID]; ok && !n.UpdatedAt.Before(s.UpdatedAt) {
			list[i] = n
		}
	}
	return list
}

// listPlace is where a session stands in the list. As a cursor it names the last session that was given, so that one that is
// used between two pages neither comes twice nor hides another.
type listPlace struct {
	At time.Time `json:"t"`
	ID string    `json:"i"`
}

func placeOf(s editors.Session) listPlace { return listPlace{At: s.UpdatedAt, ID: s.ID} }

func (p listPlace) compare(q listPlace) int {
	return cmp.Or(q.At.Compare(p.At), cmp.Compare(q.ID, p.ID))
}

func (p listPlace) after(q listPlace) bool { return p.compare(q) > 0 }

func (p listPlace) String() string {
	b, err := json.Marshal(p)
	if err != nil {
		return "" // a time and a string always marshal
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseListCursor(cursor string) (listPlace, error) {
	var p listPlace
	if cursor == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.ID == "" {
		return p, editors.Errorf(editors.CodeInvalidParams, "the cursor is not one that sessions gave")
	}
	return p, nil
}
