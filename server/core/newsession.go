// This file creates sessions.

package core

import (
	"context"
	"net/url"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/config"
	"sandboxagent/internal/session"
	"sandboxagent/internal/workspace"
)

const createTime = 8 * time.Second // of a session, before which the manager may have to rebuild its registry

// requestSpace makes session ids from request ids, so that a repeated request finds the session it made.
var requestSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("sandboxagent/session"))

// sessionIDFor is the id of the session that the request creates.
func (c *Core) sessionIDFor(requestID string) string {
	return uuid.NewSHA1(requestSpace, []byte(c.opts.Config.Owner+"\x00"+requestID)).String()
}

func (c *Conn) new(ctx context.Context, p editors.NewParams) (editors.NewResult, error) {
	folder, err := c.folder(p.WorkspaceFolder)
	if err != nil {
		return editors.NewResult{}, err
	}
	p.WorkspaceFolder = folder
	result, err := c.core.create(ctx, p)
	if err != nil {
		return editors.NewResult{}, err
	}
	c.settle(ctx, result.Session.ID, result.Seq)
	return editors.NewResult{Session: result.Session}, nil
}

// create asks the owner's manager for a session with the defaults of this user.
func (c *Core) create(ctx context.Context, p editors.NewParams) (session.CreateResult, error) {
	host, err := config.HostID(c.opts.Paths)
	if err != nil {
		return session.CreateResult{}, asError("creating a session", err)
	}
	path, err := folderPath(p.WorkspaceFolder)
	if err != nil {
		return session.CreateResult{}, err
	}
	if err := checkNew(p); err != nil {
		return session.CreateResult{}, err
	}
	p = c.withDefaults(p)
	if err := c.checkPlace(ctx, path, *p.Backend); err != nil {
		return session.CreateResult{}, err
	}
	ctx = patientForNew(ctx, p.Backend.Kind)
	in := session.CreateInput{
		RequestID: p.RequestID, SessionID: c.sessionIDFor(p.RequestID), Owner: c.opts.Config.Owner, HostID: host,
		Folder: path, FolderURI: p.WorkspaceFolder, Params: p,
	}
	var result session.CreateResult
	err = held(c.request(ctx, "creating a session", func(ctx context.Context, e engine) (err error) {
		result, err = e.Create(ctx, in)
		return err
	}))
	return result, goesOn(err)
}

// patientForNew lets the making of a session take its time, longer where the folder is carried first.
func patientForNew(ctx context.Context, kind editors.BackendKind) context.Context {
	if !agent.BeginsEmpty(kind) {
		return withPatience(ctx, createTime)
	}
	say := func(context.Context, engine) string {
		return "Making a sandbox of " + string(kind) + ", and carrying the folder there."
	}
	return withPatience(telling(ctx, say), carryTime)
}

func (c *Core) withDefaults(p editors.NewParams) editors.NewParams {
	p.RequestID = newRequestID(p.RequestID)
	if p.Backend == nil {
		p.Backend = &editors.Backend{Kind: editors.Local}
	}
	if p.Model == "" {
		p.Model = c.opts.Config.Model
	}
	if p.ApprovalMode == "" {
		p.ApprovalMode = c.opts.Config.ApprovalMode
	}
	return p
}

func checkNew(p editors.NewParams) error {
	if err := checkTitle(p.Title); err != nil {
		return err
	}
	if p.Backend == nil {
		return nil
	}
	return checkBackend(*p.Backend)
}

// checkPlace refuses, before there is a session, a folder or a backend in which it could do nothing.
func (c *Core) checkPlace(ctx context.Context, folder string, b editors.Backend) error {
	if err := c.checkFolder(folder); err != nil {
		return err
	}
	if b.WorkspaceRoot != "" {
		if err := c.checkFolder(b.WorkspaceRoot); err != nil {
			return err
		}
	}
	return c.checkAvailable(ctx, b.Kind)
}

func checkTitle(title string) error { return checkLength("title", title) }

func checkLength(what, text string) error {
	if n := utf8.RuneCountInString(text); n > editors.MaxTitleRunes {
		return editors.Errorf(editors.CodeLimit, "the "+what+" has %d characters; at most %d are allowed", n, editors.MaxTitleRunes)
	}
	return nil
}

// folderPath returns the absolute path of a folder's file URI.
func folderPath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || (u.Host != "" && u.Host != "localhost") || !filepath.IsAbs(u.Path) {
		return "", editors.Errorf(editors.CodeInvalidParams, "workspaceFolder %q is not the file URI of a local folder", uri).
			WithRemedy("Pass a URI such as file:///home/me/project.")
	}
	return filepath.Clean(u.Path), nil
}

// canonicalFolder writes the file URI of a folder as this product does, since editors escape differently and a folder can
// be reached by links.
func canonicalFolder(uri string) (string, error) {
	path, err := folderPath(uri)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: workspace.Resolve(path)}).String(), nil
}
