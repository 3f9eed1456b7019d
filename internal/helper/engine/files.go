// This file reads files and describes entries of the workspace.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"sandboxagent/internal/sandbox"
)

const (
	maxRead = 8 << 20 // bytes of one read
	opRead  = "read file"
	opStat  = "stat"
)

// ReadFile implements the method of sandbox.Sandbox. Links are followed as long as they stay inside.
func (e *Engine) ReadFile(_ context.Context, name string, offset int64, n int) (sandbox.FileContent, error) {
	var out sandbox.FileContent
	if offset < 0 || n < 0 {
		return out, sandbox.Errorf(sandbox.ClassInvalid, opRead, "offset and length must not be negative")
	}
	rel, err := e.rel(opRead, name)
	if err != nil {
		return out, err
	}
	root, err := e.openRoot(opRead)
	if err != nil {
		return out, err
	}
	defer root.Close()
	f, info, err := openRegular(root, opRead, rel)
	if err != nil {
		return out, err
	}
	defer f.Close()
	out.Size, out.Mode = info.Size(), info.Mode()
	want := min(int64(n), maxRead, max(info.Size()-offset, 0))
	if info.Size() == 0 && n > 0 { // files such as those below /proc have no size
		want = min(int64(n), 64<<10)
	}
	out.Data = make([]byte, want)
	got, err := f.ReadAt(out.Data, offset)
	out.Data = out.Data[:got]
	if err != nil && !errors.Is(err, io.EOF) {
		return sandbox.FileContent{}, fileError(opRead, rel, err)
	}
	if now, err := f.Stat(); err == nil { // it may have grown
		out.Size = now.Size()
	}
	if got > 0 {
		out.Size = max(out.Size, offset+int64(got))
	}
	if offset == 0 && int64(got) == out.Size {
		sum := sha256.Sum256(out.Data)
		out.Hash = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// openRegular opens a regular file for reading and refuses anything else without blocking on it.
func openRegular(root *os.Root, op, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, fileError(op, name, err)
	}
	if err := regular(op, name, info); err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fileError(op, name, err)
	}
	info, err = f.Stat() // it may have been replaced since
	if err == nil {
		err = regular(op, name, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, fileError(op, name, err)
	}
	return f, info, nil
}

func regular(op, name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &sandbox.Error{Class: sandbox.ClassInvalid, Op: op, Path: name, Message: "it is a directory"}
	}
	return &sandbox.Error{Class: sandbox.ClassDenied, Op: op, Path: name, Message: "it is no regular file: pipes, sockets and devices are refused"}
}

// Stat implements the method of sandbox.Sandbox.
func (e *Engine) Stat(_ context.Context, name string) (sandbox.Entry, error) {
	rel, err := e.rel(opStat, name)
	if err != nil {
		return sandbox.Entry{}, err
	}
	root, err := e.openRoot(opStat)
	if err != nil {
		return sandbox.Entry{}, err
	}
	defer root.Close()
	info, err := root.Lstat(rel)
	if err != nil {
		return sandbox.Entry{}, fileError(opStat, rel, err)
	}
	return entryOf(root, rel, info), nil
}

func entryOf(root *os.Root, rel string, info fs.FileInfo) sandbox.Entry {
	entry := sandbox.Entry{Path: rel, Mode: info.Mode(), Size: info.Size(), Mtime: info.ModTime()}
	if info.Mode()&fs.ModeSymlink != 0 {
		entry.Target, _ = root.Readlink(rel)
	}
	return entry
}
