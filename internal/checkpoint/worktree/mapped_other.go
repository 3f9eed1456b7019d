// This file stands in where mappings cannot be listed: a store through a mapping is then seen when it reaches the file's
// times.

//go:build !linux

package worktree

func mapped() map[uint64]bool { return nil }
