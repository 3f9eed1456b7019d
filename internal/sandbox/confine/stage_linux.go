// This file is the stage: a process alone in new namespaces that makes the planned file tree its root, gives up what
// made that possible, and becomes the helper.

package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// StageVerb makes a helper program the stage; its argument is the plan.
const StageVerb = "stage"

// stageFailed is the exit code of a stage that could not become the helper.
const stageFailed = 125

// namespaces are what the stage is started in, with the network if it is not to have the machine's.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// Stage runs the stage. It returns only when it failed.
func Stage(args []string) int {
	runtime.LockOSThread() // whose capabilities count at the exec
	fmt.Fprintln(os.Stderr, "the sandbox cannot be made:", stage(args))
	return stageFailed
}

// stage returns why it failed.
func stage(args []string) error {
	if len(args) != 1 {
		return errors.New("the stage takes a plan")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	var p plan
	if err := json.Unmarshal(text, &p); err != nil || len(p.Argv) == 0 {
		return fmt.Errorf("read the plan: it is damaged: %w", err)
	}
	if err := enter(p); err != nil {
		return err
	}
	if !p.Network {
		if err := raiseLoopback(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	err = syscall.Exec("/proc/self/exe", p.Argv, os.Environ())
	return fmt.Errorf("become the helper: %w", err)
}

// raiseLoopback turns the own loopback device on.
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise the loopback device: %w", err)
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("raise the loopback device: %w", err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(request))); errno != 0 {
		return fmt.Errorf("raise the loopback device: %w", errno)
	}
	return nil
}
