// This file says of a plain folder what its own checkpoints do not: what a restore has left there, and which session has
// checkpoints of it. Nothing needs to run for it.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/config"
	"sandboxagent/internal/sandbox/local"
)

// folder is a plain folder and where this host keeps checkpoints.
type folder struct {
	path     string // absolute, links resolved
	paths    config.Paths
	settings config.Checkpoint
}

func (a *app) folder(dir string) (folder, error) {
	uri, err := a.folderURI(dir)
	if err != nil {
		return folder{}, err
	}
	var f folder
	if f.path, err = filepath.EvalSymlinks(folderPath(uri)); err != nil {
		return folder{}, noFolder(folderPath(uri), err)
	}
	here, err := a.installed()
	here.path = f.path
	return here, err
}

// installed returns where things are, without a folder.
func (a *app) installed() (f folder, err error) {
	if f.paths, err = config.ResolvePaths(a.env); err != nil {
		return folder{}, fmt.Errorf("finding the installation: %w", err)
	}
	settings, _, err := config.Load(f.paths, a.env)
	if err != nil {
		return folder{}, err
	}
	f.settings = settings.Checkpoint
	return f, nil
}

func (f folder) store() (*checkpoint.Store, error) {
	return checkpoint.Open(checkpoint.Options{Dir: f.paths.CheckpointDir, Quota: f.settings.Quota})
}

// clearUp completes or undoes a restore that was cut short, and tells of one that it cannot.
func (f folder) clearUp(ctx context.Context, s *checkpoint.Store) error {
	w, err := s.Folder(f.path)
	if err != nil {
		return nil //nolint:nilerr // no folder for checkpoints, and so none for restores
	}
	return w.Recover(ctx)
}

// session returns the session that took the latest checkpoint of the folder, and how many it has; "" when none did.
func (f folder) session(s *checkpoint.Store) (id string, checkpoints int) {
	var latest time.Time
	for sandbox, workspace := range local.Workspaces(f.paths.SandboxDir) {
		if real, err := filepath.EvalSymlinks(workspace); err != nil || real != f.path {
			continue
		}
		session, _, _ := strings.Cut(sandbox, ".") // behind it, which of the session's sandboxes
		refs, err := s.List(session, "")
		if err != nil || len(refs) == 0 {
			continue
		}
		if at := refs[len(refs)-1].At; at.After(latest) {
			id, checkpoints, latest = session, len(refs), at
		}
	}
	return id, checkpoints
}

// besides makes a verb on the checkpoints of a folder also look after the folder, and tell what else there is to know of it.
func (a *app) besides(dir *string, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return run(cmd, args)
		}
		f, err := a.folder(*dir)
		if err != nil {
			return run(cmd, args) // which says so
		}
		s, err := f.store()
		if err != nil {
			return run(cmd, args)
		}
		if err := f.clearUp(cmd.Context(), s); err != nil && !a.json {
			a.notice(asKnown(commands.Error(err)).Message)
		}
		err = run(cmd, args)
		if id, n := f.session(s); id != "" && !a.json {
			a.notice(fmt.Sprintf("A session has checkpoints of this folder too (%d): sandbox-agent %s %s", n, cmd.Name(), id))
		}
		return err
	}
}

// checkFolder looks after the current folder, and has something to say only where something is left to do.
func (a *app) checkFolder(ctx context.Context) []editors.Check {
	f, err := a.folder("")
	if err != nil {
		return nil
	}
	if _, err := os.Stat(f.paths.CheckpointDir); err != nil {
		return nil // never used, nothing left
	}
	s, err := f.store()
	if err == nil {
		err = f.clearUp(ctx, s)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	e := asKnown(commands.Error(err))
	return []editors.Check{{Name: "folder", Status: "warning", Detail: e.Message, Remedy: e.Remedy}}
}
