// This file covers what commands must not reach, where there still is something.

package confine

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hide has what is at target covered, unless commands cannot reach it.
func (t *tree) hide(target string, cover func(at int) error) error {
	at, err := unix.Openat2(t.root, strings.TrimPrefix(target, "/"), &inTree)
	if t.outOfReach(target, err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return cover(at)
}

// outOfReach tells from the error of opening a target that it is gone since the plan was made, or in a directory of another
// user that is closed to this one, and thereby to commands: they have the same ids and fewer capabilities.
func (t *tree) outOfReach(target string, err error) bool {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return true
	}
	opens := func(dir string) bool { return within(dir, target) }
	return errors.Is(err, unix.EACCES) && !slices.ContainsFunc(t.writable, opens)
}
