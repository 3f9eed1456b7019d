// This file merges again, with a damaged store, while others work, and much at once.

package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

func TestMergeIsRepeated(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "f", ten); write(t, dir, "g", "1") })
	write(t, f.dir, "f", "0\n"+ten)
	write(t, f.there, "f", ten+"11\n")
	write(t, f.there, "g", "2")
	pin := func() *Ref { return &Ref{Session: "s1"} }
	o := MergeOptions{Base: f.base.ID, Theirs: f.theirs().ID, EffectID: "e1"}
	o.Pin = pin()
	out := f.merge(o)
	write(t, f.dir, "g", "edited since")
	_, err := f.s.Take(context.Background(), f.w, TakeOptions{Pin: &Ref{Session: "s1"}})
	require.NoError(t, err)
	for range 2 {
		o.Pin = pin()
		require.Equal(t, out, f.merge(o))
		require.Equal(t, out.Undo, o.Pin.Checkpoint)
		require.Equal(t, "edited since", f.text("g"))
	}
	o.Pin, o.EffectID = pin(), "e2"
	write(t, f.dir, "g", "mine")
	require.Equal(t, "conflict g", brief(f.merge(o)))
	refs, err := f.s.List("s1", "")
	require.NoError(t, err)
	for _, r := range refs {
		require.NotEqual(t, "e2", r.Effect, "nothing was done that could be undone")
	}
	write(t, f.dir, "g", "1") // decided by hand; the same id again looks anew
	o.Pin = pin()
	require.Equal(t, "changed g", brief(f.merge(o)))
}

func TestMergeWithADamagedStore(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "f", ten); write(t, dir, "g", "1") })
	write(t, f.there, "f", ten+"11\n")
	theirs := f.theirs()
	write(t, f.dir, "f", "0\n"+ten)
	f.take()
	was := snapshot(t, f.dir, true)
	mend := damage(t, f.s)
	s := openStore(t, f.s.opts.Dir)
	_, err := s.Merge(context.Background(), folder(t, s, f.dir), MergeOptions{Base: f.base.ID, Theirs: theirs.ID})
	requireClass(t, sandbox.ClassCorrupt, err)
	_, _, err = s.Derive(context.Background(), theirs.ID, DeriveOptions{})
	requireClass(t, sandbox.ClassCorrupt, err)
	require.Equal(t, was, snapshot(t, f.dir, true))
	mend()
	for _, o := range []MergeOptions{{Base: tree.Empty.String(), Theirs: theirs.ID}, {Base: f.base.ID, Theirs: tree.Empty.String()}} {
		_, err = f.s.Merge(context.Background(), f.w, o)
		requireClass(t, sandbox.ClassNotFound, err)
	}
	full, err := Open(Options{Dir: f.s.opts.Dir, Reserve: 1 << 60})
	require.NoError(t, err)
	_, err = full.Merge(context.Background(), folder(t, full, f.dir), MergeOptions{Base: f.base.ID, Theirs: theirs.ID})
	requireClass(t, sandbox.ClassLimit, err)
	require.Equal(t, was, snapshot(t, f.dir, true))
	require.Equal(t, "merged f", brief(f.merge(MergeOptions{})))
}

func TestMergeKeepsWhatChangesMeanwhile(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "f", ten); write(t, dir, "g", "1"); write(t, dir, "h", "1") })
	write(t, f.dir, "f", "0\n"+ten)
	write(t, f.there, "f", ten+"11\n")
	write(t, f.there, "g", "2")
	write(t, f.there, "h", "2")
	out, err := f.s.Merge(context.Background(), meddling{f.w, func() {
		write(t, f.dir, "f", "saved just now")
		write(t, f.dir, "g", "saved just now")
	}}, MergeOptions{Base: f.base.ID, Theirs: f.theirs().ID})
	require.NoError(t, err)
	require.Equal(t, "changed h, conflict f, conflict g", brief(out))
	require.Equal(t, "saved just now", f.text("f"))
}

func TestTheCollectorWaitsForAMerge(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "f", ten) })
	write(t, f.dir, "f", "0\n"+ten)
	write(t, f.there, "f", ten+"11\n")
	theirs := f.theirs()
	w := beginning{f.w, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*lockPause)
		defer cancel()
		_, err := f.s.GC(ctx, GCOptions{All: true})
		requireClass(t, sandbox.ClassLimit, err)
	}}
	out, err := f.s.Merge(context.Background(), w, MergeOptions{Base: f.base.ID, Theirs: theirs.ID})
	require.NoError(t, err)
	require.Equal(t, "merged f", brief(out))
}

// beginning does something just before a change begins.
type beginning struct {
	Workspace
	do func()
}

func (b beginning) Begin(ctx context.Context, c worktree.Change) (worktree.Begun, error) {
	b.do()
	return b.Workspace.Begin(ctx, c)
}

func TestMergedHardLinks(t *testing.T) {
	f := newFork(t, func(dir string) {
		write(t, dir, "a", ten)
		require.NoError(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
		write(t, dir, "c", "c")
	})
	write(t, f.dir, "a", "0\n"+ten)
	write(t, f.there, "b", ten+"11\n")
	require.NoError(t, os.Link(filepath.Join(f.there, "c"), filepath.Join(f.there, "d")))
	out := f.merge(MergeOptions{})
	require.Equal(t, "merged a, merged b, changed c, added d", brief(out))
	for _, pair := range []string{"ab", "cd"} {
		require.True(t, sameFile(stat(t, f.dir, pair[:1]), filepath.Join(f.dir, pair[1:])), pair)
	}
	require.Equal(t, "0\n"+ten+"11\n", f.text("b"))
}

// A file whose other links stay as somebody else's has come once it has come.
func TestALinkOfWhatStaysDoesNotComeAgain(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "a", "1") })
	write(t, f.there, "a", "2")
	require.NoError(t, os.Link(filepath.Join(f.there, "a"), filepath.Join(f.there, "b")))
	write(t, f.dir, "a", "3")
	o := MergeOptions{Base: f.base.ID, Theirs: f.theirs().ID, OnConflict: Mine}
	require.Equal(t, "added b, conflict a", brief(f.merge(o)))
	require.Equal(t, "conflict a", brief(f.merge(o)))
	require.Equal(t, "2", f.text("b"))
}

// A file that is to be one with what stays out, and no longer with what stays as it is, becomes one of its own, once.
func TestAFileLeavesItsLinks(t *testing.T) {
	f := newFork(t, func(dir string) {
		write(t, dir, "a", "1")
		require.NoError(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "c")))
		write(t, dir, "n", "2")
	})
	require.NoError(t, os.Remove(filepath.Join(f.there, "a")))
	require.NoError(t, os.Mkdir(filepath.Join(f.there, "a"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(f.there, "n")))
	require.NoError(t, os.Link(filepath.Join(f.there, "c"), filepath.Join(f.there, "n")))
	write(t, f.dir, "a", "mine")
	write(t, f.dir, "n", "mine, too")
	o := MergeOptions{Base: f.base.ID, Theirs: f.theirs().ID, OnConflict: Mine}
	out := f.merge(o)
	require.Equal(t, "changed c, conflict a, conflict n", brief(out))
	require.False(t, sameFile(stat(t, f.dir, "a"), filepath.Join(f.dir, "c")))
	require.Equal(t, "mine", f.text("c"))
	require.Equal(t, "conflict a, conflict n", brief(f.merge(o)))
	f.back(out.Undo, RestoreOptions{})
	require.True(t, sameFile(stat(t, f.dir, "a"), filepath.Join(f.dir, "c")))
}

// Of files that are one and shall be two, one stays; so it is also when the name they go by is not theirs any more.
func TestLinksAreSplit(t *testing.T) {
	f := newFork(t, func(dir string) {
		write(t, dir, "a", ten)
		for _, name := range []string{"b", "c", "d"} {
			require.NoError(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, name)))
		}
	})
	for _, name := range []string{"c", "d"} {
		require.NoError(t, os.Remove(filepath.Join(f.there, name)))
	}
	write(t, f.there, "c", ten)
	require.NoError(t, os.Link(filepath.Join(f.there, "c"), filepath.Join(f.there, "d")))
	out := f.merge(MergeOptions{})
	require.Equal(t, "changed c, changed d", brief(out))
	require.EqualValues(t, len(ten), out.Bytes)
	for pair, one := range map[string]bool{"ab": true, "cd": true, "ac": false} {
		require.Equal(t, one, sameFile(stat(t, f.dir, pair[:1]), filepath.Join(f.dir, pair[1:])), pair)
	}
	require.Empty(t, f.merge(MergeOptions{}).Files)
}

func stat(t testing.TB, dir, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, path))
	require.NoError(t, err)
	return info
}

func TestMergeOfManyFiles(t *testing.T) {
	f := newForkIn(t, t.TempDir(), func(dir string) {
		for i := range 10_000 {
			write(t, dir, fmt.Sprintf("d%d/e%d/f%d", i%10, i%100, i), ten)
		}
	})
	for i := range 10_000 {
		path := fmt.Sprintf("d%d/e%d/f%d", i%10, i%100, i)
		switch i % 4 {
		case 0:
			write(t, f.there, path, ten+"11\n")
		case 1:
			write(t, f.dir, path, "0\n"+ten)
		case 2:
			write(t, f.there, path, ten+"11\n")
			write(t, f.dir, path, "0\n"+ten)
		}
	}
	began := time.Now()
	out := f.merge(MergeOptions{})
	t.Logf("10,000 files, 2,500 of them joined: %v", time.Since(began))
	require.Len(t, out.Files, 5000)
	require.Empty(t, out.Conflicts)
	require.Equal(t, "0\n"+ten+"11\n", f.text("d2/e2/f2"))
}
