// This file prepares a sandbox for the helper: its directories, the workspace, and the program itself.

package e2b

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
	markPath = "~/" + stateDir // there once somebody has begun to work in the sandbox
)

// prepareScript makes the directories and tells what there is. The workspace may be where only the daemon can make it.
const prepareScript = `set -e
own="$HOME/` + ownName + `"
mkdir -p "$own/bin" "$HOME/` + stateDir + `"
chmod 700 "$own" "$HOME/` + stateDir + `"
case $1 in "~/"*) root="$HOME/${1#??}" ;; *) root=$1 ;; esac
mkdir -p "$root" 2>/dev/null || :
if [ -d "$root" ] && [ -w "$root" ]; then root=$(cd "$root" && pwd -P); else root=; fi
printf 'home %s\nroot %s\narch %s\npath %s\nlang %s\n' "$HOME" "$root" "$(uname -m)" "$PATH" "${LANG:-C.UTF-8}"
for f in "$own"/bin/*/` + helper.Name + `; do if [ -x "$f" ]; then printf 'has %s\n' "$f"; fi; done`

// installScript puts an uploaded program in its place once it has proved whole.
const installScript = `chmod 755 "$1" && test "$("$1" build)" = "$3" && mv -f "$1" "$2"`

// place is what a sandbox is like inside.
type place struct {
	home, root, arch string
	path, lang       string   // for commands
	helpers          []string // programs that are there
	program          string   // the helper's path
	build            string
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
		case "path":
			p.path = value
		case "lang":
			p.lang = value
		case "has":
			p.helpers = append(p.helpers, value)
		}
	}
	return p
}

// prepare makes sure that the helper of this program's version and the workspace are in the sandbox.
func (x *box) prepare(ctx context.Context, a access) (place, *cloud.Failure) {
	p, f := x.lookInside(ctx, a)
	if f != nil {
		return p, f
	}
	program, err := helper.ForLinux(opOpen, "E2B's sandboxes", x.b.opts.HelperBinary, p.arch)
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

func (x *box) lookInside(ctx context.Context, a access) (place, *cloud.Failure) {
	root := x.b.opts.Root
	text, f := a.run(ctx, opOpen, prepareScript, root)
	if f != nil {
		return place{}, f
	}
	p := parsePlace(text)
	if p.root == "" {
		if f = a.mkdir(ctx, opOpen, root); f == nil {
			text, f = a.run(ctx, opOpen, prepareScript, root)
		}
		if f != nil {
			return place{}, f
		}
		p = parsePlace(text)
	}
	switch {
	case p.root == "":
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the E2B sandbox may not write to "+root+": choose another template", nil)
	case !path.IsAbs(p.home) || !path.IsAbs(p.root):
		return p, cloud.Fail(sandbox.ClassUnsupported, opOpen, "the user of the E2B sandbox has no home directory: choose another template", nil)
	}
	return p, nil
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
	_, f := a.run(ctx, opOpen, installScript, by, to, from.Build)
	return f
}
