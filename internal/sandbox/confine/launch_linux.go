// This file starts helpers on Linux, each way of confinement in its own manner.

package confine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const planFile = "confinement.json" // in the helper's state: what it was started with

// Methods returns the ways to try on this system, best first. Of the two that are alike, ours comes first for root,
// whose processes it alone can count.
func Methods() []Method {
	if os.Getuid() == 0 {
		return []Method{Namespaces, Bubblewrap, Landlock}
	}
	return []Method{Bubblewrap, Namespaces, Landlock}
}

// Command returns the process that becomes a helper, confined by the policy. args returns its arguments, given the paths by
// which it will find its state and the workspace; those that name its jail are added.
func Command(p Policy, h Host, args func(state, root string) []string) (*exec.Cmd, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	state, _, _ := p.inside()
	argv := append(append([]string{p.Program}, args(state, p.insideRoot())...), JailFlag, p.jail(h).Encode())
	if !p.Method.Strong() {
		cmd := exec.Command(p.Program, argv[1:]...)
		cmd.Dir, cmd.Env = "/", p.Environment(h)
		return cmd, nil
	}
	plan := newPlan(p, h, hostSockets())
	plan.Argv = argv
	if p.Method == Bubblewrap {
		return bubblewrap(plan, p.Workspace, h, p.Environment(h))
	}
	return ownStage(plan, p, p.Environment(h))
}

// ownStage returns the process that makes the plan's tree with the kernel's own means.
func ownStage(plan plan, p Policy, env []string) (*exec.Cmd, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write the plan of the sandbox: %w", err)
	}
	path := filepath.Join(p.State, planFile)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the plan of the sandbox: %w", err)
	}
	cmd := exec.Command(p.Program, StageVerb, path)
	cmd.Dir, cmd.Env = "/", env
	flags := uintptr(namespaces)
	if !plan.Network {
		flags |= syscall.CLONE_NEWNET
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}, // for the stage alone
	}
	return cmd, nil
}

// hostSockets returns the paths of all sockets that something on this machine listens at: doors to other services.
func hostSockets() (out []string) {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !filepath.IsAbs(fields[7]) {
			continue
		}
		info, err := os.Lstat(fields[7])
		if err == nil && info.Mode()&os.ModeSocket != 0 {
			out = append(out, existing(fields[7:8])...)
		}
	}
	slices.SortFunc(out, comparePaths)
	return slices.Compact(out)
}

// explain says why a way is not possible here, and what would make it possible.
func explain(m Method, err error) string {
	text := string(m) + " (" + strings.ReplaceAll(err.Error(), ": ", ", ") + ")"
	if !m.Strong() {
		return text
	}
	for path, refuses := range map[string]string{
		"/proc/sys/kernel/unprivileged_userns_clone":             "0",
		"/proc/sys/user/max_user_namespaces":                     "0",
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
	} {
		if b, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(b)) == refuses {
			text += fmt.Sprintf(", as %s is %s", path, refuses)
		}
	}
	if errors.Is(err, unix.EPERM) {
		text += ", as the system does not allow user namespaces here"
	}
	return text
}

// remedy says what to install or to enable.
const remedy = "install the package bubblewrap, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, " +
	"user.max_user_namespaces above 0), or use a kernel with Landlock"
