// This file prepares a sandbox for the helper: its directories, the workspace, and the program itself.

package e2b

import (
	"context"
	"path"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// markPath is there once somebody has begun to work in the sandbox.
const markPath = "~/" + cloud.StateDir

// prepareScript makes the directories and tells what there is.
const prepareScript = `set -e
own="$HOME/` + cloud.OwnDir + `"
mkdir -p "$own/bin" "$HOME/` + cloud.StateDir + `"
chmod 700 "$own" "$HOME/` + cloud.StateDir + `"
` + cloud.LookScript + "\n" + cloud.LookEnvironmentScript

// prepare makes sure that the helper of this program's version and the workspace are in the sandbox.
func (x *box) prepare(ctx context.Context, a access) (cloud.Place, *cloud.Failure) {
	p, f := x.lookInside(ctx, a)
	if f == nil {
		f = p.Install(ctx, opOpen, "E2B's sandboxes", x.b.opts.HelperBinary, cloud.Inside{Upload: a.upload, Run: a.run})
	}
	return p, f
}

// lookInside returns what is in the sandbox, and has the daemon make a workspace that the user cannot make.
func (x *box) lookInside(ctx context.Context, a access) (cloud.Place, *cloud.Failure) {
	root := x.b.opts.Root
	text, f := a.run(ctx, opOpen, prepareScript, root)
	if f != nil {
		return cloud.Place{}, f
	}
	p := cloud.ParsePlace(text)
	if p.Root == "" {
		if f = a.mkdir(ctx, opOpen, root); f == nil {
			text, f = a.run(ctx, opOpen, prepareScript, root)
		}
		if f != nil {
			return cloud.Place{}, f
		}
		p = cloud.ParsePlace(text)
	}
	switch {
	case p.Root == "":
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the E2B sandbox may not write to "+root+": choose another template", nil)
	case !path.IsAbs(p.Home) || !path.IsAbs(p.Root):
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the E2B sandbox has no home directory: choose another template", nil)
	}
	return p, nil
}
