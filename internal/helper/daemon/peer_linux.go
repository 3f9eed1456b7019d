// This file knows who is at the other end of a socket on Linux.

package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// fromInside reports whether the process that connected is among those that this one can see. What it cannot see, the
// system numbers 0.
func fromInside(conn net.Conn) bool { return peer(conn) != 0 }

// peer returns the process id of who listens, or connected, at the other end; -1 when it is not known.
func peer(conn net.Conn) int {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return -1
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return -1
	}
	pid := -1
	if err := raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	}); err != nil {
		return -1
	}
	return pid
}
