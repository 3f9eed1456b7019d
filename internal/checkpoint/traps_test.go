// This file sets the traps into which pictures by times and sizes have been known to fall.

package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// taken takes checkpoint after checkpoint of one folder.
type taken struct {
	t    *testing.T
	s    *Store
	dir  string
	w    Workspace
	last Info
}

func newTaken(t *testing.T) *taken {
	t.Helper()
	k := &taken{t: t, s: newStore(t), dir: t.TempDir()}
	k.w = folder(t, k.s, k.dir)
	return k
}

func (k *taken) take() Info {
	k.t.Helper()
	info, err := k.s.Take(context.Background(), k.w, TakeOptions{Parent: k.last.ID})
	require.NoError(k.t, err)
	k.last = info
	return info
}

// settled takes until the cache trusts what is there.
func (k *taken) settled() Info {
	k.t.Helper()
	for {
		if before := k.last.ID; k.take().ID == before {
			return k.last
		}
	}
}

func TestTraps(t *testing.T) {
	for name, trap := range map[string]func(t *testing.T, k *taken){
		"same size, at once": func(t *testing.T, k *taken) {
			for i := range 100 {
				write(t, k.dir, "f", fmt.Sprintf("%08d", i))
				before := k.take()
				write(t, k.dir, "f", fmt.Sprintf("%08d", i+1000))
				require.NotEqual(t, before.Root, k.take().Root, i)
			}
		},
		"time put back": func(t *testing.T, k *taken) {
			write(t, k.dir, "f", "aaaa")
			before := k.settled()
			info, err := os.Stat(filepath.Join(k.dir, "f"))
			require.NoError(t, err)
			write(t, k.dir, "f", "bbbb")
			require.NoError(t, os.Chtimes(filepath.Join(k.dir, "f"), info.ModTime(), info.ModTime()))
			require.NotEqual(t, before.Root, k.take().Root)
		},
		"another file of the same times": func(t *testing.T, k *taken) {
			write(t, k.dir, "f", "aaaa")
			before := k.settled()
			info, err := os.Stat(filepath.Join(k.dir, "f"))
			require.NoError(t, err)
			write(t, k.dir, "g", "bbbb")
			require.NoError(t, os.Chtimes(filepath.Join(k.dir, "g"), info.ModTime(), info.ModTime()))
			require.NoError(t, os.Rename(filepath.Join(k.dir, "g"), filepath.Join(k.dir, "f")))
			require.NotEqual(t, before.Root, k.take().Root)
		},
		"permissions": func(t *testing.T, k *taken) {
			write(t, k.dir, "d/f", "aaaa")
			before := k.settled()
			require.NoError(t, os.Chmod(filepath.Join(k.dir, "d/f"), 0o600))
			require.NotEqual(t, before.Root, k.take().Root)
			before = k.last
			require.NoError(t, os.Chmod(filepath.Join(k.dir, "d"), 0o700))
			require.NotEqual(t, before.Root, k.take().Root)
		},
		"file, directory, link": func(t *testing.T, k *taken) {
			path := filepath.Join(k.dir, "x")
			write(t, k.dir, "x", "a")
			before := k.take()
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o755))
			require.NotEqual(t, before.Root, k.take().Root)
			before = k.last
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink("a", path))
			require.NotEqual(t, before.Root, k.take().Root)
			before = k.last
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink("b", path))
			require.NotEqual(t, before.Root, k.take().Root)
		},
		"first of several links moved": func(t *testing.T, k *taken) {
			write(t, k.dir, "a/f", "1")
			require.NoError(t, os.Mkdir(filepath.Join(k.dir, "z"), 0o755))
			require.NoError(t, os.Link(filepath.Join(k.dir, "a/f"), filepath.Join(k.dir, "z/f")))
			k.settled()
			require.NoError(t, os.Rename(filepath.Join(k.dir, "a"), filepath.Join(k.dir, "b")))
			cached := k.take()
			full, err := k.s.Take(context.Background(), k.w, TakeOptions{Rehash: true})
			require.NoError(t, err)
			require.Equal(t, full.Root, cached.Root)
		},
		"store through a mapping of a page that is dirty already": func(t *testing.T, k *taken) {
			if runtime.GOOS != "linux" {
				t.Skip("mappings cannot be listed here")
			}
			write(t, k.dir, "m", string(bytes.Repeat([]byte("a"), 8192)))
			f, err := os.OpenFile(filepath.Join(k.dir, "m"), os.O_RDWR, 0)
			require.NoError(t, err)
			defer f.Close()
			m, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			require.NoError(t, err)
			m[0] = 'b'
			before := k.settled()
			m[1] = 'c'
			require.NotEqual(t, before.Root, k.take().Root, "while it is mapped")
			before = k.last
			m[2] = 'd'
			require.NoError(t, unix.Munmap(m))
			require.NotEqual(t, before.Root, k.take().Root, "when it is not any more")
		},
	} {
		t.Run(name, func(t *testing.T) { trap(t, newTaken(t)) })
	}
}

func TestFileThatChangesWhileItIsRead(t *testing.T) {
	k := newTaken(t)
	path := filepath.Join(k.dir, "f")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := byte(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return
			}
			for at := int64(0); at < 1<<20; at += 4096 {
				_, _ = f.WriteAt(bytes.Repeat([]byte{i}, 4096), at)
			}
			_ = f.Close()
		}
	})
	for range 20 {
		info := k.take()
		var told bool
		for _, n := range info.Notes {
			told = told || (n.Path == "f" && n.Reason == tree.Changing)
		}
		to := t.TempDir()
		require.NoError(t, k.s.RestoreEmpty(context.Background(), info.ID, folder(t, k.s, to), ""))
		b, err := os.ReadFile(filepath.Join(to, "f"))
		if err == nil && !told && len(b) == 1<<20 {
			steps := 0
			for at := 4096; at < len(b); at += 4096 {
				if b[at] != b[at-1] {
					steps++
				}
			}
			require.LessOrEqual(t, steps, 1, "a state in which it was at one time")
		}
	}
	close(stop)
	wg.Wait()
}

func TestWhatIsLeftOut(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "keep", "1")
	write(t, k.dir, "node_modules/m/index.js", "2")
	write(t, k.dir, "sub/node_modules/m/index.js", "3")
	write(t, k.dir, "build/out.o", "4")
	write(t, k.dir, "big", "0123456789")
	require.NoError(t, unix.Mkfifo(filepath.Join(k.dir, "pipe"), 0o600))
	write(t, k.dir, ".sandbox-edit-1-2", "an edit under way")
	o := TakeOptions{Excludes: []string{"node_modules", "build/**/*.o"}, Limits: worktree.Limits{File: 5}}
	info, err := k.s.Take(context.Background(), k.w, o)
	require.NoError(t, err)
	require.Equal(t, []tree.Note{
		{Path: "big", Reason: tree.TooLarge, Size: 10},
		{Path: "build/out.o", Reason: tree.Excluded},
		{Path: "node_modules", Reason: tree.Excluded},
		{Path: "pipe", Reason: tree.Pipe},
		{Path: "sub/node_modules", Reason: tree.Excluded},
	}, info.Notes)
	require.False(t, info.Partial)
	require.Equal(t, 1, info.Files)

	write(t, k.dir, "keep", "2")
	write(t, k.dir, "big", "01234") // small enough by now: it was there all the same
	write(t, k.dir, "node_modules/m/index.js", "changed")
	out, err := k.s.RestoreOnto(context.Background(), info.ID, k.w, RestoreOptions{Take: o})
	require.NoError(t, err)
	require.Equal(t, []string{"keep"}, out.Restored)
	require.Equal(t, []worktree.Kept{{Path: "big", Reason: "it is not part of the checkpoint: larger than the limit"}}, out.Kept)
	require.FileExists(t, filepath.Join(k.dir, "big"))

	write(t, k.dir, "keep", "larger than the limit")
	out, err = k.s.RestoreOnto(context.Background(), info.ID, k.w, RestoreOptions{Take: o, Paths: []string{"keep"}})
	require.NoError(t, err)
	require.Equal(t, []worktree.Kept{{Path: "keep", Reason: "no checkpoint can hold it as it is now (larger than the limit), so it was left alone"}}, out.Kept)
	p := planner{ours: Info{Notes: []tree.Note{{Path: "a", Reason: tree.Unreadable}}}, told: map[string]bool{}}
	require.True(t, p.untouchable("a/f"))
	require.Equal(t, []worktree.Kept{{Path: "a/f", Reason: "it cannot be read now, so it was left alone"}}, p.kept)
	require.FileExists(t, filepath.Join(k.dir, "node_modules/m/index.js"))
}

func TestLimits(t *testing.T) {
	k := newTaken(t)
	for i := range 10 {
		write(t, k.dir, fmt.Sprintf("f%d", i), "0123456789")
	}
	measure := func(o worktree.ScanOptions) error {
		tree, ok := k.w.(*worktree.Tree)
		require.True(t, ok)
		return tree.Measure(t.Context(), o)
	}
	for _, l := range []worktree.Limits{{Files: 9}, {Bytes: 99}} {
		_, err := k.s.Take(context.Background(), k.w, TakeOptions{Limits: l})
		requireClass(t, sandbox.ClassLimit, err)
		require.EqualError(t, measure(worktree.ScanOptions{Limits: l}), err.Error(), "without a file being read")
	}
	require.NoError(t, measure(worktree.ScanOptions{Limits: worktree.Limits{Files: 10, Bytes: 100}}))
	require.NoError(t, measure(worktree.ScanOptions{Limits: worktree.Limits{Files: 9}, Excludes: []string{"f3"}}))
	_, err := k.s.Take(context.Background(), k.w, TakeOptions{Excludes: []string{"["}})
	requireClass(t, sandbox.ClassInvalid, err)
	_, err = k.s.Take(context.Background(), k.w, TakeOptions{Timeout: 1})
	requireClass(t, sandbox.ClassLimit, err)
	ids, err := k.s.ids()
	require.NoError(t, err)
	require.Empty(t, ids, "what fails leaves no checkpoint")
	for _, dir := range []string{"/", os.Getenv("HOME"), k.s.opts.Dir, filepath.Dir(k.s.opts.Dir)} {
		_, err := k.s.Folder(dir)
		requireClass(t, sandbox.ClassInvalid, err)
	}
}

// asNobody runs the calling test again as a user who may not read everything, and tells whether this is not that run.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	const nobody = 65534
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	self, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(program, self, 0o755))
	temp := filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(temp, 0o700))
	require.NoError(t, os.Chown(temp, nobody, nobody))
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = temp, []string{"TMPDIR=" + temp, "HOME=" + temp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return true
}

func TestUnreadableMeansPartial(t *testing.T) {
	if asNobody(t) {
		return
	}
	k := newTaken(t)
	write(t, k.dir, "f", "1")
	write(t, k.dir, "secret", "2")
	write(t, k.dir, "closed/f", "3")
	require.NoError(t, os.Chmod(filepath.Join(k.dir, "secret"), 0))
	require.NoError(t, os.Chmod(filepath.Join(k.dir, "closed"), 0))
	defer os.Chmod(filepath.Join(k.dir, "closed"), 0o755)
	info := k.take()
	require.True(t, info.Partial)
	require.Equal(t, []tree.Note{{Path: "closed", Reason: tree.Unreadable}, {Path: "secret", Reason: tree.Unreadable}}, info.Notes)
	again, err := k.s.Stat(info.ID)
	require.NoError(t, err)
	require.True(t, again.Partial)

	write(t, k.dir, "f", "changed")
	require.NoError(t, os.Chmod(filepath.Join(k.dir, "secret"), 0o600))
	require.NoError(t, os.Chmod(filepath.Join(k.dir, "closed"), 0o755))
	out, err := k.s.RestoreOnto(context.Background(), info.ID, k.w, RestoreOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, out.Restored)
	require.FileExists(t, filepath.Join(k.dir, "secret"))
	require.FileExists(t, filepath.Join(k.dir, "closed/f"))
}

func TestWriteProtectedDirectories(t *testing.T) {
	if asNobody(t) {
		return
	}
	k := newTaken(t)
	locked := filepath.Join(k.dir, "locked")
	write(t, k.dir, "locked/changed", "1")
	write(t, k.dir, "locked/removed", "2")
	require.NoError(t, os.Chmod(locked, 0o555))
	defer os.Chmod(locked, 0o755)
	was := snapshot(t, k.dir, false)
	info := k.take()
	require.NoError(t, os.Chmod(locked, 0o755))
	write(t, k.dir, "locked/changed", "one")
	require.NoError(t, os.Remove(filepath.Join(locked, "removed")))
	write(t, k.dir, "locked/added", "3")
	require.NoError(t, os.Chmod(locked, 0o555))
	out, err := k.s.RestoreOnto(context.Background(), info.ID, k.w, RestoreOptions{})
	require.NoError(t, err)
	require.Empty(t, out.Kept)
	require.Equal(t, was, snapshot(t, k.dir, false))
	to := t.TempDir()
	require.NoError(t, k.s.RestoreEmpty(context.Background(), info.ID, folder(t, k.s, to), ""))
	defer os.Chmod(filepath.Join(to, "locked"), 0o755)
	require.Equal(t, info.Root, take(t, k.s, to).Root)
}
