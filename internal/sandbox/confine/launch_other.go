// This file says that commands cannot be confined on other systems.

//go:build !linux && !darwin

package confine

import (
	"errors"
	"os/exec"
)

const remedy = "use Linux or macOS"

var errSystem = errors.New("not possible on this system")

// Methods returns the ways to try on this system: none.
func Methods() []Method { return nil }

// Command fails.
func Command(Policy, Host, func(string, string) []string) (*exec.Cmd, error) { return nil, errSystem }

// Starter fails.
func (j Jail) Starter() (func(*exec.Cmd) error, error) { return nil, errSystem }

// Harden does nothing.
func Harden() error { return nil }

func (j Jail) inspectSystem() error { return nil }
