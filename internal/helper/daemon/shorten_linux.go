// This file reaches sockets whose path is too long for the system, by way of an open directory.

package daemon

import (
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// shorten returns a path of bounded length for a socket. It holds until release is called.
func shorten(path string) (short string, release func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open the directory of the socket: %w", err)
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(fd), filepath.Base(path)), func() { _ = unix.Close(fd) }, nil
}
