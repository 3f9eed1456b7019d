// This file knows who works on a change, so that one whose beginner is gone stands in nobody's way.

package worktree

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

type byKey struct{}

// By returns a context for calls on behalf of who, a comparable value; Gone tells when that is no longer there.
func By(ctx context.Context, who any) context.Context { return context.WithValue(ctx, byKey{}, who) }

// Gone says that who will call no more. What it has begun makes room for whoever begins something else, and is given up
// after a moment unless it is gone on with.
func (t *Tree) Gone(who any) {
	t.changing.Lock()
	defer t.changing.Unlock()
	n := t.current
	if n == nil || !n.leave(who) {
		return
	}
	time.AfterFunc(orphanTime, func() {
		t.changing.Lock()
		defer t.changing.Unlock()
		t.dropOrphan(n)
	})
}

// dropOrphan gives a change up if it is still under way, and still nobody's.
func (t *Tree) dropOrphan(n *change) {
	if n != nil && t.current == n && n.isOrphan() {
		t.drop()
	}
}

// touch notes that somebody works on the change.
func (n *change) touch(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last, n.by, n.orphan = time.Now(), ctx.Value(byKey{}), false
}

// leave makes the change an orphan if it was who's.
func (n *change) leave(who any) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.orphan = n.by == who
	return n.orphan
}

func (n *change) isOrphan() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.orphan
}

// abandoned tells whether nobody is to be expected to go on with the change.
func (n *change) abandoned() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.orphan || time.Since(n.last) >= staleAfter
}

// whole tells whether nobody has removed the stage.
func (n *change) whole() bool {
	var there, mine unix.Stat_t
	err := again(func() error { return unix.Fstatat(n.root, n.stage, &there, unix.AT_SYMLINK_NOFOLLOW) })
	if err == nil {
		err = again(func() error { return unix.Fstat(n.dir, &mine) })
	}
	return err == nil && there.Dev == mine.Dev && there.Ino == mine.Ino
}
