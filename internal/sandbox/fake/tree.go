// This file is the tree of files in memory, and how paths lead through it.

package fake

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/sandbox"
)

const (
	maxHops = 40  // links followed on one path
	maxName = 255 // bytes
)

// node is a file, a link or a directory.
type node struct {
	mode     fs.FileMode
	mtime    time.Time
	data     []byte
	target   string
	children map[string]*node // of a directory
}

func newDir() *node {
	return &node{mode: fs.ModeDir | 0o755, mtime: time.Now(), children: map[string]*node{}}
}

func newLink(target string) *node {
	return &node{mode: fs.ModeSymlink | 0o777, mtime: time.Now(), target: target}
}

// walk visits everything below a directory in the order of paths.
func (n *node) walk(dir string, visit func(path string, n *node)) {
	for _, name := range n.order() {
		child := n.children[strings.TrimSuffix(name, "/")]
		p := path.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			child.walk(p, visit)
		} else {
			visit(p, child)
		}
	}
}

// order returns the names in a directory, and once more, with a slash, where the order of paths has what is below them.
func (n *node) order() []string {
	var names []string
	for name, child := range n.children {
		names = append(names, name)
		if child.children != nil {
			names = append(names, name+"/")
		}
	}
	slices.Sort(names)
	return names
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

// found is where a path leads.
type found struct {
	dir  *node  // nil for the root
	name string // in dir
	path string // relative to the root, links resolved
	node *node  // nil if there is nothing
}

func missing(op, name string) error {
	return &sandbox.Error{Class: sandbox.ClassNotFound, Op: op, Path: name, Message: "there is no such file or directory"}
}

func denied(op, name string) error {
	return &sandbox.Error{Class: sandbox.ClassDenied, Op: op, Path: name, Message: "the path leads outside the workspace"}
}

func invalid(op, name, message string) error {
	return &sandbox.Error{Class: sandbox.ClassInvalid, Op: op, Path: name, Message: message}
}

// clean checks a path and makes it relative; the root is ".".
func clean(op, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", invalid(op, "", "the path contains a NUL byte")
	}
	cleaned := path.Clean(name)
	if path.IsAbs(cleaned) {
		rest, ok := strings.CutPrefix(cleaned+"/", workspace+"/")
		if !ok {
			return "", denied(op, name)
		}
		cleaned = path.Clean(rest)
	}
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", denied(op, name)
	}
	return cleaned, nil
}

// find follows a path as far as its last name, and that too if it is a link and follow says so; the mutex is held.
func (p *place) find(op, name string, follow bool) (found, error) {
	rel, err := clean(op, name)
	if err != nil {
		return found{}, err
	}
	f := finder{op: op, asked: name, follow: follow, at: []found{{node: p.root, path: "."}}, rest: strings.Split(rel, "/")}
	for len(f.rest) > 0 {
		if err := f.step(); err != nil {
			return found{}, err
		}
	}
	return f.at[len(f.at)-1], nil
}

type finder struct {
	op, asked string
	follow    bool
	hops      int
	at        []found // from the root on
	rest      []string
}

func (f *finder) step() error {
	name, here := f.rest[0], f.at[len(f.at)-1]
	f.rest = f.rest[1:]
	switch {
	case name == "." || name == "":
		return nil
	case name == ".." && len(f.at) == 1:
		return denied(f.op, f.asked)
	case name == "..":
		f.at = f.at[:len(f.at)-1]
		return nil
	case here.node == nil || here.node.children == nil:
		return missing(f.op, f.asked)
	case len(name) > maxName:
		return invalid(f.op, f.asked, "the name is too long")
	}
	child := here.node.children[name]
	if child != nil && child.target != "" && (len(f.rest) > 0 || f.follow) {
		return f.enter(child.target)
	}
	f.at = append(f.at, found{dir: here.node, name: name, path: path.Join(here.path, name), node: child})
	return nil
}

func (f *finder) enter(target string) error {
	f.hops++
	if f.hops > maxHops || path.IsAbs(target) {
		return denied(f.op, f.asked)
	}
	f.rest = append(strings.Split(target, "/"), f.rest...)
	return nil
}

// plant puts a node at a path, with the directories above it; the mutex is held.
func (p *place) plant(name string, n *node) {
	rel, err := clean("put", name)
	if err != nil {
		return
	}
	dir := p.root
	for _, part := range strings.Split(path.Dir(rel), "/") {
		if part == "." {
			continue
		}
		next := dir.children[part]
		if next == nil || next.children == nil {
			next = newDir()
			dir.children[part] = next
		}
		dir = next
	}
	dir.children[path.Base(rel)] = n
}
