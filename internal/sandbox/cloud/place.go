// This file is what a sandbox of a cloud is like inside, and how the helper comes there.

package cloud

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
)

// Where things are below the home of the sandbox's user.
const (
	OwnDir   = ".sandbox-agent"
	StateDir = OwnDir + "/state"
)

// LookScript makes the workspace that is its first argument and tells what there is, for ParsePlace. The workspace may be where
// the user can make none: then it tells none.
const LookScript = `case $1 in "~/"*) root="$HOME/${1#??}" ;; *) root=$1 ;; esac
mkdir -p "$root" 2>/dev/null || :
if [ -d "$root" ] && [ -w "$root" ]; then root=$(cd "$root" && pwd -P); else root=; fi
printf 'home %s\nroot %s\narch %s\n' "$HOME" "$root" "$(uname -m)"
for f in "$HOME/` + OwnDir + `"/bin/*/` + helper.Name + `; do if [ -x "$f" ]; then printf 'has %s\n' "$f"; fi; done`

// LookEnvironmentScript tells, for ParsePlace, with what environment the sandbox's programs begin.
const LookEnvironmentScript = `printf 'path %s\nlang %s\n' "$PATH" "${LANG:-C.UTF-8}"`

// installScript puts an uploaded program in its place once it has proved whole.
const installScript = `chmod 755 "$1" && test "$("$1" build)" = "$3" && mv -f "$1" "$2"`

// Place is what a sandbox is like inside.
type Place struct {
	Home, Root, Arch string
	Path, Lang       string   // of the sandbox's programs, where it was looked for
	Helpers          []string // programs that are there
	Program          string   // the helper's path
	Build            string
}

// ParsePlace reads what the scripts above tell.
func ParsePlace(text string) Place {
	var p Place
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name {
		case "home":
			p.Home = value
		case "root":
			p.Root = value
		case "arch":
			p.Arch = helper.Architectures[value]
		case "path":
			p.Path = value
		case "lang":
			p.Lang = value
		case "has":
			p.Helpers = append(p.Helpers, value)
		}
	}
	return p
}

// Bridge is the command that leads to the helper, and starts it if need be; an idle of 0 means the helper's default.
func (p *Place) Bridge(idle time.Duration) []string {
	argv := []string{p.Program, "stdio", "--state", path.Join(p.Home, StateDir), "--root", p.Root}
	if idle > 0 {
		argv = append(argv, "--idle", idle.String())
	}
	return argv
}

// Inside is how files come into a sandbox that has no helper yet.
type Inside struct {
	// Upload makes a file, which nobody else knows of yet.
	Upload func(ctx context.Context, op, name string, content io.Reader) *Failure
	// Run runs a script that must succeed and returns what it printed.
	Run func(ctx context.Context, op, script string, args ...string) (string, *Failure)
}

// Install makes sure that the helper of this program's version is in the sandbox: binary, unless that is "", or the one that
// belongs to this program. The error names whose sandboxes they are.
func (p *Place) Install(ctx context.Context, op, whose, binary string, in Inside) *Failure {
	program, err := helper.ForLinux(op, whose, binary, p.Arch)
	if err != nil {
		return Failed(op, err)
	}
	dir := path.Join(p.Home, OwnDir, "bin", program.Build)
	p.Program, p.Build = path.Join(dir, helper.Name), program.Build
	if slices.Contains(p.Helpers, p.Program) {
		return nil
	}
	content, err := os.Open(program.File)
	if err != nil {
		return Fail(sandbox.ClassUnavailable, op, "the helper program cannot be read: install this program anew", err)
	}
	defer content.Close()
	uploaded := path.Join(dir, "new-"+rand.Text())
	if f := in.Upload(ctx, op, uploaded, content); f != nil {
		return f
	}
	_, f := in.Run(ctx, op, installScript, uploaded, p.Program, program.Build)
	return f
}
