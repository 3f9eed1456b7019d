package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheUsersFilesChangeOnlyWhereTheAgentWrote takes a folder with everything that breaks lesser tools through ten turns.
func TestTheUsersFilesChangeOnlyWhereTheAgentWrote(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		call("write", "apply_patch", `{"patch":"*** Begin Patch\n*** Add File: new/{{turn}}.txt\n+made\n*** End Patch"}`, "Made."),
		call("list", "list", `{"depth":5}`, "Listed."),
		call("find", "search", `{"pattern":"hello"}`, "Found."),
		call("run", "exec_command", `{"command":"cat a.txt; ls -la | head -3"}`, "Ran."),
	))
	real := filepath.Join(i.home, "real")
	require.NoError(t, os.Mkdir(real, 0o755))
	horrors(t, real)
	link := filepath.Join(i.home, "link")
	require.NoError(t, os.Symlink(real, link))
	before := picture(t, real)
	for turn := range 10 {
		s := i.start("ask", "--workspace", link, "--approve", "never", []string{"write", "list", "find", "run", "list"}[turn%5]+" it")
		require.Zero(t, s.wait(), s.describe())
		for _, item := range toolItems(s.durable()) {
			require.Equal(t, "completed", string(item.Status), item.Error)
		}
	}
	after := picture(t, real)
	for name, want := range before {
		require.Equal(t, want, after[name], "%q", name)
		delete(after, name)
	}
	var added []string
	for name := range after {
		added = append(added, name)
	}
	sort.Strings(added)
	require.Equal(t, []string{"new", "new/1.txt", "new/6.txt"}, added)
}

// horrors fills dir with what a real folder may hold.
func horrors(t *testing.T, dir string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode fs.FileMode) {
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		require.NoError(t, os.WriteFile(at(name), []byte(text), mode))
	}
	write("a.txt", "hello\n", 0o644)
	write("crlf.txt", "one\r\ntwo\r\n", 0o600)
	write("script.sh", "#!/bin/sh\n", 0o755)
	write("read-only", "x", 0o444)
	write("unreadable", "x", 0o000)
	write("with space/and\nnewline", "x", 0o644)
	write("back\\slash", "x", 0o644)
	write("-rf", "x", 0o644)
	write("bad\xff\xfename", "x", 0o644)
	write("naïve", "NFC", 0o644)
	write("naïve", "NFD", 0o644)
	write("Case", "x", 0o644)
	write("case", "y", 0o644)
	write(strings.Repeat("n", 255), "x", 0o644)
	write("node_modules/p/index.js", "module.exports = 1", 0o644)
	write(".git/config", "[core]\n", 0o644)
	write("binary", "\x00\x01\x02\xff", 0o644)
	write("empty", "", 0o644)
	require.NoError(t, os.MkdirAll(at("empty-dir"), 0o700))
	require.NoError(t, os.Link(at("a.txt"), at("hard-link")))
	require.NoError(t, os.Symlink("a.txt", at("link")))
	require.NoError(t, os.Symlink("/nowhere", at("dangling")))
	require.NoError(t, os.Symlink("..", at("up")))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o644))
	l, err := net.Listen("unix", at("socket"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	if python, err := exec.LookPath("python3"); err == nil {
		out, err := exec.CommandContext(t.Context(), python, "-m", "venv", "--without-pip", at(".venv")).CombinedOutput()
		require.NoError(t, err, string(out))
	} else {
		t.Log("no python3: the folder has no venv")
	}
}

// picture describes every entry below dir: type, mode, size, mtime, link count, content.
func picture(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if path == dir {
			return nil
		}
		info, err := d.Info()
		require.NoError(t, err)
		name, _ := filepath.Rel(dir, path)
		stat := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprint(info.Mode(), " ", stat.Nlink, " ", info.ModTime().UnixNano(), " ", stat.Ino)
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			text += fmt.Sprintf(" %x", sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			require.NoError(t, err)
			text += " -> " + target
		}
		out[name] = text
		return nil
	})
	require.NoError(t, err)
	return out
}
