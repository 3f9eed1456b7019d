// This file moves entries, each in one system call where the file system can do that.

package worktree

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// writable lets do change a directory of ours that is write-protected.
func writable(dir int, do func() error) error {
	err := do()
	if !errors.Is(err, syscall.EACCES) {
		return err
	}
	st, serr := statFile(dir)
	if serr != nil || unix.Fchmod(dir, uint32(st.perm)|0o700) != nil {
		return err
	}
	err = do()
	if cerr := unix.Fchmod(dir, uint32(st.perm)); err == nil {
		err = cerr
	}
	return err
}

// moveNew moves an entry to where nothing may be.
func moveNew(fromDir int, from string, toDir int, to string) error {
	err := renameNoReplace(fromDir, from, toDir, to)
	if !unsupported(err) {
		return err
	}
	if err = unix.Linkat(fromDir, from, toDir, to, 0); err == nil {
		return unix.Unlinkat(fromDir, from, 0)
	}
	if errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.ENOENT) {
		return err
	}
	if _, serr := statAt(toDir, to); serr == nil { // a directory, or a file system without links
		return syscall.EEXIST
	}
	return unix.Renameat(fromDir, from, toDir, to)
}

// exchange swaps what is staged with an entry. Where the file system cannot do that in one step, a hard link keeps the
// old content while the new one is renamed over it.
func exchange(stage int, staged string, dir int, name string) error {
	err := renameExchange(stage, staged, dir, name)
	if !unsupported(err) {
		return err
	}
	keep := staged + keptSuffix
	err = unix.Linkat(dir, name, stage, keep, 0)
	for errors.Is(err, syscall.EEXIST) { // from before a crash
		keep += keptSuffix
		err = unix.Linkat(dir, name, stage, keep, 0)
	}
	if err != nil {
		return err
	}
	if err := unix.Renameat(stage, staged, dir, name); err != nil {
		_ = unix.Unlinkat(stage, keep, 0)
		return err
	}
	return unix.Renameat(stage, keep, stage, staged)
}

func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}
