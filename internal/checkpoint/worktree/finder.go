// This file reaches the directories of a tree one name at a time, classifies errors, and removes what is ours.

package worktree

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

// finder opens the directories that hold paths, keeping the last one open. It is used by one goroutine.
type finder struct {
	base int // where paths begin; not the finder's to close
	path string
	dir  int // of path; base when path is ""
}

func (n *change) finder() *finder {
	base := n.root
	if n.fresh >= 0 {
		base = n.fresh
	}
	return &finder{base: base, dir: base}
}

// find returns the open directory that holds path, good until the next call, and the path's last name.
func (f *finder) find(path string) (dir int, name string, err error) {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	if parent == f.path {
		return f.dir, name, nil
	}
	at, rest := f.base, parent
	if below, ok := strings.CutPrefix(parent, f.path+"/"); ok && f.path != "" {
		at, rest = f.dir, below
	}
	fd := at
	for element := range strings.SplitSeq(rest, "/") {
		if element == "" {
			break // the root itself
		}
		next, err := openDirectory(fd, element, unix.O_NOFOLLOW)
		if fd != at {
			closeFd(fd)
		}
		if err != nil {
			return -1, "", err
		}
		fd = next
	}
	if fd != f.dir {
		f.close()
	}
	f.path, f.dir = parent, fd
	return fd, name, nil
}

func (f *finder) close() {
	if f.dir != f.base {
		closeFd(f.dir)
	}
	f.path, f.dir = "", f.base
}

// removeAll removes an entry and everything below it, making directories of ours writable where needed.
func removeAll(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if st, serr := statAt(dir, name); serr != nil || !st.dir() {
		return err
	}
	_ = chmodAt(dir, name, 0o700)
	fd, err := openDirectory(dir, name, unix.O_NOFOLLOW)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closeFd(fd)
	names, err := readNames(fd, make([]byte, 8<<10))
	if err != nil {
		return err
	}
	for _, below := range names {
		if err := removeAll(fd, below); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); !gone(err) {
		return err
	}
	return nil
}

// NoSpace is the message of a change that found the disk full, and has changed nothing. It also comes from helpers.
const NoSpace = "no space is left on the disk: free some and try again"

// fileError classifies what a system call on path returned.
func fileError(path string, err error) error {
	var known *sandbox.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	class, message := sandbox.ClassInternal, "a file could not be changed"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		class, message = sandbox.ClassLimit, NoSpace
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		class, message = sandbox.ClassDenied, "permission denied"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EILSEQ), errors.Is(err, syscall.ENAMETOOLONG):
		class, message = sandbox.ClassUnsupported, "the file system does not take this name or operation"
	case exhausted(err):
		class, message = sandbox.ClassUnavailable, "too many open files"
	case gone(err):
		class, message = sandbox.ClassConflict, "it was changed meanwhile"
	}
	return &sandbox.Error{Class: class, Op: opChange, Path: path, Message: message, Err: err}
}
