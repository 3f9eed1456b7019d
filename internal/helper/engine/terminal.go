// This file sets the size of a command's terminal.

package engine

import (
	"errors"
	"syscall"

	"github.com/creack/pty"

	"sandboxagent/internal/sandbox"
)

const opResize = "resize terminal"

// resize tells the terminal, which tells its foreground processes.
func (c *command) resize(rows, cols uint16) error {
	if rows == 0 || cols == 0 {
		return sandbox.Errorf(sandbox.ClassInvalid, opResize, "a terminal has at least one row and one column")
	}
	if c.snapshot().State != sandbox.StateRunning {
		return nil
	}
	if c.terminal == nil {
		return sandbox.Errorf(sandbox.ClassInvalid, opResize, "the command has no terminal: start it with one")
	}
	err := pty.Setsize(c.terminal, &pty.Winsize{Rows: rows, Cols: cols})
	var errno syscall.Errno
	if err == nil || !errors.As(err, &errno) { // closed meanwhile: nobody is left on it
		return nil
	}
	return &sandbox.Error{Class: sandbox.ClassInternal, Op: opResize, Message: "the size could not be set", Err: reason(err)}
}
