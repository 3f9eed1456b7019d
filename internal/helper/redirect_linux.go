// This file makes one descriptor stand for another on Linux.

package helper

import "golang.org/x/sys/unix"

func redirect(from, to int) error { return unix.Dup3(from, to, 0) }
