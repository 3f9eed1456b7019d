//go:build linux

// This file moves much through a sandbox, and carries workspaces into and out of it.

package e2b

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/e2b/e2btest"
)

// mostMemory is how much more memory this process, the proxy before the sandboxes included, may take for any amount.
const mostMemory = 160 << 20

// peak watches the memory of this process until the returned function is called, which tells the most that was in use beyond
// what had been.
func peak() func() int64 {
	read := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	runtime.GC()
	before := read()
	quit, most := make(chan struct{}), make(chan int64)
	go func() {
		top := before
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				top = max(top, read())
			case <-quit:
				most <- top - before
				return
			}
		}
	}()
	return func() int64 {
		close(quit)
		return <-most
	}
}

func amount(moderate, whole int64) int64 {
	if full() {
		return whole
	}
	return moderate
}

func TestMuchOutput(t *testing.T) {
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s)
	box := open(t, b, "s")
	n := amount(20_000_000, 200_000_000)
	top := peak()
	began := time.Now()
	require.NoError(t, box.Start(t.Context(), "much", sandbox.Command{
		Script: "head -c $N /dev/urandom | tee >(sha256sum > sum)", Env: []string{"N=" + strconv.FormatInt(n, 10)}, OutputCap: 1 << 30,
	}))
	sum := sha256.New()
	var at int64
	for {
		st, err := box.Wait(t.Context(), "much", sandbox.Offsets{Stdout: at}, time.Minute)
		require.NoError(t, err)
		for at < st.Total.Stdout {
			chunk, err := box.Output(t.Context(), "much", sandbox.Stdout, at, 1<<20)
			require.NoError(t, err)
			require.Equal(t, at, chunk.Offset)
			_, _ = sum.Write(chunk.Data)
			at += int64(len(chunk.Data))
		}
		if st.State != sandbox.StateRunning {
			break
		}
	}
	took := time.Since(began)
	require.Less(t, top(), int64(mostMemory))
	require.Equal(t, n, at)
	require.Contains(t, succeed(t, box, "while [ ! -s sum ]; do sleep 0.05; done; cat sum"), hex.EncodeToString(sum.Sum(nil)))
	t.Logf("%d MB of output in %v, %.1f MB/s", n/1e6, took, float64(n)/1e6/took.Seconds())
}

// A large file goes into a sandbox and comes back by checkpoints, as workspaces are carried.
func TestLargeFileEachWay(t *testing.T) {
	s := e2btest.New(t, e2btest.Options{})
	b := newBackend(t, s)
	box := open(t, b, "s")
	n := amount(30_000_000, 300_000_000)
	dir := t.TempDir()
	digest := fill(t, filepath.Join(dir, "large"), n)
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	folder, err := store.Folder(dir)
	require.NoError(t, err)
	limits := checkpoint.TakeOptions{Limits: worktree.Limits{File: 1 << 30}}
	here, err := store.Take(t.Context(), folder, limits)
	require.NoError(t, err)
	there, err := checkpoint.Of(box)
	require.NoError(t, err)

	top := peak()
	began := time.Now()
	require.NoError(t, store.RestoreEmpty(t.Context(), here.ID, there, ""))
	up := time.Since(began)
	require.Contains(t, succeed(t, box, "sha256sum large"), digest)

	succeed(t, box, "printf x >> large")
	fresh, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	began = time.Now()
	back, err := fresh.Take(t.Context(), there, limits)
	require.NoError(t, err)
	down := time.Since(began)
	require.Less(t, top(), int64(mostMemory))
	require.Equal(t, n+1, back.Bytes)
	t.Logf("%d MB up in %v, down in %v", n/1e6, up, down)
}

// fill makes a file of random bytes and returns its digest.
func fill(t *testing.T, path string, n int64) string {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	source := rand.NewChaCha8([32]byte{1})
	sum := sha256.New()
	buf := make([]byte, 1<<20)
	for left := n; left > 0; {
		part := buf[:min(left, int64(len(buf)))]
		_, _ = source.Read(part)
		_, _ = sum.Write(part)
		_, err := f.Write(part)
		require.NoError(t, err)
		left -= int64(len(part))
	}
	require.NoError(t, f.Close())
	return hex.EncodeToString(sum.Sum(nil))
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t, e2btest.Options{})
	b, ctx := newBackend(t, s), context.Background()
	box := open(t, b, "s")
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	w, err := checkpoint.Of(box)
	require.NoError(t, err)
	succeed(t, box, `mkdir -p d/e locked && echo one > d/e/f && ln d/e/f hard && ln -s /no/where dangling && echo x > "$(printf 'odd\n\377')" && chmod 755 hard && echo y > locked/f && chmod 555 locked && mkfifo pipe`)
	first, err := store.Take(ctx, w, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Len(t, first.Notes, 1)

	succeed(t, box, `echo two > d/e/f; rm dangling; chmod 755 locked; echo z > locked/g; mkdir new; echo n > new/n`)
	require.NoError(t, s.Cut(s.Sandboxes()[0].ID))
	s.Inject(cloudtest.Fault{Op: "SendInput", After: 3, Lost: true})
	back, err := store.RestoreOnto(ctx, first.ID, w, checkpoint.RestoreOptions{})
	require.NoError(t, err)
	require.Empty(t, back.Kept)
	require.Zero(t, s.Pending())
	now, err := store.Take(ctx, w, checkpoint.TakeOptions{Parent: first.ID})
	require.NoError(t, err)
	diff, err := store.Diff(ctx, first.ID, now.ID, checkpoint.DiffOptions{})
	require.NoError(t, err)
	require.Empty(t, diff.Files)

	here := t.TempDir()
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(here, "locked"), 0o755) })
	folder, err := store.Folder(here)
	require.NoError(t, err)
	require.NoError(t, store.RestoreEmpty(ctx, now.ID, folder, ""))
	again, err := store.Take(ctx, folder, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Equal(t, now.Root, again.Root)
	other, err := checkpoint.Of(open(t, b, "other"))
	require.NoError(t, err)
	require.NoError(t, store.RestoreEmpty(ctx, again.ID, other, ""))
	once, err := store.Take(ctx, other, checkpoint.TakeOptions{})
	require.NoError(t, err)
	require.Equal(t, now.Root, once.Root, "cloud, host, cloud")
}
