// Package checkpoint keeps immutable pictures of workspaces: takes them through the helper of a sandbox or of a plain
// folder at the cost of what changed, compares them, and brings workspaces back to them without losing what no picture
// holds.
//
// One store serves a host. Its objects are in package pack, their format in package tree, and the work on files is that
// of package worktree. A checkpoint is a manifest, named by its SHA-256; a ref is what keeps it from being collected.
// Everything is written aside, made durable and renamed, objects before the manifest and that before the ref, so that a
// process may be killed at any point. Who takes checkpoints holds the store's lock with others, who collects holds it
// alone; readers need none.
//
// What a checkpoint holds: everything below the root but what is excluded, on the root's file system; names and link
// targets are bytes. Pipes, sockets, devices, mounts and files over the limit are noted, never opened. Setuid, setgid and
// sticky bits are dropped on purpose. A checkpoint that lacks what it should hold says that it is partial.
//
// This file opens the store.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"sandboxagent/internal/checkpoint/pack"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// Workspace is a tree of files that checkpoints are taken of and restored to.
type Workspace interface {
	// Scan pictures the tree into a store.
	Scan(ctx context.Context, o worktree.ScanOptions, store worktree.Store) error
	worktree.Changer
}

// Of returns the workspace of a sandbox, or a ClassUnsupported error when that sandbox has no helper that can do it.
func Of(sb sandbox.Sandbox) (Workspace, error) {
	if w, ok := sb.(Workspace); ok {
		return w, nil
	}
	return nil, sandbox.Errorf(sandbox.ClassUnsupported, "take a checkpoint", "this backend cannot take checkpoints")
}

// Defaults of Options.
const (
	DefaultReserve = 512 << 20 // bytes
	DefaultQuota   = 10 << 30  // bytes
	DefaultTimeout = 10 * time.Minute
)

// Options configure a store.
type Options struct {
	Dir     string // absolute; made when missing, mode 0700
	Reserve int64  // bytes of disk that taking a checkpoint must leave free; default DefaultReserve, negative: none
	Quota   int64  // bytes on disk above which GC drops checkpoints that nothing refers to; default DefaultQuota
	// Fault is called before every step of writing with its name; an error makes the step fail. For tests.
	Fault func(step string) error
}

// Store is the store of one host. All methods may be called concurrently, also by several processes.
type Store struct {
	opts  Options
	packs *pack.Store
}

const (
	formatFile   = "format"
	formatText   = "sandbox-agent checkpoints 1\n"
	lockFile     = "lock"
	packsDir     = "packs"
	manifestsDir = "manifests"
	refsDir      = "refs"
	foldersDir   = "folders"

	lockPause = 20 * time.Millisecond
)

// Open opens the store, making it when missing, and removes what a process that died has left in it.
func Open(o Options) (*Store, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, sandbox.Errorf(sandbox.ClassInvalid, opOpen, "the path of the store must be absolute")
	}
	switch {
	case o.Reserve == 0:
		o.Reserve = DefaultReserve
	case o.Reserve < 0:
		o.Reserve = 0
	}
	if o.Quota <= 0 {
		o.Quota = DefaultQuota
	}
	s := &Store{opts: o}
	for _, dir := range []string{"", packsDir, manifestsDir, refsDir, foldersDir} {
		if err := os.MkdirAll(filepath.Join(o.Dir, dir), 0o700); err != nil {
			return nil, classed(opOpen, err)
		}
	}
	if err := s.checkFormat(); err != nil {
		return nil, err
	}
	var err error
	if s.packs, err = pack.Open(pack.Options{Dir: filepath.Join(o.Dir, packsDir), Reserve: o.Reserve, Fault: o.Fault}); err != nil {
		return nil, classed(opOpen, err)
	}
	s.tidy()
	return s, nil
}

const opOpen = "open the checkpoint store"

func (s *Store) checkFormat() error {
	path := filepath.Join(s.opts.Dir, formatFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return classed(opOpen, s.writeFile(path, []byte(formatText), "format"))
	}
	if err == nil && string(b) != formatText {
		return sandbox.Errorf(sandbox.ClassUnsupported, opOpen, "the store of checkpoints was written by another version of this program")
	}
	return classed(opOpen, err)
}

// tidy removes rubbish if nobody is at work.
func (s *Store) tidy() {
	lock := flock.New(s.lockPath())
	defer lock.Close()
	if ok, err := lock.TryLock(); err == nil && ok {
		s.removeRubbish()
	}
}

// Dir returns the store's directory, an absolute path.
func (s *Store) Dir() string { return s.opts.Dir }

func (s *Store) lockPath() string { return filepath.Join(s.opts.Dir, lockFile) }

// share takes the lock with other takers; the store cannot be collected meanwhile.
func (s *Store) share(ctx context.Context) (release func(), err error) {
	lock := flock.New(s.lockPath())
	if _, err := lock.TryRLockContext(ctx, lockPause); err != nil {
		return nil, err
	}
	if err := s.packs.Refresh(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

// classed makes err an Error of the sandbox layer.
func classed(op string, err error) error {
	var known *sandbox.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &sandbox.Error{Class: sandbox.ClassInternal, Op: op, Message: "the store of checkpoints failed", Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Class, e.Message = sandbox.ClassCanceled, "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Class, e.Message = sandbox.ClassLimit, "it took too long"
	case errors.Is(err, pack.ErrFull), noSpace(err):
		e.Class, e.Message = sandbox.ClassLimit, "too little space is left on the disk of the checkpoints: free some and try again"
	case errors.Is(err, pack.ErrMissing), errors.Is(err, pack.ErrCorrupt), errors.Is(err, tree.ErrFormat):
		e.Class, e.Message = sandbox.ClassCorrupt, "a checkpoint is damaged: use another one, or take one anew, which stores again what the folder still has"
	}
	return e
}

// writeFile replaces a file durably. The fault points are named after kind.
func (s *Store) writeFile(path string, b []byte, kind string) error {
	if err := s.fault(kind + "-write"); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.fault(kind + "-rename")
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if err := s.fault(kind + "-sync"); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

const tempPrefix = "tmp-"

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("make a directory durable: %w", err)
	}
	defer d.Close()
	return d.Sync()
}

func (s *Store) fault(step string) error {
	if s.opts.Fault == nil {
		return nil
	}
	return s.opts.Fault(step)
}

// Size is how many bytes the store takes on disk for objects.
func (s *Store) Size() int64 {
	n, _ := s.packs.Size()
	return n
}
