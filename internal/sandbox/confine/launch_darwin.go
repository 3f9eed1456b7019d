// This file confines on macOS: the helper's supervisors, and so their commands, are started by sandbox-exec.

package confine

import (
	"errors"
	"os"
	"os/exec"
)

const sandboxExec = "/usr/bin/sandbox-exec"

const remedy = "sandbox-exec must be at " + sandboxExec + ", where macOS has it"

// Methods returns the ways to try on this system.
func Methods() []Method { return []Method{Seatbelt} }

// Command returns the process that becomes a helper with the arguments that args returns; its commands are confined.
func Command(p Policy, h Host, args func(state, root string) []string) (*exec.Cmd, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.Program, append(args(p.State, p.insideRoot()), JailFlag, p.jail(h).Encode())...)
	cmd.Dir, cmd.Env = "/", p.Environment(h)
	return cmd, nil
}

// Starter returns a function that starts programs in the jail.
func (j Jail) Starter() (func(*exec.Cmd) error, error) {
	if _, err := os.Stat(sandboxExec); err != nil {
		return nil, errors.New("sandbox-exec is missing")
	}
	profile := j.Profile()
	return func(cmd *exec.Cmd) error {
		cmd.Args = append([]string{sandboxExec, "-p", profile, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = sandboxExec
		return cmd.Start()
	}, nil
}

// Harden does nothing here: the profile keeps commands from other processes.
func Harden() error { return nil }

func (j Jail) inspectSystem() error { return nil }
