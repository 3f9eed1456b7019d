// This file pictures a tree: directories are read side by side, and where all is as the cache has it, nothing is read
// but the names and times.

package worktree

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Scan pictures the tree into store, which makes a checkpoint of it. When the last checkpoint taken of this tree is
// known there, only what changed since is read. It fails with ClassLimit for trees over the limits, and leaves no
// checkpoint whenever it fails.
func (t *Tree) Scan(ctx context.Context, o ScanOptions, store Store) error {
	o.Limits = o.Limits.orDefaults()
	excluded, err := newExcluder(o.Excludes, t.ours())
	if err != nil {
		return err
	}
	if err := t.makeState(); err != nil {
		return err
	}
	_ = t.recoverOwn(ctx) // what cannot be completed now is noted
	cache := t.loadCache(o)
	if o.Rehash || cache.base == "" || !store.Known(cache.base) {
		cache.root = nil
	}
	s := &scan{ctx: ctx, opts: o, store: store, excluded: excluded, links: map[inode][]member{}}
	root, err := s.run(t, cache.root)
	if err != nil {
		return err
	}
	p := s.picture()
	p.Root = root.hash
	id, err := store.Commit(p)
	if err != nil {
		return err
	}
	if cache.base != id || cache.root != root {
		t.saveCache(o, scanCache{base: id, root: root})
	}
	return nil
}

// Measure fails as Scan does for a tree over the limits, but reads no file: it looks at directories, until the limits are passed.
func (t *Tree) Measure(ctx context.Context, o ScanOptions) error {
	o.Limits = o.Limits.orDefaults()
	excluded, err := newExcluder(o.Excludes, t.ours())
	if err != nil {
		return err
	}
	s := &scan{ctx: ctx, opts: o, measures: true, excluded: excluded, links: map[inode][]member{}}
	_, err = s.run(t, nil)
	return err
}

// scan is one picture being taken.
type scan struct {
	ctx      context.Context
	opts     ScanOptions
	store    Store
	measures bool // only what there is: no file is read, and there will be no picture
	excluded *excluder
	locked   bool // no change is made meanwhile
	device   uint64
	began    int64 // nanoseconds
	mapped   map[uint64]bool

	entries, dirs, symlinks atomic.Int64
	held, bytes             atomic.Int64 // of all files, and with their holes
	hashed, read            atomic.Int64

	mu    sync.Mutex
	cond  *sync.Cond
	queue []*node
	busy  int
	err   error
	links map[inode][]member
	notes []tree.Note
}

type inode struct{ device, ino uint64 }

// member is an entry whose file has more links.
type member struct {
	n  *node
	at int
}

// node is a directory on its way from the queue into the picture.
type node struct {
	up   *node
	name string
	from *sharedDir // the directory above, while this one waits
	old  *dir       // what the cache has; nil: nothing
	now  *dir       // nil: it went away or cannot be read
	kids []*node    // in the order of the directories in now.entries
}

func (n *node) path() string {
	if n.up == nil {
		return ""
	}
	var names []string
	for ; n.up != nil; n = n.up {
		names = append(names, n.name)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

func (n *node) child(name string) string {
	if n.up == nil {
		return name
	}
	return n.path() + "/" + name
}

func (n *node) depth() (d int) {
	for ; n.up != nil; n = n.up {
		d++
	}
	return d
}

// sharedDir is an open directory that is closed when all that wait for it have had it.
type sharedDir struct {
	fd   int
	refs atomic.Int32
}

func (d *sharedDir) release() {
	if d.refs.Add(-1) == 0 {
		closeFd(d.fd)
	}
}

func (s *scan) run(t *Tree, old *dir) (*dir, error) {
	fd, err := t.openRoot(opScan)
	if err != nil {
		return nil, err
	}
	if s.locked, err = share(s.ctx, fd); err != nil {
		closeFd(fd)
		return nil, err
	}
	st, err := statFile(fd)
	if err != nil {
		closeFd(fd)
		return nil, &sandbox.Error{Class: sandbox.ClassInternal, Op: opScan, Message: "the workspace folder cannot be read", Err: err}
	}
	s.device, s.began, s.mapped = st.device, now(), mapped()
	s.cond = sync.NewCond(&s.mu)
	top := &node{old: old, from: &sharedDir{fd: fd}}
	top.from.refs.Store(2) // the other is for the lock
	defer top.from.release()
	defer unlockFd(fd)
	s.queue = []*node{top}
	workers := s.opts.Workers
	if workers <= 0 {
		workers = min(max(2, runtime.NumCPU()), 4)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(s.work)
	}
	stop := context.AfterFunc(s.ctx, func() { s.fail(canceled(s.ctx, opScan)) })
	wg.Wait()
	stop()
	for _, n := range s.queue {
		n.from.release()
	}
	if s.err != nil {
		return nil, s.err
	}
	switch {
	case top.now == nil:
		return nil, sandbox.Errorf(sandbox.ClassDenied, opScan, "the workspace folder cannot be read")
	case s.measures:
		return nil, nil //nolint:nilnil // what there is has been counted
	}
	s.groupLinks()
	return s.finish(top)
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.cond.Broadcast()
}

// work takes directories from the queue, the newest first, until none is left or the picture has failed.
func (s *scan) work() {
	w := &worker{scan: s, dirents: make([]byte, 64<<10)}
	for {
		n := s.next()
		if n == nil {
			return
		}
		err := w.visit(n)
		s.mu.Lock()
		s.busy--
		if err != nil && s.err == nil {
			s.err = err
		}
		s.queue = append(s.queue, n.kids...)
		s.cond.Broadcast()
		s.mu.Unlock()
	}
}

func (s *scan) next() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && s.busy > 0 && s.err == nil {
		s.cond.Wait()
	}
	if len(s.queue) == 0 || s.err != nil {
		return nil
	}
	n := s.queue[len(s.queue)-1]
	s.queue = s.queue[:len(s.queue)-1]
	s.busy++
	return n
}

func (s *scan) note(path string, r tree.Reason, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, tree.Note{Path: path, Reason: r, Size: size})
	if len(s.notes) > tree.MaxNotes && s.err == nil {
		s.err = sandbox.Errorf(sandbox.ClassLimit, opScan, "more than %d paths cannot be part of a checkpoint; exclude the directories they are in", tree.MaxNotes)
	}
}

// count adds entries and the bytes of files, held without holes, and fails when that is too much.
func (s *scan) count(entries int, held, bytes int64) error {
	total := s.entries.Add(int64(entries))
	if total > int64(s.opts.Limits.Files) {
		return sandbox.Errorf(sandbox.ClassLimit, opScan, "the folder holds more than %d files; open a smaller one, exclude directories or raise the limit", s.opts.Limits.Files)
	}
	s.bytes.Add(bytes)
	if s.held.Add(held) > s.opts.Limits.Bytes {
		return sandbox.Errorf(sandbox.ClassLimit, opScan, "the folder holds more than %d MiB; open a smaller one, exclude directories or raise the limit", s.opts.Limits.Bytes>>20)
	}
	if s.opts.Progress != nil && total/progressEvery != (total-int64(entries))/progressEvery {
		s.progress(total)
	}
	return nil
}

const progressEvery = 1000 // entries

func (s *scan) progress(total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Progress(Progress{Files: total, Hashed: s.hashed.Load(), Bytes: s.read.Load()})
}

func (s *scan) picture() Picture {
	p := Picture{Notes: s.notes, Dirs: int(s.dirs.Load()), Links: int(s.symlinks.Load()), Bytes: s.bytes.Load()}
	p.Files = int(s.entries.Load()) - p.Dirs - p.Links
	return p
}

// finish makes the directory objects from the leaves to the root and returns what the cache is to keep: the old
// directory itself where nothing changed.
func (s *scan) finish(n *node) (*dir, error) {
	d := n.now
	kids := make([]*dir, 0, len(n.kids))
	same := d == n.old
	lost := false
	for i, k := range n.kids {
		if k.now == nil {
			lost = true
			kids = append(kids, nil)
			continue
		}
		kid, err := s.finish(k)
		if err != nil {
			return nil, err
		}
		same = same && kid == d.kids[i]
		kids = append(kids, kid)
	}
	if same {
		return d, nil
	}
	made := &dir{entries: slices.Clone(d.entries), sigs: slices.Clone(d.sigs), kids: kids}
	at := 0
	for i := range made.entries {
		if made.entries[i].Kind == tree.Dir {
			if kids[at] != nil {
				made.entries[i].Hash = kids[at].hash
			}
			at++
		}
	}
	if lost {
		made.dropLost()
	}
	object := tree.EncodeDir(made.entries)
	if len(object) > tree.MaxObject {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opScan, "the directory %q holds too many files", n.path())
	}
	made.hash = tree.Sum(object)
	if made.equal(n.old) {
		return n.old, nil
	}
	return made, s.store.Put(made.hash, object)
}

// groupLinks gives the files with several links in the tree a group each, named by the first path, so that equal trees
// have equal groups.
func (s *scan) groupLinks() {
	for _, members := range s.links {
		group := uint64(0)
		if len(members) > 1 {
			first := ""
			for _, m := range members {
				if p := m.n.child(m.n.now.entries[m.at].Name); first == "" || p < first {
					first = p
				}
			}
			group = tree.GroupOf(first)
		}
		for _, m := range members {
			if m.n.now.entries[m.at].Group == group {
				continue
			}
			if m.n.now == m.n.old {
				m.n.now = &dir{entries: slices.Clone(m.n.old.entries), sigs: m.n.old.sigs, kids: m.n.old.kids}
			}
			m.n.now.entries[m.at].Group = group
		}
	}
}

// openFailed says what an error of opening a directory or file means: nothing, a note, or the end of the picture.
func (s *scan) openFailed(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ESTALE):
		return nil // it went away
	case exhausted(err):
		return &sandbox.Error{Class: sandbox.ClassUnavailable, Op: opScan, Path: path, Message: "too many open files", Err: err}
	}
	s.note(path, tree.Unreadable, 0)
	return nil
}
