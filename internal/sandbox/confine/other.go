// This file stands in for what only Linux has.

//go:build !linux

package confine

import "os"

// StageVerb makes a helper program the stage; only on Linux is there one.
const StageVerb = "stage"

// Stage fails.
func Stage([]string) int { return 125 }

// Cgroup returns nil: there are no control groups.
func Cgroup(string) *os.File { return nil }

// RemoveCgroup does nothing.
func RemoveCgroup(string) {}

func landlockVersion() int { return 0 }

func describeLimits(Method) string { return "" }

func explain(m Method, err error) string { return string(m) + " (" + err.Error() + ")" }
