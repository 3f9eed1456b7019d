// This file prepares a sandbox for the helper: its directories, the workspace, and the program itself.

package daytona

import (
	"context"
	"path"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// Where things are below the home of the sandbox's user.
const (
	shellDir = cloud.OwnDir + "/shell" // home of the shells that Daytona's terminals begin with
	pipeDir  = cloud.OwnDir + "/pipes"
)

// prepareScript makes the directories and tells what there is. The files that shells read first lead them to what a terminal
// is wanted for, see terminal.go.
const prepareScript = `set -e
own="$HOME/` + cloud.OwnDir + `"
umask 077
mkdir -p "$own/bin" "$HOME/` + cloud.StateDir + `" "$HOME/` + shellDir + `" "$HOME/` + pipeDir + `"
for f in .profile .zshenv; do printf 'exec /bin/sh -c "$` + runVariable + `"\n' >"$HOME/` + shellDir + `/$f"; done
umask 022
` + cloud.LookScript

// serveScript makes the helper serve apart from whoever started it: the bridge to it ends at once, as there is no input, and
// leaves it to the first process of the sandbox. It also makes the pipe between the two terminals, and removes those that
// nobody has taken up.
const serveScript = `pipe=$1; shift
[ -x "$1" ] || exit ` + noProgram + `
export LANG="${LANG:-C.UTF-8}" PATH="$HOME/.local/bin:$PATH"
"$@" </dev/null || exit 1
find "${pipe%/*}" -type p -mmin +10 -exec rm -f {} + 2>/dev/null
mkfifo -m 600 "$pipe"`

const noProgram = "97" // exit code

// prepare makes sure that the helper of this program's version and the workspace are in the sandbox.
func (x *box) prepare(ctx context.Context, a access) (cloud.Place, *cloud.Failure) {
	root := x.b.opts.Root
	text, f := a.succeed(ctx, opOpen, prepareScript, root)
	if f != nil {
		return cloud.Place{}, f
	}
	p := cloud.ParsePlace(text)
	switch {
	case !path.IsAbs(p.Home):
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the Daytona sandbox has no home directory: "+other, nil)
	case !path.IsAbs(p.Root):
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the Daytona sandbox may not write to "+root+": "+other, nil)
	}
	f = p.Install(ctx, opOpen, "Daytona's sandboxes", x.b.opts.HelperBinary, cloud.Inside{Upload: a.upload, Run: a.succeed})
	return p, f
}
