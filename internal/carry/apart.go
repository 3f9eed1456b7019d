// This file keeps sessions out of each other's folders.

package carry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/workspace"
)

// apart fails if the folder of a local sandbox is, contains, or lies in one that something else works in: where this comes
// from, the folders that the caller knows of, and those of other sandboxes of this host.
func (c *Carrier) apart(ctx context.Context, o *Opening) error {
	if !o.To.local() || o.SamePlace {
		return nil
	}
	for _, folder := range o.Apart {
		if overlap(o.To.Spec.Workspace, folder) {
			return shared(o, folder, "which this session comes from or already has")
		}
	}
	if home := o.Home; home != "" && !same(o.To.Spec.Workspace, home) && overlap(o.To.Spec.Workspace, home) {
		return shared(o, home, "which is this session's own")
	}
	for _, folder := range o.Others {
		if overlap(o.To.Spec.Workspace, folder) && !same(o.To.Spec.Workspace, o.Home) {
			return shared(o, folder, "which another session has")
		}
	}
	if session, ok := c.Forks.Of(filepath.Clean(o.To.Spec.Workspace)); within(o.To.Spec.Workspace, c.Forks.Dir) && (!ok || session != sessionOf(o.To.Spec.ID)) {
		return shared(o, c.Forks.Dir, "where forks have their folders")
	}
	others, ok := o.To.Backend.(sandbox.Lister)
	if !ok {
		return nil
	}
	all, err := others.List(ctx, "")
	if err != nil {
		return err
	}
	for _, other := range all {
		if sessionOf(other.ID) != sessionOf(o.To.Spec.ID) && overlap(o.To.Spec.Workspace, other.Workspace) {
			return shared(o, other.Workspace, "which another session works in")
		}
	}
	return nil
}

func shared(o *Opening, folder, whose string) error {
	if filepath.Clean(o.To.Spec.Workspace) == filepath.Clean(folder) {
		return sandbox.Errorf(sandbox.ClassConflict, opOpen, "the folder %s is one %s: choose a folder of its own", folder, whose)
	}
	return sandbox.Errorf(sandbox.ClassConflict, opOpen, "the folder %s is %s %s, %s: choose a folder of its own",
		o.To.Spec.Workspace, relation(o.To.Spec.Workspace, folder), folder, whose)
}

func relation(dir, other string) string {
	switch {
	case same(dir, other):
		return "the same as"
	case within(dir, other):
		return "inside"
	}
	return "around"
}

// sessionOf returns the session of a sandbox, whose id ends with the number of the sandbox.
func sessionOf(id string) string {
	session, _, _ := strings.Cut(id, ".")
	return session
}

// overlap tells whether one of two folders is or lies in the other, links resolved.
func overlap(a, b string) bool {
	return a != "" && b != "" && (within(a, b) || within(b, a))
}

func same(a, b string) bool { return within(a, b) && within(b, a) }

// within tells whether inner is dir or lies in it.
func within(inner, dir string) bool {
	rel, err := filepath.Rel(workspace.Resolve(dir), workspace.Resolve(inner))
	return err == nil && filepath.IsLocal(rel)
}

// suitable fails for a folder that cannot be a local workspace, before anything is looked through.
func (c *Carrier) suitable(o *Opening) error {
	if !o.To.local() {
		return nil
	}
	err := workspace.Check(o.To.Spec.Workspace, c.Store.Dir())
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil // it will be made
	}
	return &sandbox.Error{Class: sandbox.ClassInvalid, Op: opOpen, Message: fmt.Sprintf("the folder %s cannot be worked in: %s", o.To.Spec.Workspace, err), Err: err}
}
