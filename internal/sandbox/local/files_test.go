// This file tests that files are read, listed and searched exactly and only within the workspace.

package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestPathPolicy(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	real := t.TempDir()
	alias := filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(real, alias))
	write(t, filepath.Join(real, "dir", "f"), "inside")
	for link, target := range map[string]string{
		"in": "dir/f", "indir": "dir", "dir/up": "../dir/f", "out": filepath.Join(outside, "secret"), "outdir": outside,
		"loop": "loop", "dangling": "none", "relout": "../" + filepath.Base(outside),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(real, link)))
	}
	sb := open(t, newBackend(t), "s1", alias)
	cases := map[string]sandbox.Class{
		"dir/f": "", "./dir//f": "", "dir/../dir/f": "", "x/../dir/f": "", "in": "", "indir/f": "", "dir/up": "",
		alias + "/dir/f": "", real + "/dir/f": "",
		"../x": sandbox.ClassDenied, "..": sandbox.ClassDenied, "dir/../../x": sandbox.ClassDenied,
		"/etc/passwd": sandbox.ClassDenied, outside + "/secret": sandbox.ClassDenied, real + "x/f": sandbox.ClassDenied,
		"out": sandbox.ClassDenied, "outdir/secret": sandbox.ClassDenied, "relout/secret": sandbox.ClassDenied, "loop": sandbox.ClassDenied,
		"none": sandbox.ClassNotFound, "dangling": sandbox.ClassNotFound, "dir/f/x": sandbox.ClassNotFound,
		"dir": sandbox.ClassInvalid, ".": sandbox.ClassInvalid, "": sandbox.ClassInvalid, "a\x00b": sandbox.ClassInvalid,
		strings.Repeat("x", 300): sandbox.ClassInvalid,
	}
	for p, want := range cases {
		f, err := sb.ReadFile(t.Context(), p, 0, 100)
		require.Equal(t, want, class(err), "%q", p)
		if want == "" {
			require.Equal(t, "inside", string(f.Data), p)
			continue
		}
		require.NotContains(t, err.Error(), outside+"\x00")
		if want == sandbox.ClassDenied {
			require.Contains(t, err.Error(), p)
			require.Error(t, sb.Apply(t.Context(), "e"+p, []sandbox.Edit{{Path: p, Before: "*", Content: []byte("x")}}), p)
			_, err = sb.List(t.Context(), p, 1, 10)
			require.Error(t, err, p)
			_, err = sb.Search(t.Context(), sandbox.Query{Path: p, Pattern: "secret"})
			require.Error(t, err, p)
		}
	}
	require.Equal(t, "secret", content(t, filepath.Join(outside, "secret")))
	require.NoFileExists(t, filepath.Join(real, "..", "x"))
	entry, err := sb.Stat(t.Context(), "out")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(outside, "secret"), entry.Target)
	require.NotZero(t, entry.Mode&os.ModeSymlink)
}

func TestReadFile(t *testing.T) {
	sb, ws := newSandbox(t)
	write(t, filepath.Join(ws, "f"), "0123456789")
	write(t, filepath.Join(ws, "empty"), "")
	require.NoError(t, os.Chmod(filepath.Join(ws, "f"), 0o640))
	ctx := t.Context()
	f, err := sb.ReadFile(ctx, "f", 0, 100)
	require.NoError(t, err)
	require.Equal(t, sandbox.FileContent{Data: []byte("0123456789"), Size: 10, Mode: 0o640, Hash: sum("0123456789")}, f)
	f, err = sb.ReadFile(ctx, "f", 3, 4)
	require.NoError(t, err)
	require.Equal(t, "3456", string(f.Data))
	require.Empty(t, f.Hash)
	f, err = sb.ReadFile(ctx, "f", 20, 4)
	require.NoError(t, err)
	require.Empty(t, f.Data)
	f, err = sb.ReadFile(ctx, "empty", 0, 0)
	require.NoError(t, err)
	require.Equal(t, sum(""), f.Hash)
	_, err = sb.ReadFile(ctx, "f", -1, 4)
	require.Equal(t, sandbox.ClassInvalid, class(err))

	require.NoError(t, os.Truncate(filepath.Join(ws, "f"), 20<<20))
	f, err = sb.ReadFile(ctx, "f", 0, 100<<20)
	require.NoError(t, err)
	require.Len(t, f.Data, 8<<20)
	require.Equal(t, int64(20<<20), f.Size)
}

func TestSpecialFilesAreRefusedAtOnce(t *testing.T) {
	sb, ws := newSandbox(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(ws, "fifo"), 0o644))
	l, err := net.Listen("unix", filepath.Join(ws, "sock"))
	require.NoError(t, err)
	defer l.Close()
	for _, name := range []string{"fifo", "sock"} {
		_, err := sb.ReadFile(t.Context(), name, 0, 10)
		require.Equal(t, sandbox.ClassDenied, class(err))
		err = sb.Apply(t.Context(), name, []sandbox.Edit{{Path: name, Before: "*", Content: []byte("x")}})
		require.Equal(t, sandbox.ClassDenied, class(err))
		_, err = sb.List(t.Context(), name, 1, 10)
		require.Error(t, err)
		_, err = sb.Stat(t.Context(), name)
		require.NoError(t, err)
	}
	r, err := sb.Search(t.Context(), sandbox.Query{Pattern: "x"})
	require.NoError(t, err)
	require.Equal(t, 2, r.Skipped)
}

func TestOddNames(t *testing.T) {
	sb, ws := newSandbox(t)
	names := []string{"-rf", "--exclude=x", " lead", "trail ", "new\nline", "quo\"te'", `back\slash`, "\xff\xfe", strings.Repeat("n", 255), "é", "e\u0301", "*", "[a]", "{a,b}", "$x", "\u2028"}
	var edits []sandbox.Edit
	for _, n := range names {
		edits = append(edits, sandbox.Edit{Path: n, Content: []byte("needle " + n)})
	}
	require.NoError(t, sb.Apply(t.Context(), "e1", edits))
	l, err := sb.List(t.Context(), "", 1, 0)
	require.NoError(t, err)
	var got []string
	for _, e := range l.Entries {
		got = append(got, e.Path)
		f, err := sb.ReadFile(t.Context(), e.Path, 0, 1000)
		require.NoError(t, err)
		require.Equal(t, "needle "+e.Path, string(f.Data))
	}
	sort.Strings(names)
	require.Equal(t, names, got)
	r, err := sb.Search(t.Context(), sandbox.Query{Pattern: "^needle"})
	require.NoError(t, err)
	require.Len(t, r.Matches, len(names))
	for i, n := range names {
		edits[i] = sandbox.Edit{Path: n, Before: sum("needle " + n), Delete: true}
	}
	require.NoError(t, sb.Apply(t.Context(), "e2", edits))
	left, err := os.ReadDir(ws)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestList(t *testing.T) {
	sb, ws := newSandbox(t)
	for _, p := range []string{"a/x", "a/b/c/d", "a.b", "a-b", "z", ".hidden/f"} {
		write(t, filepath.Join(ws, p), "x")
	}
	require.NoError(t, os.Symlink("a", filepath.Join(ws, "link")))
	list := func(p string, depth, limit int) ([]string, bool) {
		l, err := sb.List(t.Context(), p, depth, limit)
		require.NoError(t, err)
		out := []string{}
		for _, e := range l.Entries {
			out = append(out, e.Path)
		}
		require.True(t, sort.StringsAreSorted(out))
		return out, l.Truncated
	}
	all, cut := list(".", 10, 0)
	require.Equal(t, []string{".hidden", ".hidden/f", "a", "a-b", "a.b", "a/b", "a/b/c", "a/b/c/d", "a/x", "link", "z"}, all)
	require.False(t, cut)
	top, _ := list("", 1, 0)
	require.Equal(t, []string{".hidden", "a", "a-b", "a.b", "link", "z"}, top)
	two, _ := list("a", 2, 0)
	require.Equal(t, []string{"a/b", "a/b/c", "a/x"}, two)
	some, cut := list(".", 10, 3)
	require.Equal(t, all[:3], some)
	require.True(t, cut)
	exact, cut := list(".", 10, len(all))
	require.Equal(t, all, exact)
	require.False(t, cut)
	_, err := sb.List(t.Context(), "none", 1, 0)
	require.Equal(t, sandbox.ClassNotFound, class(err))
}

func TestSearch(t *testing.T) {
	sb, ws := newSandbox(t)
	for p, text := range map[string]string{
		"main.go": "package main\n\nfunc main() { hello() }\r\n", "sub/deep/x.go": "hello there\nHELLO\n", "sub/x.txt": "say hello",
		"node_modules/m.js": "hello", "build/out.txt": "hello", "sub/build/keep.txt": "hello", "sub/skip.log": "hello", "sub/keep.log": "hello",
		".git/config": "hello", ".gitignore": "# c\nnode_modules/\n/build\n", "sub/.gitignore": "*.log\n!keep.log\n",
		".env": "hello", "bin": "hello\x00", "big": strings.Repeat("hello\n", 1<<20), "a.b": "hello.there",
	} {
		write(t, filepath.Join(ws, p), text)
	}
	require.NoError(t, os.Symlink("sub", filepath.Join(ws, "dirlink")))
	find := func(q sandbox.Query) []string {
		r, err := sb.Search(t.Context(), q)
		require.NoError(t, err)
		out := []string{}
		for _, m := range r.Matches {
			out = append(out, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
		}
		return out
	}
	require.Equal(t, []string{
		".env:1:hello", "a.b:1:hello.there", "main.go:3:func main() { hello() }",
		"sub/build/keep.txt:1:hello", "sub/deep/x.go:1:hello there", "sub/keep.log:1:hello", "sub/x.txt:1:say hello",
	}, find(sandbox.Query{Pattern: "hello"}))
	require.Equal(t, []string{"sub/deep/x.go:1:hello there", "sub/deep/x.go:2:HELLO"}, find(sandbox.Query{Pattern: "(?i)^hello", Glob: "**/*.go"}))
	require.Equal(t, []string{"a.b:1:hello.there"}, find(sandbox.Query{Pattern: "o.t", Literal: true}))
	require.Equal(t, []string{"sub/x.txt:0:"}, find(sandbox.Query{Path: "sub", Glob: "*.txt"}))
	require.Equal(t, []string{"sub/x.txt:1:say hello"}, find(sandbox.Query{Path: "sub/x.txt", Pattern: `hello$`}))
	require.Equal(t, []string{"sub/deep/x.go:1:hello there"}, find(sandbox.Query{Path: "sub", Pattern: "hello", Limit: 1, Glob: "deep/**"}))
	hidden := find(sandbox.Query{Pattern: "hello", Hidden: true})
	require.Contains(t, hidden, ".git/config:1:hello")
	require.Contains(t, hidden, "node_modules/m.js:1:hello")
	r, err := sb.Search(t.Context(), sandbox.Query{Pattern: "hello", Limit: 2})
	require.NoError(t, err)
	require.True(t, r.Truncated)
	r, err = sb.Search(t.Context(), sandbox.Query{Pattern: "hello"})
	require.NoError(t, err)
	require.Equal(t, 3, r.Skipped, "binary, large, and a link to a directory")
	for _, q := range []sandbox.Query{{Pattern: "("}, {Glob: "["}} {
		_, err := sb.Search(t.Context(), q)
		require.Equal(t, sandbox.ClassInvalid, class(err))
	}
}

func TestLinkSwapsNeverLeadOutside(t *testing.T) {
	sb, ws := newSandbox(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "f"), "secret")
	write(t, filepath.Join(ws, "real", "f"), "inside")
	require.NoError(t, sb.Start(t.Context(), "swap", sandbox.Command{Script: fmt.Sprintf(
		`echo go; while :; do ln -sfn %s d; rm -f d; cp -r real d; rm -rf d; done 2>/dev/null`, outside,
	)}))
	awaitOutput(t, sb, "swap", "go")
	for i := range 300 {
		if f, err := sb.ReadFile(t.Context(), "d/f", 0, 100); err == nil && len(f.Data) > 0 {
			require.Contains(t, []string{"inside", "written"}, string(f.Data))
		}
		_ = sb.Apply(t.Context(), fmt.Sprint("e", i), []sandbox.Edit{{Path: "d/f", Before: "*", Content: []byte("written")}})
		if l, err := sb.List(t.Context(), "d", 2, 10); err == nil {
			require.LessOrEqual(t, len(l.Entries), 10)
		}
	}
	require.NoError(t, sb.Kill(t.Context(), "swap"))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "secret", content(t, filepath.Join(outside, "f")))
}
