// This file starts helpers in the control group of their sandbox, where there can be one.

package local

import (
	"os/exec"
	"path/filepath"
	"syscall"

	"sandboxagent/internal/sandbox/confine"
)

// joinGroup lets the process start in the sandbox's control group.
func (b *Backend) joinGroup(cmd *exec.Cmd, session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.groups[session] == nil {
		group := confine.Cgroup(filepath.Base(session))
		if group == nil {
			return
		}
		b.groups[session] = group // open until the sandbox is destroyed: processes start by its descriptor
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(b.groups[session].Fd())
}

// leaveGroup removes the control group of a sandbox that is no more.
func (b *Backend) leaveGroup(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.groups[session]; f != nil {
		_ = f.Close()
		delete(b.groups, session)
	}
	confine.RemoveCgroup(filepath.Base(session))
}
