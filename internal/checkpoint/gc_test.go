// This file collects, and takes at the same time.

package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestOnlyWhatNothingRefersToIsCollected(t *testing.T) {
	k := newTaken(t)
	ctx := context.Background()
	var kept, loose []string
	for i := range 12 {
		write(t, k.dir, "f", fmt.Sprint("content ", i))
		write(t, k.dir, fmt.Sprint("d/", i), fmt.Sprint("more ", i))
		var pin *Ref
		if i%3 == 0 {
			pin = &Ref{Session: "s1", Turn: i}
		}
		info, err := k.s.Take(ctx, k.w, TakeOptions{Pin: pin})
		require.NoError(t, err)
		if pin != nil {
			kept = append(kept, info.ID)
		} else {
			loose = append(loose, info.ID)
		}
	}
	out, err := k.s.GC(ctx, GCOptions{})
	require.NoError(t, err)
	require.Zero(t, out.Dropped, "within the quota everything stays")
	out, err = k.s.GC(ctx, GCOptions{All: true, Grace: time.Hour})
	require.NoError(t, err)
	require.Zero(t, out.Dropped, "young ones too")
	out, err = k.s.GC(ctx, GCOptions{All: true})
	require.NoError(t, err)
	require.Equal(t, len(loose), out.Dropped)
	require.Equal(t, len(kept), out.Left)
	require.Less(t, out.After, out.Before)
	for _, id := range kept {
		require.NoError(t, k.s.Verify(ctx, id))
		require.NoError(t, openStore(t, k.s.opts.Dir).Verify(ctx, id))
	}
	for _, id := range loose {
		_, err := k.s.Stat(id)
		requireClass(t, sandbox.ClassNotFound, err)
	}
	require.NoError(t, k.s.Release("s1", ""))
	out, err = k.s.GC(ctx, GCOptions{All: true})
	require.NoError(t, err)
	require.Equal(t, len(kept), out.Dropped)
	require.Zero(t, out.After)
	require.NoError(t, k.s.Verify(ctx, k.take().ID), "the cache speaks of what is gone")
}

func TestQuotaDropsTheOldest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(Options{Dir: dir, Reserve: -1, Quota: 40 << 10})
	require.NoError(t, err)
	var ids []string
	for i := range 6 {
		one := t.TempDir()
		noise := ""
		for j := range 300 {
			noise += fmt.Sprintf("%x", hashOf(i, j))
		}
		write(t, one, "f", noise)
		info := take(t, s, one)
		ids = append(ids, info.ID)
		at := time.Unix(int64(1000+i), 0)
		require.NoError(t, os.Chtimes(s.manifestPath(info.ID), at, at))
	}
	out, err := s.GC(context.Background(), GCOptions{})
	require.NoError(t, err)
	require.NotZero(t, out.Dropped)
	require.LessOrEqual(t, out.After, int64(48<<10))
	for i, id := range ids {
		_, err := s.Stat(id)
		require.Equal(t, i < out.Dropped, err != nil, "the oldest go: %d", i)
	}
}

func TestTakingAndCollectingAtOnce(t *testing.T) {
	k := newTaken(t)
	ctx := context.Background()
	other := openStore(t, k.s.opts.Dir) // as in another process
	done := make(chan struct{})
	var collector sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := other.GC(ctx, GCOptions{All: true}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var takers sync.WaitGroup
	for n := range 3 {
		dir := t.TempDir()
		w := folder(t, k.s, dir)
		takers.Go(func() {
			last := ""
			for i := range 15 {
				_ = os.WriteFile(filepath.Join(dir, "f"), []byte(fmt.Sprint(n, i)), 0o644)
				_ = os.WriteFile(filepath.Join(dir, "same"), []byte("the same everywhere"), 0o644)
				info, err := k.s.Take(ctx, w, TakeOptions{Parent: last, Pin: &Ref{Session: fmt.Sprint(n), Turn: i}})
				if err == nil {
					err = k.s.Verify(ctx, info.ID)
				}
				if err != nil {
					t.Errorf("taker %d, %d: %v", n, i, err)
					return
				}
				last = info.ID
			}
		})
	}
	takers.Wait()
	close(done)
	collector.Wait()
	requireWhole(t, openStore(t, k.s.opts.Dir), "no step")
}

func TestRefs(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "f", "1")
	id := k.take().ID
	refs := []Ref{
		{Checkpoint: id, Session: "s1", Turn: 1, Item: "i3", Reason: Turn, Owner: "me", Summary: "Before \"make\"", At: time.Unix(5, 0).UTC()},
		{Checkpoint: id, Session: "s1", Turn: 2, Item: "i7", Reason: Turn, At: time.Unix(9, 0).UTC()},
		{Checkpoint: id, Folder: "/home/me/project", Reason: Requested, At: time.Unix(7, 0).UTC()},
	}
	for _, r := range append(refs, refs...) {
		require.NoError(t, k.s.Pin(r))
	}
	got, err := k.s.List("s1", "")
	require.NoError(t, err)
	require.Equal(t, refs[:2], got)
	got, err = k.s.List("", "/home/me/project")
	require.NoError(t, err)
	require.Equal(t, refs[2:], got)
	require.NoError(t, k.s.Unpin(refs[0]))
	require.NoError(t, k.s.Unpin(refs[0]))
	got, err = k.s.List("s1", "")
	require.NoError(t, err)
	require.Equal(t, refs[1:2], got)
	requireClass(t, sandbox.ClassInvalid, k.s.Pin(Ref{Checkpoint: id}))
	requireClass(t, sandbox.ClassNotFound, k.s.Pin(Ref{Checkpoint: hashOf(1, 2).String(), Session: "s1"}))
	requireClass(t, sandbox.ClassInvalid, k.s.Pin(Ref{Checkpoint: "../../etc", Session: "s1"}))

	found, err := k.s.Find(id[:6])
	require.NoError(t, err)
	require.Equal(t, id, found)
	_, err = k.s.Find(id[:3])
	requireClass(t, sandbox.ClassNotFound, err)
	day := func(n int) time.Time { return time.Unix(int64(n)*86400, 0).UTC() }
	for _, r := range []Ref{
		{Session: "s2", Realm: "r", At: day(3)}, {Session: "s2", Turn: 1, At: day(5)}, {Session: "s3", Realm: "r", At: day(1)}, {Session: "s3", Realm: "q", Turn: 1, At: day(2)},
	} {
		r.Checkpoint = id
		require.NoError(t, k.s.Pin(r))
	}
	holders, err := k.s.Holders()
	require.NoError(t, err)
	require.Equal(t, []Holder{{"s1", "", time.Unix(9, 0).UTC()}, {"s2", "r", day(5)}, {"s3", "", day(2)}}, holders)
	dir := k.s.scopeDir(&refs[1])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.json"), []byte("{"), 0o600))
	_, err = k.s.GC(context.Background(), GCOptions{All: true})
	requireClass(t, sandbox.ClassCorrupt, err)
	require.NoError(t, k.s.Verify(context.Background(), id))
}

func TestStoreOfAnotherVersion(t *testing.T) {
	s := newStore(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.opts.Dir, formatFile), []byte("sandbox-agent checkpoints 2\n"), 0o600))
	_, err := Open(Options{Dir: s.opts.Dir})
	requireClass(t, sandbox.ClassUnsupported, err)
	info, err := os.Stat(s.opts.Dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}
