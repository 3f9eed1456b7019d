// This file checks who owns what lies in directories that others can write to.

package config

import (
	"fmt"
	"os"
	"syscall"
)

// ownDir makes sure that path is a directory of this user, no link, and closes it to others.
func ownDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	if uid, ok := ownerOf(info); ok && uid != os.Getuid() {
		return fmt.Errorf("%s belongs to another user (uid %d)", path, uid)
	}
	return closeDir(path)
}

func ownerOf(info os.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
