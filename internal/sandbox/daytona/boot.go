// This file prepares a sandbox for the helper: its directories, the workspace, and the program itself.

package daytona

import (
	"context"
	"crypto/rand"
	"os"
	"path"
	"strings"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
)

// Where things are below the home of the sandbox's user.
const (
	ownName  = ".sandbox-agent"
	stateDir = ownName + "/state"
	shellDir = ownName + "/shell" // home of the shells that Daytona's terminals begin with
	pipeDir  = ownName + "/pipes"
)

// prepareScript makes the directories and tells what there is. The files that shells read first lead them to what a terminal
// is wanted for, see terminal.go.
const prepareScript = `set -e
own="$HOME/` + ownName + `"
umask 077
mkdir -p "$own/bin" "$HOME/` + stateDir + `" "$HOME/` + shellDir + `" "$HOME/` + pipeDir + `"
for f in .profile .zshenv; do printf 'exec /bin/sh -c "$` + runVariable + `"\n' >"$HOME/` + shellDir + `/$f"; done
umask 022
case $1 in "~/"*) root="$HOME/${1#??}" ;; *) root=$1 ;; esac
mkdir -p "$root" 2>/dev/null || :
if [ -d "$root" ] && [ -w "$root" ]; then root=$(cd "$root" && pwd -P); else root=; fi
printf 'home %s\nroot %s\narch %s\n' "$HOME" "$root" "$(uname -m)"
for f in "$own"/bin/*/` + helper.Name + `; do if [ -x "$f" ]; then printf 'has %s\n' "$f"; fi; done`

// installScript puts an uploaded program in its place once it has proved whole.
const installScript = `chmod 755 "$1" && test "$("$1" build)" = "$3" && mv -f "$1" "$2"`

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

// place is what a sandbox is like inside.
type place struct {
	home, root, arch string
	helpers          []string // programs that are there
	program          string   // the helper's path
	build            string
}

// bridge is the command that leads to the helper, and starts it if need be.
func (p place) bridge(o *Options) []string {
	argv := []string{p.program, "stdio", "--state", path.Join(p.home, stateDir), "--root", p.root}
	if o.Idle > 0 {
		argv = append(argv, "--idle", o.Idle.String())
	}
	return argv
}

func parsePlace(text string) place {
	var p place
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name {
		case "home":
			p.home = value
		case "root":
			p.root = value
		case "arch":
			p.arch = helper.Architectures[value]
		case "has":
			p.helpers = append(p.helpers, value)
		}
	}
	return p
}

// prepare makes sure that the helper of this program's version and the workspace are in the sandbox.
func (x *box) prepare(ctx context.Context, a access) (place, *cloud.Failure) {
	root := x.b.opts.Root
	text, f := a.succeed(ctx, opOpen, prepareScript, root)
	if f != nil {
		return place{}, f
	}
	p := parsePlace(text)
	switch {
	case !path.IsAbs(p.home):
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the Daytona sandbox has no home directory: "+other, nil)
	case !path.IsAbs(p.root):
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the Daytona sandbox may not write to "+root+": "+other, nil)
	}
	program, err := helper.ForLinux(opOpen, "Daytona's sandboxes", x.b.opts.HelperBinary, p.arch)
	if err != nil {
		return p, cloud.Failed(opOpen, err)
	}
	dir := path.Join(p.home, ownName, "bin", program.Build)
	p.program, p.build = path.Join(dir, helper.Name), program.Build
	for _, there := range p.helpers {
		if there == p.program {
			return p, nil
		}
	}
	return p, install(ctx, a, program, p.program, path.Join(dir, "new-"+rand.Text()))
}

// install uploads the helper.
func install(ctx context.Context, a access, from helper.Program, to, by string) *cloud.Failure {
	content, err := os.Open(from.File)
	if err != nil {
		return cloud.Fail(sandbox.ClassUnavailable, opOpen, "the helper program cannot be read: install this program anew", err)
	}
	defer content.Close()
	if f := a.upload(ctx, opOpen, by, content); f != nil {
		return f
	}
	_, f := a.succeed(ctx, opOpen, installScript, by, to, from.Build)
	return f
}
