// This file has the numbers of the system calls that only this architecture has.

package engine

import "golang.org/x/sys/unix"

const (
	sysPoll      = unix.SYS_POLL
	sysSelect    = unix.SYS_SELECT
	sysEpollWait = unix.SYS_EPOLL_WAIT
)
