// This file has the renames of Linux that exchange or refuse to replace.

package engine

import "golang.org/x/sys/unix"

func renameExchange(dir int, from, to string) error {
	return unix.Renameat2(dir, from, dir, to, unix.RENAME_EXCHANGE)
}

func renameNoReplace(dir int, from, to string) error {
	return unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
}
