// This file says that other systems have no such renames; hard links stand in for them.

//go:build unix && !linux && !darwin

package engine

import "syscall"

func renameExchange(int, string, string) error { return syscall.ENOSYS }

func renameNoReplace(int, string, string) error { return syscall.ENOSYS }
