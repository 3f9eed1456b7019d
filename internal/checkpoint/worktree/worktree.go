// Package worktree is the side of checkpoints that works on files: it pictures a tree below a folder, at the cost of
// what changed since the last picture, and changes such a tree step by step, so that a change is made whole or not at
// all and never touches what somebody else changed meanwhile.
//
// It runs where the files are: in the helper of a sandbox, or in this process for a plain folder. Everything below the
// root is reached by descriptors, one name at a time; no link is ever followed.
//
// This file holds the tree and what the two sides exchange.
package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Names below the root that are ours for a short while and never part of a picture.
const (
	stagePrefix = ".sandbox-restore-" // of a change
	editPrefix  = ".sandbox-edit-"    // of the helper's Apply
)

// Options say which tree to work on.
type Options struct {
	// Root is the absolute path of the folder; it is opened anew for every operation.
	Root string
	// State is the absolute path of a private directory, made when needed: the cache of pictures (disposable) and the
	// journal of a change (not disposable). What of it lies below Root is never part of a picture.
	State string
	// Fault is called before every step of a change with its name; an error makes the step fail. For tests.
	Fault func(step string) error
}

// Tree is one folder. All methods may be called concurrently; changes wait for each other.
type Tree struct {
	opts     Options
	changing sync.RWMutex // held for reading by Put
	current  *change
}

// New returns the tree. It does no I/O.
func New(o Options) *Tree {
	o.Root, o.State = filepath.Clean(o.Root), filepath.Clean(o.State)
	return &Tree{opts: o}
}

// Store is where a picture goes. Put and Has are called concurrently.
type Store interface {
	// Known tells whether the whole checkpoint of that id is there.
	Known(id string) bool
	// Has tells whether an object is there.
	Has(tree.Hash) bool
	// Put takes an object over unless it is there; data may be used again when Put returns.
	Put(h tree.Hash, data []byte) error
	// Commit makes a checkpoint of the picture, all of whose objects are there, and returns its id.
	Commit(Picture) (id string, err error)
}

// Picture is a tree at one time. It holds no times or counts of its own making: equal trees make equal pictures.
type Picture struct {
	Root  tree.Hash   `json:"root"` // the directory object of the tree
	Notes []tree.Note `json:"-"`    // what is not in it or not certain, sorted by path
	Files int         `json:"files"`
	Dirs  int         `json:"dirs"`
	Links int         `json:"links"`
	Bytes int64       `json:"bytes"` // of all files, holes counted
}

// Progress tells how far a picture is.
type Progress struct {
	Files  int64 `json:"files"`  // looked at
	Hashed int64 `json:"hashed"` // files read
	Bytes  int64 `json:"bytes"`  // read
}

// Limits refuse trees that nobody meant to picture.
type Limits struct {
	Files int   `json:"files,omitempty"` // entries of any kind; default 200,000
	Bytes int64 `json:"bytes,omitempty"` // of all files, holes not counted; default 2 GiB
	File  int64 `json:"file,omitempty"`  // bytes of one file; a larger one is left out with a note; default 256 MiB
}

// The default limits.
const (
	DefaultFiles = 200_000
	DefaultBytes = 2 << 30
	DefaultFile  = 256 << 20
)

func (l Limits) orDefaults() Limits {
	if l.Files <= 0 {
		l.Files = DefaultFiles
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.File <= 0 {
		l.File = DefaultFile
	}
	return l
}

// ScanOptions say what a picture shall hold.
type ScanOptions struct {
	// Excludes are doublestar patterns on the path relative to the root; one without "/" matches a name anywhere.
	Excludes []string `json:"excludes,omitempty"`
	Limits   Limits   `json:"limits,omitzero"`
	// Workers is how many directories are read side by side; default 2 to 4 by the processors.
	Workers int `json:"workers,omitempty"`
	// Rehash reads every file, whatever the cache says.
	Rehash bool `json:"rehash,omitempty"`
	// Progress, if set, is called now and then from one goroutine at a time.
	Progress func(Progress) `json:"-"`
}

const (
	opScan   = "take a checkpoint"
	opChange = "restore"
)

// openRoot opens the folder itself, through links as its owner named it.
func (t *Tree) openRoot(op string) (int, error) {
	fd, err := openDirectory(unix.AT_FDCWD, t.opts.Root, 0)
	if err != nil {
		return -1, &sandbox.Error{Class: sandbox.ClassNotFound, Op: op, Message: "the workspace folder cannot be opened", Err: err}
	}
	return fd, nil
}

// ours returns the path of the state directory relative to the root, "" when it lies elsewhere.
func (t *Tree) ours() string {
	rel, err := filepath.Rel(resolved(t.opts.Root), resolved(t.opts.State))
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return rel
}

func resolved(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	if parent := filepath.Dir(p); parent != p {
		return filepath.Join(resolved(parent), filepath.Base(p))
	}
	return p
}

func (t *Tree) makeState() error {
	if err := os.MkdirAll(t.opts.State, 0o700); err != nil {
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opScan, Message: "the state directory cannot be made", Err: err}
	}
	return nil
}

func canceled(ctx context.Context, op string) error {
	return &sandbox.Error{Class: sandbox.ClassCanceled, Op: op, Message: "canceled", Err: context.Cause(ctx)}
}
