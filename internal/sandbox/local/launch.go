// This file finds the helper program, checks the folder it shall work on, and decides how it is launched.

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/helper/environ"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
	"sandboxagent/internal/workspace"
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

func (b *Backend) helperBinary() (string, error) { return helper.Here(opOpen, b.opts.HelperBinary) }

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
