// This file takes the content of a change, beside the tree, before anything in the tree changes.

package worktree

import (
	"context"
	"strconv"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

const zeroBlock = 4096 // bytes; blocks that are all zero become holes

// Put takes pieces of content. It may be called concurrently, and repeated.
func (t *Tree) Put(ctx context.Context, id string, pieces []Piece) error {
	t.changing.RLock()
	defer t.changing.RUnlock()
	n, err := t.find(ctx, id)
	if err != nil {
		return err
	}
	f := n.finder()
	defer f.close()
	for _, p := range pieces {
		if ctx.Err() != nil {
			return canceled(ctx, opChange)
		}
		if p.Step < 0 || p.Step >= len(n.Steps) || !n.Steps[p.Step].NeedsContent() {
			return sandbox.Errorf(sandbox.ClassInvalid, opChange, "step %d takes no content", p.Step)
		}
		if err := n.fault("put"); err != nil {
			return err
		}
		if err := n.put(f, p); err != nil {
			return fileError(n.Steps[p.Step].Path, err)
		}
	}
	return nil
}

// staged returns where what step i brings is prepared.
func (n *change) staged(f *finder, i int) (dir int, name string, err error) {
	if n.fresh >= 0 {
		return f.find(n.Steps[i].Path)
	}
	return n.dir, strconv.Itoa(i), nil
}

func (n *change) put(f *finder, p Piece) error {
	e := n.Steps[p.Step].After
	if p.Offset < 0 || p.Offset > e.Size-int64(len(p.Data)) {
		return sandbox.Errorf(sandbox.ClassInvalid, opChange, "the content is longer than announced")
	}
	if p.Offset == 0 && int64(len(p.Data)) == e.Size && !e.Chunked && tree.Sum(p.Data) != e.Hash {
		return sandbox.Errorf(sandbox.ClassCorrupt, opChange, "the content is not what was announced")
	}
	if n.isSealed(p.Step) {
		return nil // repeated
	}
	dir, name, err := n.staged(f, p.Step)
	if err != nil {
		return err
	}
	fd, err := n.openStaged(dir, name, p)
	if err != nil {
		return err
	}
	defer closeFd(fd)
	if err := writeSparse(fd, p.Data, p.Offset); err != nil {
		return err
	}
	if !p.Last {
		return nil
	}
	return n.seal(dir, name, fd, &p)
}

// openStaged opens the file of a step, making it for its first piece. In a fresh tree a file that is there already has
// a name that the file system does not tell from this one.
func (n *change) openStaged(dir int, name string, p Piece) (int, error) {
	n.mu.Lock()
	first := !n.started[p.Step]
	n.started[p.Step] = true
	n.mu.Unlock()
	const flags = unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CREAT
	if !first {
		return open(dir, name, flags, 0o600)
	}
	fd, err := open(dir, name, flags|unix.O_EXCL, 0o600)
	if err != nil {
		return -1, collision(n.Steps[p.Step].Path, err)
	}
	return fd, nil
}

// seal completes the file of a step.
func (n *change) seal(dir int, name string, fd int, p *Piece) error {
	i := p.Step
	e := n.Steps[i].After
	if !p.reaches(e.Size) {
		if err := unix.Ftruncate(fd, e.Size); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(fd, uint32(e.Mode)); err != nil {
		return err
	}
	if n.Fresh {
		if err := setTimeAt(dir, name, e.Mtime); err != nil {
			return err
		}
	}
	if !n.many {
		if err := unix.Fsync(fd); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sealed[i] = true
	return nil
}

// reaches tells whether writing the piece to a file that is new makes it size bytes long: its last block is no hole.
func (p *Piece) reaches(size int64) bool {
	if p.Offset != 0 || int64(len(p.Data)) != size {
		return false
	}
	return size == 0 || !tree.IsZero(p.Data[(size-1)/zeroBlock*zeroBlock:])
}

func (n *change) isSealed(i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sealed[i]
}

// setTimeAt sets the time of an entry to the nanosecond, following no link.
func setTimeAt(dir int, name string, mtime int64) error {
	ts := unix.NsecToTimespec(mtime)
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

// writeSparse writes b, leaving out blocks of zeros.
func writeSparse(fd int, b []byte, offset int64) error {
	for len(b) > 0 {
		skip := 0
		for skip < len(b) && tree.IsZero(b[skip:min(skip+zeroBlock, len(b))]) {
			skip = min(skip+zeroBlock, len(b))
		}
		b, offset = b[skip:], offset+int64(skip)
		n := 0
		for n < len(b) && !tree.IsZero(b[n:min(n+zeroBlock, len(b))]) {
			n = min(n+zeroBlock, len(b))
		}
		if err := writeAt(fd, b[:n], offset); err != nil {
			return err
		}
		b, offset = b[n:], offset+int64(n)
	}
	return nil
}

// complete tells whether all content is there.
func (n *change) complete() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.Steps {
		if n.Steps[i].NeedsContent() && !n.sealed[i] {
			return &sandbox.Error{Class: sandbox.ClassInvalid, Op: opChange, Path: n.Steps[i].Path, Message: "its content is missing"}
		}
	}
	return nil
}

// stageLinks prepares symbolic links and, in a fresh tree, hard links.
func (n *change) stageLinks() error {
	f, g := n.finder(), n.finder()
	defer f.close()
	defer g.close()
	for i := range n.Steps {
		s := &n.Steps[i]
		if s.After == nil || (s.After.Kind != tree.Link && (s.Link == "" || !n.Fresh)) {
			continue
		}
		dir, name, err := n.staged(f, i)
		if err != nil {
			return fileError(s.Path, err)
		}
		if s.After.Kind == tree.Link {
			err = stageLink(dir, name, s.After, n.Fresh)
		} else {
			err = linkTo(g, s.Link, dir, name)
		}
		if err != nil {
			return collision(s.Path, err)
		}
	}
	return nil
}

func stageLink(dir int, name string, e *tree.Entry, fresh bool) error {
	if err := unix.Symlinkat(e.Target, dir, name); err != nil || !fresh {
		return err
	}
	return setTimeAt(dir, name, e.Mtime)
}

// linkTo makes name another link of the file at path.
func linkTo(f *finder, path string, dir int, name string) error {
	from, base, err := f.find(path)
	if err != nil {
		return err
	}
	return unix.Linkat(from, base, dir, name, 0)
}
