// This file is the trial of a confinement: a helper that only starts one command, which looks around and tells.

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// CheckVerb makes a helper program the trial of its jail.
const CheckVerb = "check"

// insideVerb is what the trial starts in the jail.
const insideVerb = "inside"

// Check runs the trial and returns its exit code.
func Check(args []string) int {
	err := check(args)
	if err == nil {
		return 0
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) { // what ran inside has told itself
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func check(args []string) error {
	if len(args) != 2 {
		return errors.New("check takes a jail")
	}
	j, err := DecodeJail(args[1])
	if err != nil {
		return err
	}
	if args[0] == insideVerb {
		return j.inspect()
	}
	if err := Harden(); err != nil {
		return err
	}
	start, err := j.Starter()
	if err != nil {
		return err
	}
	self := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	cmd := exec.Command(self, CheckVerb, insideVerb, args[1])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := start(cmd); err != nil {
		return fmt.Errorf("start a command: %w", err)
	}
	return cmd.Wait()
}

// inspect returns what does not hold.
func (j Jail) inspect() error {
	workspace, home := j.Write[0], j.Write[1]
	if err := writable(workspace); err != nil {
		return fmt.Errorf("the workspace cannot be written: %w", err)
	}
	if err := writable(home); err != nil {
		return fmt.Errorf("the home of the sandbox cannot be written: %w", err)
	}
	state := filepath.Dir(home)
	if j.Method.Strong() {
		state += "/state"
	}
	if writable(state) == nil || writable(filepath.Dir(home)) == nil || writable("/") == nil {
		return errors.New("files outside the workspace can be written")
	}
	return j.inspectSystem()
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".check-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
