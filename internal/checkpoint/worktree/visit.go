// This file looks at one directory.

package worktree

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
)

const (
	readTries = 4 // of a file that changes while it is read

	// A file whose times are younger than the beginning of the picture by less than the clock of its file system ticks
	// may change again without changing them: the next picture reads it again.
	fineTick   = int64(50 * time.Millisecond)
	coarseTick = int64(2 * time.Second) // where times are whole seconds
)

func now() int64 { return time.Now().UnixNano() }

// worker is one of the goroutines that look at directories.
type worker struct {
	*scan
	dirents []byte
	content []byte
}

// visit fills in n.now and n.kids, which then wait in the queue.
func (w *worker) visit(n *node) error {
	fd, err := w.enter(n)
	if err != nil || fd < 0 {
		return err
	}
	here := &sharedDir{fd: fd}
	here.refs.Store(1)
	defer here.release()
	names, err := readNames(fd, w.dirents)
	if err != nil {
		return w.openFailed(n.path(), err)
	}
	same, err := w.unchanged(n, fd, names)
	if err == nil && !same {
		err = w.list(n, fd, names)
	}
	here.refs.Add(int32(len(n.kids)))
	for _, k := range n.kids {
		k.from = here
	}
	return err
}

// enter opens the directory of n, or returns -1 when it is not to be part of the picture.
func (w *worker) enter(n *node) (int, error) {
	if n.up == nil {
		return n.from.fd, nil
	}
	defer n.from.release()
	if n.depth() >= tree.MaxDepth {
		w.note(n.path(), tree.TooDeep, 0)
		return -1, nil
	}
	fd, err := openDirectory(n.from.fd, n.name, unix.O_NOFOLLOW)
	if err != nil {
		return -1, w.openFailed(n.path(), err)
	}
	return fd, nil
}

// unchanged tells whether the directory is as the cache has it, and if so takes all of it from there.
func (w *worker) unchanged(n *node, fd int, names []string) (bool, error) {
	old := n.old
	if old == nil || len(names) != len(old.entries) {
		return false, nil
	}
	var held, bytes int64
	var linked []stat
	var linkedAt []int
	symlinks := 0
	for hint, name := range names {
		at := old.find(name, hint)
		if at < 0 {
			return false, nil
		}
		st, err := statAt(fd, name)
		if err != nil || !w.trusted(old, at, &st) {
			return false, nil //nolint:nilerr // looked at again
		}
		switch {
		case st.regular():
			held, bytes = held+st.data, bytes+st.size
			if st.links > 1 {
				linked, linkedAt = append(linked, st), append(linkedAt, at)
			}
		case st.link():
			symlinks++
		}
	}
	n.now = old
	w.symlinks.Add(int64(symlinks))
	w.dirs.Add(int64(len(old.kids)))
	for i := range old.entries {
		if old.entries[i].Kind == tree.Dir {
			n.kids = append(n.kids, &node{up: n, name: old.entries[i].Name, old: old.kids[len(n.kids)]})
		}
	}
	for i := range linked {
		w.addLink(n, linkedAt[i], &linked[i])
	}
	return true, w.count(len(names), held, bytes)
}

// trusted tells whether the entry that the cache has still holds.
func (w *worker) trusted(old *dir, at int, st *stat) bool {
	e, g := &old.entries[at], &old.sigs[at]
	if e.Mtime != st.mtime {
		return false
	}
	switch e.Kind {
	case tree.Dir:
		return st.dir() && e.Mode == st.perm && st.device == w.device
	case tree.File:
		return st.regular() && e.Mode == st.perm && e.Size == st.size && g.matches(st) && !w.mapped[st.ino]
	case tree.Link:
		return st.link() && g.matches(st)
	}
	return false
}

func (w *worker) addLink(n *node, at int, st *stat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := inode{st.device, st.ino}
	w.links[key] = append(w.links[key], member{n, at})
}

// list looks at every entry and reads the files that changed.
func (w *worker) list(n *node, fd int, names []string) error {
	slices.Sort(names)
	n.now = &dir{entries: make([]tree.Entry, 0, len(names)), sigs: make([]sig, 0, len(names))}
	prefix := ""
	if n.up != nil {
		prefix = n.path() + "/"
	}
	for _, name := range names {
		if w.ctx.Err() != nil {
			return canceled(w.ctx, opScan)
		}
		path := prefix + name
		switch {
		case strings.HasPrefix(name, stagePrefix) && n.up == nil:
			w.stage(fd, name)
			continue
		case strings.HasPrefix(name, stagePrefix), strings.HasPrefix(name, editPrefix), path == w.excluded.own:
			continue
		case w.excluded.match(path, name):
			w.note(path, tree.Excluded, 0)
			continue
		}
		if err := w.entry(n, fd, name, path); err != nil {
			return err
		}
	}
	return nil
}

// stage removes what a change has left, and notes one that is being made: half of it may be in the picture.
func (w *worker) stage(root int, name string) {
	switch examine(root, name) {
	case dead:
		if w.locked {
			_ = removeAll(root, name) // what stays is tried again by the next picture
		}
	case committing, unfinished:
		w.note(name, tree.Unfinished, 0)
	case preparing, notOurs:
	}
}

// entry adds one name to n.now, unless it cannot be part of a picture. What changes meanwhile is tried again.
func (w *worker) entry(n *node, fd int, name, path string) error {
	for try := 1; ; try++ {
		st, err := statAt(fd, name)
		if err != nil {
			return w.openFailed(path, err)
		}
		done := true
		switch st.format {
		case unix.S_IFDIR:
			err = w.directory(n, name, path, &st)
		case unix.S_IFLNK:
			done, err = w.symlink(n, fd, name, path, &st)
		case unix.S_IFREG:
			done, err = w.file(n, fd, name, path, &st, try >= readTries)
		default:
			w.note(path, special(st.format), 0)
		}
		if done || err != nil {
			return err
		}
		if try >= readTries {
			w.note(path, tree.Unreadable, 0)
			return nil
		}
		time.Sleep(time.Millisecond << try) // whoever writes gets a moment
	}
}

func (w *worker) directory(n *node, name, path string, st *stat) error {
	if st.device != w.device {
		w.note(path, tree.Mount, 0)
		return nil
	}
	n.kids = append(n.kids, &node{up: n, name: name, old: n.oldKid(name)})
	n.now.kids = append(n.now.kids, nil)
	n.now.add(tree.Entry{Name: name, Kind: tree.Dir, Mode: st.perm, Mtime: st.mtime}, sig{})
	w.dirs.Add(1)
	return w.count(1, 0, 0)
}

func (w *worker) symlink(n *node, fd int, name, path string, st *stat) (bool, error) {
	target, err := readLink(fd, name)
	if err != nil {
		if gone(err) || errors.Is(err, syscall.EINVAL) { // no link any more
			return false, nil
		}
		return true, w.openFailed(path, err)
	}
	w.symlinks.Add(1)
	n.now.add(tree.Entry{Name: name, Kind: tree.Link, Mode: linkMode, Mtime: st.mtime, Target: target}, w.sign(st))
	return true, w.count(1, 0, 0)
}

// linkMode stands for the permissions of links, which nothing heeds and systems tell differently.
const linkMode = 0o777

func special(format uint32) tree.Reason {
	switch format {
	case unix.S_IFIFO:
		return tree.Pipe
	case unix.S_IFSOCK:
		return tree.Socket
	}
	return tree.Device
}

func (n *node) oldKid(name string) *dir {
	if n.old == nil {
		return nil
	}
	return n.old.kid(name)
}

// file adds a regular file, from the cache when that can be trusted. It reports false when it changed while it was
// read, unless this is the last try: then what was read must do.
func (w *worker) file(n *node, fd int, name, path string, st *stat, last bool) (bool, error) {
	if w.measures {
		if st.data > w.opts.Limits.File {
			return true, nil
		}
		return true, w.count(1, st.data, st.size)
	}
	if n.old != nil && st.data <= w.opts.Limits.File {
		at := n.old.find(name, 0)
		if at >= 0 && n.old.entries[at].Kind == tree.File && w.trusted(n.old, at, st) {
			return true, w.keep(n, n.old.entries[at], n.old.sigs[at], st)
		}
	}
	f, err := openFile(fd, name)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return true, w.openFailed(path, err)
	}
	defer closeFd(f)
	before, err := statFile(f)
	switch {
	case err != nil || !before.regular():
		return false, nil //nolint:nilerr // something else by now
	case before.data > w.opts.Limits.File:
		w.note(path, tree.TooLarge, before.size)
		return true, nil
	}
	e := tree.Entry{Name: name, Kind: tree.File}
	if err := w.readContent(f, &e, before.size); err != nil {
		if errors.Is(err, errIO) {
			w.note(path, tree.Unreadable, before.size)
			return true, nil
		}
		return true, err
	}
	after, err := statFile(f)
	if err != nil || !before.same(&after) || e.Size != after.size {
		if !last {
			return false, nil //nolint:nilerr // tried again
		}
		w.note(path, tree.Changing, 0)
		after.ctime = 0 // never trusted
	}
	e.Mode, e.Mtime = after.perm, after.mtime
	return true, w.keep(n, e, w.sign(&after), &after)
}

func (w *worker) keep(n *node, e tree.Entry, g sig, st *stat) error {
	e.Group = 0
	n.now.add(e, g)
	if st.links > 1 {
		w.addLink(n, len(n.now.entries)-1, st)
	}
	return w.count(1, st.data, e.Size)
}

func (s *stat) same(o *stat) bool {
	return s.size == o.size && s.mtime == o.mtime && s.ctime == o.ctime && s.perm == o.perm
}

// sign makes the signature by which the next picture knows an entry again.
func (s *scan) sign(st *stat) sig {
	tick := fineTick
	if st.mtime%int64(time.Second) == 0 && st.ctime%int64(time.Second) == 0 {
		tick = coarseTick
	}
	racy := st.ctime == 0 || max(st.mtime, st.ctime) > s.began-tick || s.mapped[st.ino]
	return sig{ctime: st.ctime, ino: st.ino, racy: racy}
}
