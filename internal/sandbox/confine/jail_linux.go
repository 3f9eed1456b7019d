// This file holds the thread from which a helper starts its supervisors: under restrictions that it, and all it starts,
// cannot take off, while the helper's other threads keep working.

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// oomScore makes the kernel end a sandbox before the user's own programs when memory runs out.
const oomScore = "300"

// Starter puts a thread into the jail and returns a function that starts programs on it.
func (j Jail) Starter() (func(*exec.Cmd) error, error) {
	if j.Method == Seatbelt || j.Method == Nothing {
		return nil, fmt.Errorf("confine commands by %s: not possible on this system", j.Method)
	}
	work := make(chan func())
	ready := make(chan error)
	go onOtherThread(func() {
		err := j.restrict()
		ready <- err
		if err != nil {
			return
		}
		for f := range work {
			f()
		}
	})
	if err := <-ready; err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) error {
		done := make(chan error)
		work <- func() { done <- cmd.Start() }
		return <-done
	}, nil
}

// onOtherThread runs f on a thread that is of use for nothing else afterwards. It is never the first one: that stands for
// the whole process, and what is in the jail may signal whatever else is.
func onOtherThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f() // never unlocked: the thread ends with the goroutine
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onOtherThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// restrict puts the calling thread into the jail.
func (j Jail) restrict() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	version := landlockVersion()
	if version == 0 { // nothing else keeps commands from the helper and its records
		return errors.New("the kernel has no Landlock")
	}
	if !j.Method.Strong() && version < leastLandlock {
		return fmt.Errorf("the kernel's Landlock has version %d, too early to be enough alone", version)
	}
	if err := j.landlock(version); err != nil {
		return err
	}
	return j.seccomp()
}

// dropCapabilities takes all capabilities from the calling thread, and the means of getting any back.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails when there is nothing to be dropped
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// Harden keeps commands, which run as the same user, from looking into the calling process, and lets none of its
// descriptors through to them.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the helper to others: %w", err)
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("keep descriptors from commands: %w", err)
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(oomScore), 0) // a preference, not a promise
	return nil
}
