// This file says where sessions are: on which host, in which folder, in which sandbox, and whether they can go elsewhere.

package core

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/workspace"
)

const remedyFolder = "Choose a folder of your own, such as a project's."

// here returns a session that lives and whose files are on this host.
func (c *Core) here(ctx context.Context, id string) (agent.View, error) {
	if id == "" {
		return agent.View{}, noSession()
	}
	v, err := c.view(ctx, id, nil)
	switch {
	case err != nil:
		return v, err
	case v.Session.HostID != c.HostID():
		return v, editors.Errorf(editors.CodeUnsupported, "the session's workspace is on another host").WithRemedy("Do this on that host.")
	case v.Session.State.Status == editors.StatusDestroyed:
		return v, editors.Errorf(editors.CodeNotFound, "the session was destroyed").WithRemedy(remedyNewSession)
	}
	return v, nil
}

// sandboxOf tells the worker where a session is.
func (c *Core) sandboxOf(v agent.View) (agent.Sandbox, error) {
	s := v.Session
	folder, err := folderPath(s.WorkspaceFolder)
	return agent.Sandbox{
		SessionID: s.ID, Owner: c.opts.Config.Owner, HostID: s.HostID, Folder: folder, Backend: s.Backend, Epoch: s.Epoch,
	}, err
}

// homeOf returns the directory on its host that is the session's own.
func homeOf(v agent.View) (string, error) {
	if v.Home != "" {
		return v.Home, nil
	}
	return folderPath(v.Session.WorkspaceFolder)
}

// onDisk returns the directory of this host's disk in which a sandbox works, "" for one that works elsewhere.
func onDisk(s agent.Sandbox) string {
	switch {
	case s.Backend.Kind != editors.Local:
		return ""
	case s.Backend.WorkspaceRoot != "":
		return s.Backend.WorkspaceRoot
	}
	return s.Folder
}

// checkBackend refuses what is no backend.
func checkBackend(b editors.Backend) error {
	kinds := []editors.BackendKind{editors.Local, editors.Docker, editors.E2B, editors.Daytona}
	switch {
	case !slices.Contains(kinds, b.Kind):
		return editors.Errorf(editors.CodeInvalidParams, "there is no backend %q", b.Kind).WithRemedy("Use local, docker, e2b or daytona.")
	case b.WorkspaceRoot != "" && !filepath.IsAbs(b.WorkspaceRoot):
		return editors.Errorf(editors.CodeInvalidParams, "workspaceRoot %q is not an absolute path", b.WorkspaceRoot).WithRemedy(remedyFolder)
	}
	return nil
}

// checkFolder refuses a folder in which a session could do nothing.
func (c *Core) checkFolder(dir string) error {
	var unfit *workspace.Unfit
	if errors.As(workspace.Check(dir, c.opts.Paths.SandboxDir), &unfit) {
		return editors.Errorf(editors.CodeInvalidParams, "%s cannot be worked in: %w", dir, unfit).WithRemedy(remedyFolder)
	}
	return nil
}

// checkRoot refuses a folder that a session cannot be switched to; one that is not there yet is made if there is where.
func (c *Core) checkRoot(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return c.checkFolder(dir)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return editors.Errorf(editors.CodeInvalidParams, "the folder %s cannot be made, since there is no folder %s", dir, parent).WithRemedy("Make that first, or choose another one.")
	}
	return nil
}

// checkAvailable refuses a backend that cannot be used, before anything is done for it. One that this host's worker cannot
// be asked about passes.
func (c *Core) checkAvailable(ctx context.Context, kind editors.BackendKind) error {
	if _, err := c.link.engine(ctx); err != nil { // starts the worker
		return err
	}
	var known editors.BackendsResult
	if !c.askCatalog(ctx, CallBackends, &known) {
		return nil
	}
	for _, info := range known.Backends {
		if info.Kind == kind && !info.Available {
			return lasting(editors.Errorf(editors.CodeBackendUnavailable, "the backend %s cannot be used: %s", kind,
				strings.TrimSuffix(info.Reason, ".")).WithRemedy(info.Remedy))
		}
	}
	return nil
}
