// This file lets a plain folder of this host have checkpoints, without a sandbox.

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

const opFolder = "open folder"

// Folder returns a folder of this host as a workspace. It refuses folders of which nobody means to keep all: the root of
// the file system, a home directory, and what contains the store.
func (s *Store) Folder(dir string) (*worktree.Tree, error) {
	if !filepath.IsAbs(dir) {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, opFolder, "the folder %s must be an absolute path", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sandbox.Errorf(sandbox.ClassNotFound, opFolder, "the folder %s does not exist: make it, or bring it back, and try again", dir)
	case err != nil:
		return nil, &sandbox.Error{Class: sandbox.ClassDenied, Op: opFolder, Message: "the folder " + dir + " cannot be opened", Err: err}
	case !info.IsDir():
		return nil, sandbox.Errorf(sandbox.ClassInvalid, opFolder, "%s is not a folder", dir)
	case sameFile(info, "/"):
		return nil, sandbox.Errorf(sandbox.ClassInvalid, opFolder, "the whole file system cannot have checkpoints: choose a folder in it")
	}
	if home, err := os.UserHomeDir(); err == nil && sameFile(info, home) {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, opFolder, "your home directory as a whole cannot have checkpoints: choose a folder in it")
	}
	if real := realPath(dir); within(real, realPath(s.opts.Dir)) || within(realPath(s.opts.Dir), real) {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, opFolder, "the folder %s contains the checkpoints themselves: choose another one", dir)
	}
	state := filepath.Join(s.opts.Dir, foldersDir, digest(realPath(dir)))
	return worktree.New(worktree.Options{Root: dir, State: state, Fault: s.opts.Fault}), nil
}

func sameFile(info fs.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return filepath.Clean(p)
}

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
