// This file tells which sandboxes there are.

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxagent/internal/sandbox"
)

var _ sandbox.Lister = (*Backend)(nil)

// List implements sandbox.Lister. What it lists are the records of helpers; the folders are their users'.
func (b *Backend) List(_ context.Context, owner string) ([]sandbox.Found, error) {
	entries, err := os.ReadDir(b.opts.StateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: "list sandboxes", Message: "the state directory cannot be read", Err: err}
	}
	var all []sandbox.Found
	for _, e := range entries {
		state := filepath.Join(b.opts.StateDir, e.Name())
		r, err := readRecorded(state)
		if err != nil || b.stateDir(r.ID) != state || owner != "" && r.Owner != owner {
			continue // of another backend, or damaged: nobody can tell whose it is
		}
		f := sandbox.Found{Ref: sandbox.Ref{Kind: sandbox.KindLocal, ID: r.ID, HostID: b.opts.HostID, Workspace: r.Workspace}, Owner: r.Owner, Realm: r.Realm}
		if info, err := os.Stat(filepath.Join(state, specFile)); err == nil {
			f.Made = info.ModTime()
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b sandbox.Found) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}
