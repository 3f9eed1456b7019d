// This file bounds the processes of a command and keeps commands from their supervisor, on Linux.

package engine

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitName is the variable that tells a supervisor how many processes its commands may be.
const limitName = "SANDBOX_PROCESSES"

// closeToOthers keeps other processes of this user from reading and tracing this one, and from its core.
func closeToOthers() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// limitProcesses lowers the limit that a command forked next inherits. What it returns puts the supervisor's own limit
// back, so that it can always go on, and makes the command's final.
func limitProcesses() (done func(pid int)) {
	n, err := strconv.ParseUint(os.Getenv(limitName), 10, 64)
	if err != nil {
		return func(int) {}
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &own); err != nil {
		return func(int) {}
	}
	n = min(n, own.Max)
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: own.Max})
	return func(pid int) {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &own)
		if pid > 0 {
			_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}, nil)
		}
	}
}
