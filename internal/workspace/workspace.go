// This file says which folders may be workspaces.

// Package workspace knows on which folders an agent may be let loose. Who makes sessions and who makes sandboxes ask it the
// same question.
package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Unfit says why a folder cannot be a workspace.
type Unfit struct {
	Message string // without the folder's name
	Remedy  string
	Err     error // of looking at it, if that failed
}

// Error implements error.
func (u *Unfit) Error() string {
	if u.Remedy == "" {
		return u.Message
	}
	return u.Message + ": " + u.Remedy
}

// Unwrap returns the cause.
func (u *Unfit) Unwrap() error { return u.Err }

const another = "open a folder in it"

// Check returns an *Unfit unless dir is a folder of moderate reach: neither the whole file system nor a whole home, and
// without private, a directory of this product, in it.
func Check(dir, private string) error {
	if !filepath.IsAbs(dir) {
		return &Unfit{Message: "the workspace must be an absolute path"}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Unfit{Message: "the workspace folder does not exist", Err: err}
	case err != nil:
		return &Unfit{Message: "the workspace folder cannot be opened", Err: err}
	case !info.IsDir():
		return &Unfit{Message: "the workspace is not a folder"}
	case same(info, "/"):
		return &Unfit{Message: "the whole file system cannot be a workspace", Remedy: another}
	}
	if home, err := os.UserHomeDir(); err == nil && same(info, home) {
		return &Unfit{Message: "your home directory as a whole cannot be a workspace", Remedy: another}
	}
	if contains(dir, private) {
		return &Unfit{Message: "the workspace contains the state of this program", Remedy: "open another folder"}
	}
	return nil
}

func same(info fs.FileInfo, dir string) bool {
	other, err := os.Stat(dir)
	return err == nil && os.SameFile(info, other)
}

// contains reports whether inner lies in dir, links resolved as far as they exist.
func contains(dir, inner string) bool {
	rel, err := filepath.Rel(Resolve(dir), Resolve(inner))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// Resolve follows the links in a path as far as it exists.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Resolve(parent), filepath.Base(path))
}

// Below returns the paths, absolute ones, that lie in dir, relative to it and with "/". Links in any of them are followed.
func Below(dir string, paths []string) []string {
	root := Resolve(dir)
	var below []string
	for _, path := range paths {
		rel, err := filepath.Rel(root, Resolve(path))
		if err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../") {
			below = append(below, filepath.ToSlash(rel))
		}
	}
	return below
}
