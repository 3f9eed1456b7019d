// This file runs the scripts of commands: a shell in this process whose files are those in memory, with very few programs.

package fake

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"sandboxagent/internal/sandbox"
)

// shell returns the Program of a script, or of a program with arguments, that runs in dir.
func shell(cmd sandbox.Command, dir string) (run Program, code int, failure string) {
	script := cmd.Script
	if len(cmd.Argv) > 0 {
		name := cmd.Argv[0]
		if !interp.IsBuiltin(name) && tools[name] == nil {
			return nil, 127, name + ": no such program"
		}
		var words []string
		for _, word := range cmd.Argv {
			quoted, err := syntax.Quote(word, syntax.LangBash)
			if err != nil {
				return nil, 126, err.Error()
			}
			words = append(words, quoted)
		}
		script = strings.Join(words, " ")
	}
	return func(p *Process) int { return p.interpret(script, dir) }, 0, ""
}

func (p *Process) interpret(script, dir string) int {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		p.PrintError(err.Error() + "\n")
		return 2
	}
	env := append([]string{"PATH=/bin", "HOME=/fake/home", "PWD=" + dir}, p.Command.Env...)
	r, err := interp.New(
		interp.Env(expand.ListEnviron(env...)),
		interp.StdIO(p.Stdin, writer(p.Print), writer(p.PrintError)),
		interp.OpenHandler(p.open), interp.StatHandler(p.stat), interp.ReadDirHandler2(p.readDir),
		interp.AccessHandler(func(context.Context, string, interp.AccessMode) error { return nil }),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return p.exec }),
	)
	if err != nil {
		p.PrintError(err.Error() + "\n")
		return 126
	}
	r.Dir = dir
	var status interp.ExitStatus
	if err := r.Run(p.ctx, file); err != nil && !errors.As(err, &status) {
		return 1
	}
	return int(status)
}

// writer writes what is printed.
type writer func(text string)

// Write implements io.Writer.
func (w writer) Write(b []byte) (int, error) {
	w(string(b))
	return len(b), nil
}

// open implements the handler of redirections.
func (p *Process) open(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	fail := func(err error) (io.ReadWriteCloser, error) {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	if name == "/dev/null" {
		return &handle{place: p.place, node: &node{}}, nil
	}
	at, err := p.place.find("open", absolute(interp.HandlerCtx(ctx), name), true)
	switch {
	case err != nil:
		return fail(err)
	case at.node == nil && flag&os.O_CREATE == 0:
		return fail(fs.ErrNotExist)
	case at.node == nil:
		at.node = &node{mode: perm, mtime: time.Now()}
		at.dir.children[at.name] = at.node
	case at.node.children != nil:
		return fail(errors.New("is a directory"))
	case flag&os.O_TRUNC != 0:
		at.node.data = nil
	}
	return &handle{place: p.place, node: at.node}, nil
}

// handle is an open file. It always appends.
type handle struct {
	place *place
	node  *node
	at    int
}

// Read implements io.Reader.
func (h *handle) Read(b []byte) (int, error) {
	h.place.mu.Lock()
	defer h.place.mu.Unlock()
	if h.at >= len(h.node.data) {
		return 0, io.EOF
	}
	n := copy(b, h.node.data[h.at:])
	h.at += n
	return n, nil
}

// Write implements io.Writer.
func (h *handle) Write(b []byte) (int, error) {
	h.place.mu.Lock()
	defer h.place.mu.Unlock()
	h.node.data = append(slices.Clone(h.node.data), b...)
	h.node.mtime = time.Now()
	return len(b), nil
}

// Close implements io.Closer.
func (h *handle) Close() error { return nil }

func (p *Process) stat(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	at, err := p.place.find("stat", name, follow)
	if err != nil || at.node == nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return info{at.name, *at.node}, nil
}

func (p *Process) readDir(_ context.Context, name string) (entries []fs.DirEntry, err error) {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	at, err := p.place.find("open", name, true)
	if err != nil || at.node == nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	for _, name := range at.node.names() {
		entries = append(entries, fs.FileInfoToDirEntry(info{name, *at.node.children[name]}))
	}
	return entries, nil
}

// info describes a node to the shell.
type info struct {
	name string
	node node
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.node.data)) }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return i.node.mtime }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return nil }
