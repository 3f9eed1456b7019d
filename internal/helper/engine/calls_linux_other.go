// This file stands for the older system calls where an architecture has only their successors, or they are not looked for.

//go:build linux && !amd64

package engine

// No system call has these numbers.
const (
	sysPoll      = 1<<64 - 1
	sysSelect    = 1<<64 - 2
	sysEpollWait = 1<<64 - 3
)
