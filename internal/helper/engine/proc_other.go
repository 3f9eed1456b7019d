// This file keeps the package compiling on other Unix systems, where only the command's process group is known.

//go:build unix && !linux && !darwin

package engine

import (
	"os"
	"syscall"
)

const hasSubreaper = false

func becomeSubreaper() {}

func tree(_, pgid int, _ bool) []int {
	if pgid > 0 && syscall.Kill(-pgid, 0) == nil {
		return []int{-pgid}
	}
	return nil
}

func marked(string) []int { return nil }

func selfProgram() (string, error) { return os.Executable() }

// childrenOf is of use only where orphans come to this process.
func childrenOf(int) []int { return nil }
