// This file wraps the system calls: by descriptor, one name at a time, interrupted calls repeated.

package worktree

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// stat is what is to be known of an entry.
type stat struct {
	format             uint32 // S_IFMT bits
	perm               uint16
	size, data         int64 // bytes, and those not in holes
	mtime, ctime       int64 // nanoseconds
	ino, device, links uint64
}

func (s *stat) dir() bool     { return s.format == unix.S_IFDIR }
func (s *stat) regular() bool { return s.format == unix.S_IFREG }
func (s *stat) link() bool    { return s.format == unix.S_IFLNK }

const blockSize = 512 // of st_blocks, everywhere

func statOf(st *unix.Stat_t) stat {
	s := stat{
		//nolint:unconvert // the types differ between systems
		format: uint32(st.Mode) & unix.S_IFMT, perm: uint16(st.Mode & 0o777), size: st.Size, data: st.Size,
		//nolint:unconvert // the types differ between systems
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), ino: st.Ino, device: uint64(st.Dev), links: uint64(st.Nlink),
	}
	if held := st.Blocks * blockSize; held > 0 {
		s.data = min(s.size, held)
	}
	return s
}

func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func statAt(dir int, name string) (stat, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&st), err
}

func statFile(fd int) (stat, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(fd, &st) })
	return statOf(&st), err
}

func open(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// openDirectory opens a directory; flags may have O_NOFOLLOW.
func openDirectory(dir int, name string, flags int) (int, error) {
	return open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|flags, 0)
}

// openFile opens a file for reading without waiting for anybody, following no link.
func openFile(dir int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := open(dir, name, flags|noAtime, 0)
	if noAtime != 0 && errors.Is(err, syscall.EPERM) { // not ours
		return open(dir, name, flags, 0)
	}
	return fd, err
}

// readAt fills b as far as the file goes.
func readAt(fd int, b []byte, offset int64) (n int, err error) {
	for n < len(b) {
		var got int
		err = again(func() error {
			got, err = unix.Pread(fd, b[n:], offset+int64(n))
			return err
		})
		if err != nil || got == 0 {
			return n, err
		}
		n += got
	}
	return n, nil
}

func writeAt(fd int, b []byte, offset int64) error {
	for len(b) > 0 {
		var put int
		err := again(func() (err error) {
			put, err = unix.Pwrite(fd, b, offset)
			return err
		})
		if err != nil {
			return err
		}
		b, offset = b[put:], offset+int64(put)
	}
	return nil
}

func readLink(dir int, name string) (string, error) {
	for size := 256; ; size *= 4 {
		b := make([]byte, size)
		n, err := unix.Readlinkat(dir, name, b)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(b[:n]), nil
		}
	}
}

// readNames returns the names in a directory, "." and ".." left out, using buf.
func readNames(dir int, buf []byte) (names []string, err error) {
	for {
		var n int
		err := again(func() error {
			n, err = unix.ReadDirent(dir, buf)
			return err
		})
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func closeFd(fd int) { _ = unix.Close(fd) }

// exhausted tells of errors that say nothing about the file at hand: a picture that left it out would be a lie.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// gone tells that what was there a moment ago is not, or is something else by now.
func gone(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ESTALE)
}
