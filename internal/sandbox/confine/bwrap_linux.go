// This file lets bubblewrap make the planned file tree, where the system trusts it with namespaces and not us.

package confine

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/program"
)

const bwrapProgram = "bwrap"

// loaderPrefix begins the variables by which the loader of programs takes libraries from elsewhere.
const loaderPrefix = "LD_"

// bubblewrap returns the process that makes the plan's tree and becomes its command in it, with the environment env. What
// leads the loader to libraries, which may lie in the workspace, is for what runs inside only.
func bubblewrap(p plan, workspace string, h Host, env []string) (*exec.Cmd, error) {
	path, err := program.System(bwrapProgram, workspace, h.Env)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Env = []string{}
	for _, pair := range env {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, loaderPrefix) {
			cmd.Args = append(cmd.Args, "--setenv", name, value)
		} else {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	args, err := bwrapArgs(p, func(path string) (string, error) { return inherit(cmd, path) })
	if err != nil {
		return nil, err
	}
	cmd.Args = append(append(cmd.Args, args...), p.Argv...)
	return cmd, nil
}

// inherit opens a path for the process without following links, and returns the name by which it finds it. The helper
// closes these descriptors to its commands; see Harden.
func inherit(cmd *exec.Cmd, path string) (string, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), path))
	return "/proc/self/fd/" + strconv.Itoa(2+len(cmd.ExtraFiles)), nil
}

// bwrapArgs writes the plan as arguments. source turns the path of a source into the one that is passed.
func bwrapArgs(p plan, source func(string) (string, error)) ([]string, error) {
	args := []string{
		"--unshare-user", "--uid", strconv.Itoa(os.Getuid()), "--gid", strconv.Itoa(os.Getgid()),
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--cap-drop", "ALL", "--ro-bind", "/", "/",
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	var last []string
	for _, m := range p.Mounts {
		switch m.Kind {
		case bind, readOnly:
			from, err := source(m.Source)
			if err != nil {
				return nil, err
			}
			args = append(args, map[kind]string{bind: "--bind", readOnly: "--ro-bind"}[m.Kind], from, m.Target)
		case null:
			args = append(args, "--ro-bind", os.DevNull, m.Target)
		case cover:
			args = append(args, "--tmpfs", m.Target)
			last = append(last, "--remount-ro", m.Target)
		case shared:
			args = append(args, "--tmpfs", m.Target)
		case devices:
			args = append(args, "--dev", m.Target)
			last = append(last, "--remount-ro", m.Target)
		case process:
			args = append(args, "--proc", m.Target)
		}
	}
	return append(append(args, last...), "--chdir", "/", "--"), nil
}
