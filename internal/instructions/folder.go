// This file looks into a folder of this host, for which there is no sandbox yet.

package instructions

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"sandboxagent/internal/sandbox"
)

// Folder is the Workspace of a folder. Whoever opened root closes it.
func Folder(root *os.Root) Workspace { return folder{root} }

type folder struct{ root *os.Root }

// Stat implements Workspace.
func (f folder) Stat(_ context.Context, name string) (sandbox.Entry, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return sandbox.Entry{}, classed(name, err)
	}
	return entryOf(name, info), nil
}

// ReadFile implements Workspace.
func (f folder) ReadFile(_ context.Context, name string, offset int64, n int) (sandbox.FileContent, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would never answer
	if err != nil {
		return sandbox.FileContent{}, classed(name, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return sandbox.FileContent{}, classed(name, err)
	}
	if !info.Mode().IsRegular() {
		return sandbox.FileContent{}, &sandbox.Error{Class: sandbox.ClassInvalid, Op: "read instructions", Path: name, Message: "it is not a regular file"}
	}
	data, err := io.ReadAll(io.NewSectionReader(file, offset, int64(n)))
	return sandbox.FileContent{Data: data, Size: info.Size(), Mode: info.Mode()}, classed(name, err)
}

// List implements Workspace for one level.
func (f folder) List(_ context.Context, name string, _, limit int) (sandbox.Listing, error) {
	dir, err := f.root.Open(name)
	if err != nil {
		return sandbox.Listing{}, classed(name, err)
	}
	defer func() { _ = dir.Close() }()
	var listing sandbox.Listing
	entries, err := dir.ReadDir(limit)
	for _, e := range entries {
		listing.Entries = append(listing.Entries, sandbox.Entry{Path: path.Join(name, e.Name()), Mode: e.Type()})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return listing, classed(name, err)
}

func entryOf(name string, info fs.FileInfo) sandbox.Entry {
	return sandbox.Entry{Path: name, Mode: info.Mode(), Size: info.Size(), Mtime: info.ModTime()}
}

// classed says of an error whether there is no such file, or it may not be read.
func classed(name string, err error) error {
	if err == nil {
		return nil
	}
	class := sandbox.ClassDenied
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		class = sandbox.ClassNotFound
	}
	return &sandbox.Error{Class: class, Op: "read instructions", Path: name, Message: "it cannot be read", Err: err}
}
