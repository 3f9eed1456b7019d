// This file finds the programs of this product, which are installed beside each other.

package program

import (
	"fmt"
	"os"
	"path/filepath"
)

// Own lists where a program of this product may lie, best first, whether or not it is there: beside this program, also where
// a link to this one leads, and where only root can write. Of several names each place is tried with all. PATH counts as it
// does for System: it often begins with a directory of the workspace.
func Own(names ...string) (paths []string) {
	for _, dir := range besideThis() {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	for _, name := range names {
		if path, err := System(name, "", os.Environ()); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// besideThis returns the directory of this program, and that of the file behind it.
func besideThis() (dirs []string) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	dirs = append(dirs, filepath.Dir(self))
	if real, err := filepath.EvalSymlinks(self); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// Executable returns nil for the absolute path of a program. Other paths are refused, as they depend on where one stands,
// which often is a workspace.
func Executable(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s is no absolute path", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is no executable file", path)
	}
	return nil
}
