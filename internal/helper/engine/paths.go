// This file turns the paths of requests into names below the workspace and system errors into classes.

package engine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sandboxagent/internal/sandbox"
)

// rel returns name as a clean path relative to the workspace ("." for its root). Absolute paths are accepted when they
// lie inside, by the workspace's own name or by the one its links lead to.
func (e *Engine) rel(op, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", sandbox.Errorf(sandbox.ClassInvalid, op, "the path contains a NUL byte")
	}
	clean := path.Clean(name)
	if path.IsAbs(clean) {
		inside, ok := e.inside(clean)
		if !ok {
			return "", denied(op, name)
		}
		clean = inside
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", denied(op, name)
	}
	return clean, nil
}

func (e *Engine) inside(abs string) (string, bool) {
	for _, root := range []string{e.root, e.realRoot, e.alias} {
		if root == "" {
			continue
		}
		if abs == root {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(root, "/")+"/"); ok {
			return rest, true
		}
	}
	return "", false
}

// openRoot opens the workspace afresh, so that a folder replaced by its user is seen as it is now.
func (e *Engine) openRoot(op string) (*os.Root, error) {
	r, err := os.OpenRoot(e.root)
	if err != nil {
		return nil, &sandbox.Error{Class: sandbox.ClassNotFound, Op: op, Message: "the workspace folder cannot be opened", Err: reason(err)}
	}
	return r, nil
}

// insideGit reports whether a path leads into a repository's own files, also where case does not matter.
func insideGit(rel string) bool {
	return slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool { return strings.EqualFold(name, ".git") })
}

func denied(op, name string) *sandbox.Error {
	return &sandbox.Error{Class: sandbox.ClassDenied, Op: op, Path: name, Message: "the path leads outside the workspace"}
}

// fileError classifies what a file operation on name returned.
func fileError(op, name string, err error) error {
	var known *sandbox.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	class, message := classify(err)
	return &sandbox.Error{Class: class, Op: op, Path: name, Message: message, Err: reason(err)}
}

func classify(err error) (sandbox.Class, string) {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	var errno syscall.Errno
	isErrno := errors.As(err, &errno)
	switch {
	case errors.Is(err, fs.ErrNotExist), isErrno && errno == syscall.ENOTDIR:
		return sandbox.ClassNotFound, "there is no such file or directory"
	case errors.Is(err, fs.ErrExist):
		return sandbox.ClassConflict, "it exists already"
	case errors.Is(err, fs.ErrPermission), isErrno && errno == syscall.EROFS:
		return sandbox.ClassDenied, "permission denied"
	case isErrno && errno == syscall.ELOOP:
		return sandbox.ClassDenied, "too many symbolic links"
	case isErrno && (errno == syscall.ENOSPC || errno == syscall.EDQUOT):
		return sandbox.ClassLimit, "no space left on the disk"
	case isErrno && errno == syscall.ENAMETOOLONG:
		return sandbox.ClassInvalid, "the name is too long"
	case isErrno && errno == syscall.EISDIR:
		return sandbox.ClassInvalid, "it is a directory"
	case isErrno && (errno == syscall.EMFILE || errno == syscall.ENFILE || errno == syscall.EINTR):
		return sandbox.ClassUnavailable, "too many open files"
	case !isErrno && (errors.As(err, &pathErr) || errors.As(err, &linkErr)):
		// os.Root has no exported error for this: what is no errno is its refusal to leave the root
		return sandbox.ClassDenied, "the path leads outside the workspace"
	}
	return sandbox.ClassInternal, "the operation failed"
}

// reason strips the path, which may be one of the host, from a system error.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	var sysErr *os.SyscallError
	if errors.As(err, &sysErr) {
		return sysErr.Err
	}
	return err
}

// realPath resolves the links of the workspace path itself; where that fails the path stands for itself.
func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}
