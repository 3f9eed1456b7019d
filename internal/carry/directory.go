// This file makes the folder that a local sandbox works in, and takes it away again when that fails.

package carry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/workspace"
)

// directory is the folder of a local sandbox that is being made. Of any other there is none, and nothing happens.
type directory struct {
	path  string // "" for none
	forks workspace.Forks
	fork  workspace.Fork // Session "": the folder is no fork's
	made  bool           // by us
}

func (c *Carrier) directory(o *Opening) *directory {
	if !o.To.local() {
		return &directory{}
	}
	d := &directory{path: filepath.Clean(o.To.Spec.Workspace), forks: c.Forks}
	if session, ok := c.Forks.Of(d.path); ok {
		d.fork = workspace.Fork{Session: session, Owner: o.To.Spec.Owner, HostID: c.HostID, Realm: o.To.Spec.Realm}
	}
	return d
}

func (d *directory) make() error {
	if d.path == "" {
		return nil
	}
	var err error
	if d.fork.Session != "" {
		err = d.forks.Make(d.path, d.fork)
	} else if err = os.Mkdir(d.path, 0o755); err == nil {
		d.made = true
	}
	switch {
	case err == nil, d.fork.Session == "" && errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return sandbox.Errorf(sandbox.ClassNotFound, opOpen, "the folder %s cannot be made, since there is no %s: make that first", d.path, filepath.Dir(d.path))
	case errors.Is(err, fs.ErrPermission):
		return sandbox.Errorf(sandbox.ClassDenied, opOpen, "you may not make the folder %s: choose another one", d.path)
	}
	return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: fmt.Sprintf("the folder %s cannot be made", d.path), Err: err}
}

// remove takes the folder away if it was made here and nothing is in it.
func (d *directory) remove() error {
	switch {
	case d.path == "", d.fork.Session == "" && !d.made:
		return nil
	case os.Remove(d.path) != nil || d.fork.Session == "":
		return nil // somebody has put something into it, or it is all there was
	}
	return d.forks.Remove(d.fork.Session)
}
