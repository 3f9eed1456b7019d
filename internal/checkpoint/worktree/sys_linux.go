// This file has what only Linux offers.

package worktree

import (
	"errors"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	noAtime     = unix.O_NOATIME
	noAttribute = unix.ENODATA
)

// nextData returns where the file has data from offset on, at most size.
func nextData(fd int, offset, size int64) int64 {
	at, err := unix.Seek(fd, offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return size
	case err != nil || at < offset:
		return offset // the file system cannot tell
	}
	return at
}

// renameExchange swaps two entries in one step.
func renameExchange(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_EXCHANGE)
}

// renameNoReplace moves an entry unless something has the new name.
func renameNoReplace(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

// chmodAt changes the permissions of an entry that is no link.
func chmodAt(dir int, name string, perm uint32) error {
	err := unix.Fchmodat(dir, name, perm, unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	fd, err := open(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer closeFd(fd)
	st, err := statFile(fd)
	if err != nil {
		return err
	}
	if st.link() {
		return syscall.ELOOP
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), perm)
}

// keepsAttribute tells whether a file that replaces another keeps an extended attribute of it.
func keepsAttribute(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access"
}

// writers tells whether somebody has a file open for writing, or mapped so: then nobody gets a lease for reading.
func writers(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil {
		return errors.Is(err, syscall.EAGAIN) // else nobody can tell
	}
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return false
}

// syncAll makes everything on the file system durable.
func syncAll(fd int) error { return unix.Syncfs(fd) }
