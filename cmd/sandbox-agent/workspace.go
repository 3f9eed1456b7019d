// This file finds folders and sessions from what a person types.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// folderURI returns the URI of a folder; "" is the current one.
func (a *app) folderURI(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		if a.dir == "" {
			return "", usagef("the current folder is gone; name one by --workspace")
		}
		dir = filepath.Join(a.dir, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", noFolder(dir, err)
	case !info.IsDir():
		return "", &usageError{fmt.Sprintf("a workspace is a folder, and %q is none", dir), "Name a folder."}
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Clean(dir))}
	return u.String(), nil
}

// noFolder says why a folder cannot be a workspace.
func noFolder(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &usageError{fmt.Sprintf("there is no folder %q", dir), "Name one that exists, or make it first."}
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &usageError{fmt.Sprintf("the folder %q cannot be opened (%v)", dir, err), "Name one that you may open."}
}

// absolute returns the path of a folder that need not be there.
func (a *app) absolute(dir string) (string, error) {
	switch {
	case filepath.IsAbs(dir):
		return filepath.Clean(dir), nil
	case a.dir == "":
		return "", usagef("the current folder is gone; name an absolute path")
	}
	return filepath.Join(a.dir, dir), nil
}

// folderPath returns a folder URI as a person reads it.
func folderPath(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return uri
}

// workDir returns the folder that a session works in, or began as a copy of.
func workDir(s editors.Session) string {
	if s.Backend.WorkspaceRoot != "" {
		return s.Backend.WorkspaceRoot
	}
	return folderPath(s.WorkspaceFolder)
}

// sameFolder tells whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	one, errOne := os.Stat(a)
	other, errOther := os.Stat(b)
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}

// latest returns the latest living session of a folder on this host, nil when there is none. Without a backend any
// will do. A fork works elsewhere: it is meant only by its own folder.
func latest(ctx context.Context, c lsp.Conn, hostID, folder string, backend editors.BackendKind) (*editors.Session, error) {
	list, err := call(ctx, c, editors.Sessions, editors.SessionsParams{WorkspaceFolder: folder})
	if err != nil {
		return nil, err
	}
	for _, s := range list.Sessions {
		here := s.HostID == "" || s.HostID == hostID
		if s.ParentID != "" && sameFolder(folderPath(s.WorkspaceFolder), folderPath(folder)) {
			continue // it is listed because of its source
		}
		if here && s.State.Status != editors.StatusDestroyed && (backend == "" || s.Backend.Kind == backend) {
			return &s, nil
		}
	}
	return nil, nil
}

// describe returns a session as it is now.
func describe(ctx context.Context, c lsp.Conn, id string) (editors.AttachResult, error) {
	result, err := call(ctx, c, editors.Attach, editors.AttachParams{SessionID: id})
	if err != nil {
		return editors.AttachResult{}, err
	}
	if _, err := call(ctx, c, editors.Detach, editors.SessionParams{SessionID: id}); err != nil {
		return editors.AttachResult{}, err
	}
	return result, nil
}
