// This file writes the archives that go into containers: single entries, and a folder of this host as a whole.

package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sandboxagent/internal/sandbox"
)

// Limits of the folder that a sandbox begins as a copy of.
const (
	maxEntries = 1_000_000
	maxBytes   = 8 << 30
)

const opCopyIn = "copy the folder into the sandbox"

// packer writes entries of an archive until the first error, which it keeps.
type packer struct {
	tw  *tar.Writer
	who identity // owner of what comes from the folder
	err error

	root    *os.Root
	links   map[inode]string // files with several names: the first one
	entries int
	bytes   int64
	skipped []string
}

type inode struct{ dev, ino uint64 }

// inside is a path of the container as a name in an archive that is unpacked at its root.
func inside(name string) string { return strings.TrimPrefix(path.Clean(name), "/") }

func (p *packer) dir(name string, who identity, mode int64) {
	p.header(&tar.Header{Typeflag: tar.TypeDir, Name: inside(name) + "/", Mode: mode, Uid: who.uid, Gid: who.gid, ModTime: time.Now()})
}

// file adds a file of root.
func (p *packer) file(name string, mode int64, text []byte) {
	p.header(&tar.Header{Typeflag: tar.TypeReg, Name: inside(name), Mode: mode, Size: int64(len(text)), ModTime: time.Now()})
	if p.err == nil {
		_, p.err = p.tw.Write(text)
	}
}

func (p *packer) header(h *tar.Header) {
	if p.err == nil {
		h.Format = tar.FormatPAX
		p.err = p.tw.WriteHeader(h)
	}
}

// checkFolder refuses folders that must not be copied as a whole. None at all is fine: the workspace is then empty.
func (b *Backend) checkFolder(dir string) error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		return sandbox.Errorf(sandbox.ClassInvalid, opOpen, "the workspace must be an absolute path")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sandbox.Errorf(sandbox.ClassNotFound, opOpen, "the workspace folder does not exist")
	case err != nil:
		return &sandbox.Error{Class: sandbox.ClassDenied, Op: opOpen, Message: "the workspace folder cannot be opened", Err: err}
	case !info.IsDir():
		return sandbox.Errorf(sandbox.ClassInvalid, opOpen, "the workspace is not a folder")
	case same(info, "/") || same(info, b.env("HOME")):
		return sandbox.Errorf(sandbox.ClassInvalid, opOpen, "your home directory or the whole file system cannot be copied into a container: open a folder in it")
	}
	return nil
}

func same(info fs.FileInfo, dir string) bool {
	other, err := os.Stat(dir)
	return err == nil && os.SameFile(info, other)
}

// folder adds what is in a folder of this host. What cannot be copied is listed, never fatal.
func (p *packer) folder(ctx context.Context, dir string) error {
	if dir == "" || p.err != nil {
		return p.err
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return &sandbox.Error{Class: sandbox.ClassNotFound, Op: opCopyIn, Message: "the workspace folder cannot be opened", Err: err}
	}
	defer r.Close()
	p.root, p.links = r, map[inode]string{}
	return fs.WalkDir(r.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			p.skip(name)
			return nil
		case name == ".":
			return nil
		}
		p.entry(name, d)
		if p.err == nil && (p.entries > maxEntries || p.bytes > maxBytes) {
			p.err = sandbox.Errorf(sandbox.ClassLimit, opCopyIn,
				"the folder has more than %d entries or %d GiB: open a smaller one", maxEntries, maxBytes>>30)
		}
		return p.err
	})
}

func (p *packer) skip(name string) { p.skipped = append(p.skipped, name) }

func (p *packer) entry(name string, d fs.DirEntry) {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return // removed meanwhile
	}
	if err != nil {
		p.skip(name)
		return
	}
	p.entries++
	h := &tar.Header{
		Name: inside(root + "/" + name), Mode: int64(info.Mode().Perm()), Uid: p.who.uid, Gid: p.who.gid, ModTime: info.ModTime(),
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		p.header(h)
	case fs.ModeSymlink:
		p.link(h, name)
	case 0:
		p.regular(h, name, info)
	default: // pipes, sockets and devices mean nothing elsewhere
		p.skip(name)
	}
}

func (p *packer) link(h *tar.Header, name string) {
	target, err := p.root.Readlink(name)
	if err != nil {
		p.skip(name)
		return
	}
	h.Typeflag, h.Linkname = tar.TypeSymlink, target
	p.header(h)
}

func (p *packer) regular(h *tar.Header, name string, info fs.FileInfo) {
	if first := p.first(h.Name, info); first != "" {
		h.Typeflag, h.Linkname = tar.TypeLink, first
		p.header(h)
		return
	}
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		p.skip(name)
		return
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !now.Mode().IsRegular() {
		p.skip(name)
		return
	}
	h.Typeflag, h.Size = tar.TypeReg, now.Size()
	p.header(h)
	if p.err != nil {
		return
	}
	n, err := io.CopyN(p.tw, f, h.Size)
	p.bytes += n
	if errors.Is(err, io.EOF) {
		err = &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opCopyIn, Path: name, Message: "the file was cut while it was copied", Err: err}
	}
	p.err = err
}

// first returns under which name a file with several names was added already.
func (p *packer) first(name string, info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return ""
	}
	key := inode{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // the types differ among systems
	first := p.links[key]
	if first == "" {
		p.links[key] = name
	}
	return first
}

// report tells what was not copied; "" when all was.
func (p *packer) report() string {
	const named = 5
	if len(p.skipped) == 0 {
		return ""
	}
	return fmt.Sprintf("%d entries of the folder were not copied, since they are no files or cannot be read: %q", len(p.skipped), p.skipped[:min(named, len(p.skipped))])
}
