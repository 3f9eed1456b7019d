// This file has the renames of macOS that exchange or refuse to replace.

package engine

import "golang.org/x/sys/unix"

func renameExchange(dir int, from, to string) error {
	return unix.RenameatxNp(dir, from, dir, to, unix.RENAME_SWAP)
}

func renameNoReplace(dir int, from, to string) error {
	return unix.RenameatxNp(dir, from, dir, to, unix.RENAME_EXCL)
}
