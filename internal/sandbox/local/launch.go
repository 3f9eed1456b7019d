// This file finds the helper program, checks the folder it shall work on, and decides how it is launched.

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/helper/environ"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
	"sandboxagent/internal/workspace"
)

const (
	helperName = "sandbox-helper"
	helperEnv  = "SANDBOX_HELPER_BIN"
)

// command returns the helper process to start, with an environment free of secrets: as it is, with everything that this
// user may do, or confined.
func (b *Backend) command(ctx context.Context, r recorded, session, state string) (*exec.Cmd, error) {
	program, err := b.helperBinary()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(r.Workspace); err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassNotFound, Op: opOpen, Message: "the workspace folder " + r.Workspace + " does not exist: make it, or bring it back, and try again", Err: err}
	}
	if r.Confinement.Method != confine.Nothing {
		return b.confined(ctx, r, program, session, state)
	}
	cmd := exec.Command(program, helper.ServeArgs(state, r.Workspace, b.opts.Idle)...)
	cmd.Dir = "/"
	cmd.Env = environ.Inherit(os.Environ())
	return cmd, nil
}

func (b *Backend) helperBinary() (string, error) {
	candidates := []string{b.opts.HelperBinary}
	if b.opts.HelperBinary == "" {
		if self, err := os.Executable(); err == nil {
			candidates = append(candidates, filepath.Join(filepath.Dir(self), helperName))
		}
		candidates = append(candidates, os.Getenv(helperEnv))
		if found, err := confine.SystemProgram(helperName, "", os.Environ()); err == nil {
			candidates = append(candidates, found)
		}
	}
	for _, p := range candidates {
		if p == "" {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			continue
		}
		if info, err := os.Stat(abs); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return abs, nil
		}
	}
	return "", sandbox.Errorf(sandbox.ClassUnavailable, opOpen, "the program %s was not found: install it beside this program or set %s", helperName, helperEnv)
}

// build remembers the identity of a helper program while its file stays the same.
type build struct {
	path  string
	mtime time.Time
	size  int64
	id    string
}

func (b *Backend) buildID() (string, error) {
	program, err := b.helperBinary()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.build.path == program && b.build.mtime.Equal(info.ModTime()) && b.build.size == info.Size() {
		return b.build.id, nil
	}
	id, err := helper.Build(program)
	if err != nil {
		return "", &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opOpen, Message: "the helper program cannot be read", Err: err}
	}
	b.build = build{program, info.ModTime(), info.Size(), id}
	return id, nil
}

// checkWorkspace refuses folders on which an agent must not be let loose as a whole.
func (b *Backend) checkWorkspace(dir string) error {
	err := workspace.Check(dir, b.opts.StateDir)
	var unfit *workspace.Unfit
	switch {
	case !errors.As(err, &unfit):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return &sandbox.Error{Class: sandbox.ClassNotFound, Op: opOpen, Message: unfit.Error(), Err: unfit.Err}
	case unfit.Err != nil:
		return &sandbox.Error{Class: sandbox.ClassDenied, Op: opOpen, Message: unfit.Error(), Err: unfit.Err}
	}
	return sandbox.Errorf(sandbox.ClassInvalid, opOpen, "%s", unfit.Error())
}
