// This file has macOS's way of what Linux does otherwise.

package worktree

import "golang.org/x/sys/unix"

const (
	noAtime     = 0
	noAttribute = unix.ENOATTR
)

// nextData does not look for holes: zeros are found by reading them.
func nextData(_ int, offset, _ int64) int64 { return offset }

func renameExchange(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_SWAP)
}

func renameNoReplace(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
}

func chmodAt(dir int, name string, perm uint32) error {
	return unix.Fchmodat(dir, name, perm, unix.AT_SYMLINK_NOFOLLOW)
}

// keepsAttribute tells whether a file that replaces another keeps an extended attribute of it.
func keepsAttribute(string) bool { return true }

func syncAll(int) error { return unix.Sync() }

// writers cannot be told of.
func writers(int) bool { return false }
