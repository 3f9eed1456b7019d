// This file sets the tests up: stores, trees of every kind, and what a tree looks like from outside.

package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "store"))
}

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Dir: dir, Reserve: -1})
	require.NoError(t, err)
	return s
}

func folder(t testing.TB, s *Store, dir string) *worktree.Tree {
	t.Helper()
	w, err := s.Folder(dir)
	require.NoError(t, err)
	return w
}

func take(t testing.TB, s *Store, dir string) Info {
	t.Helper()
	info, err := s.Take(context.Background(), folder(t, s, dir), TakeOptions{})
	require.NoError(t, err)
	return info
}

func write(t testing.TB, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// snapshot describes everything below dir, from outside. With times, also when files were changed.
func snapshot(t testing.TB, dir string, times bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	links := map[uint64][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		text := info.Mode().String()
		st := info.Sys().(*syscall.Stat_t)
		switch {
		case rel == ".":
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			require.NoError(t, err)
			text += " -> " + target
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			text += fmt.Sprintf(" %d %s", len(b), tree.Sum(b))
			if st.Nlink > 1 {
				links[st.Ino] = append(links[st.Ino], rel)
			}
		}
		if times {
			text += " " + info.ModTime().Format(time.RFC3339Nano)
		}
		out[rel] = text
		return nil
	})
	require.NoError(t, err)
	for _, group := range links {
		for _, path := range group {
			out[path] += " linked " + strings.Join(group, ",")
		}
	}
	return out
}

// horrors fills dir with everything that travels and has been known to hurt, and returns what does not travel.
func horrors(t testing.TB, dir string) (left []string) {
	t.Helper()
	write(t, dir, "plain", "plain")
	write(t, dir, "empty", "")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty dir"), 0o700))
	write(t, dir, "-rf", "1")
	write(t, dir, "bad\xff\xfename", "2")
	write(t, dir, "new\nline", "3")
	write(t, dir, strings.Repeat("n", 255), "4")
	write(t, dir, "e\u0301", "decomposed")
	write(t, dir, "\u00e9", "composed")
	write(t, dir, "Case", "upper")
	write(t, dir, "case", "lower")
	write(t, dir, "repo/.git/HEAD", "ref: refs/heads/main\n")
	write(t, dir, ".gitignore", "ignored\n")
	write(t, dir, "ignored", "not by us")
	write(t, dir, "crlf", "a\r\nb\r\n")
	write(t, dir, "exec", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "exec"), 0o755))
	write(t, dir, "locked/none", "mode 000")
	require.NoError(t, os.Chmod(filepath.Join(dir, "locked/none"), 0))
	write(t, dir, "locked/read", "mode 444")
	require.NoError(t, os.Chmod(filepath.Join(dir, "locked/read"), 0o444))
	require.NoError(t, os.Chmod(filepath.Join(dir, "locked"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	for name, target := range map[string]string{"abs": "/etc/passwd", "out": "../../..", "dangling": "no/where", "loop": "loop", "todir": "empty dir"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	write(t, dir, "links/a", "linked")
	require.NoError(t, os.Link(filepath.Join(dir, "links/a"), filepath.Join(dir, "links/b")))
	require.NoError(t, os.Link(filepath.Join(dir, "links/a"), filepath.Join(dir, "another name")))
	f, err := os.Create(filepath.Join(dir, "sparse"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<30))
	_, err = f.WriteAt([]byte("in the middle"), 1<<29+12345)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	write(t, dir, "large", string(bytes.Repeat([]byte("0123456789abcdef"), 9<<16))+"tail")
	deep := dir
	fd, err := unix.Open(deep, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	require.NoError(t, err)
	for range 25 { // more than 4096 bytes of path
		name := strings.Repeat("d", 200)
		require.NoError(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
		fd = next
	}
	file, err := unix.Openat(fd, "bottom", unix.O_CREAT|unix.O_WRONLY, 0o640)
	require.NoError(t, err)
	_, err = unix.Write(file, []byte("deep"))
	require.NoError(t, err)
	require.NoError(t, unix.Close(file))
	require.NoError(t, unix.Close(fd))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	cwd, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Chdir(dir))
	require.NoError(t, unix.Bind(sock, &unix.SockaddrUnix{Name: "socket"}))
	require.NoError(t, os.Chdir(cwd))
	require.NoError(t, unix.Close(sock))
	old := time.Unix(1_000_000_000, 123_456_789)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "plain"), old, old))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "empty dir"), old, old))
	return []string{"pipe", "socket"}
}

func requireClass(t testing.TB, class sandbox.Class, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, class, sandbox.ClassOf(err), "%v", err)
}

func allocated(info os.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }
