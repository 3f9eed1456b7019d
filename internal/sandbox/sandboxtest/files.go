// These cases are about reading, listing and searching files.

package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var fileCases = []testCase{
	{name: "read", run: readsFiles},
	{name: "read any bytes", run: readsAnyBytes},
	{name: "read much", real: true, run: readsLargeFiles},
	{name: "read what grows", real: true, run: readsGrowingFiles},
	{name: "read without permission", real: true, run: readsOnlyWhatItMay},
	{name: "list", run: listsTrees},
	{name: "list much", real: true, run: listsManyFiles},
	{name: "search", run: searches},
	{name: "search what git ignores", real: true, run: searchesAsGit},
	{name: "search refuses", run: refusesSearches},
	{name: "search long lines", run: cutsLongLines},
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func readsFiles(e *env) {
	require.NoError(e, e.apply(
		sandbox.Edit{Path: e.at("f"), Content: []byte("0123456789"), Mode: 0o640}, sandbox.Edit{Path: e.at("empty"), Content: nil},
	))
	for _, c := range []struct {
		at   int64
		n    int
		want string
		all  bool
	}{{0, 100, "0123456789", true}, {0, 10, "0123456789", true}, {0, 9, "012345678", false}, {3, 4, "3456", false}, {20, 4, "", false}, {10, 4, "", false}, {1, 1 << 30, "123456789", false}} {
		f, err := e.box.ReadFile(e.Context(), e.at("f"), c.at, c.n)
		require.NoError(e, err)
		require.Equal(e, c.want, string(f.Data), "%+v", c)
		require.EqualValues(e, 10, f.Size)
		require.Equal(e, fs.FileMode(0o640), f.Mode)
		want := ""
		if c.all {
			want = hash("0123456789")
		}
		require.Equal(e, want, f.Hash, "%+v", c)
	}
	f, err := e.box.ReadFile(e.Context(), e.at("empty"), 0, 0)
	require.NoError(e, err)
	require.Equal(e, hash(""), f.Hash)
	for _, c := range [][2]int{{-1, 4}, {0, -4}} {
		_, err = e.box.ReadFile(e.Context(), e.at("f"), int64(c[0]), c[1])
		e.class(sandbox.ClassInvalid, err)
	}
}

func readsAnyBytes(e *env) {
	all := make([]byte, 1024)
	for i := range all {
		all[i] = byte(i)
	}
	e.put("f", string(all))
	require.Equal(e, string(all), e.get("f"))
}

func readsLargeFiles(e *env) {
	e.succeed("printf head > f; truncate -s 3G f; printf tail >> f")
	f, err := e.box.ReadFile(e.Context(), e.at("f"), 0, 100<<20)
	require.NoError(e, err)
	require.Len(e, f.Data, 8<<20)
	require.EqualValues(e, 3<<30+4, f.Size)
	require.Equal(e, "head\x00", string(f.Data[:5]))
	f, err = e.box.ReadFile(e.Context(), e.at("f"), 3<<30, 100)
	require.NoError(e, err)
	require.Equal(e, "tail", string(f.Data))
	e.succeed("rm f")
}

func readsGrowingFiles(e *env) {
	id := e.start(sh("echo go; i=0; while :; do echo 0123456 >> f; done"))
	e.awaitOutput(id, "go")
	eventually(e.T, "that the file is there", func() bool { _, err := e.box.Stat(e.Context(), e.at("f")); return err == nil })
	for range 50 {
		f, err := e.box.ReadFile(e.Context(), e.at("f"), 0, 1<<20)
		require.NoError(e, err)
		require.GreaterOrEqual(e, f.Size, int64(len(f.Data)))
		require.Equal(e, strings.Repeat("0123456\n", len(f.Data)/8), string(f.Data))
		if f.Hash != "" {
			require.Equal(e, hash(string(f.Data)), f.Hash)
		}
	}
	require.NoError(e, e.box.Kill(e.Context(), id))
}

func readsOnlyWhatItMay(e *env) {
	if e.succeed("id -u") == "0\n" {
		e.Skip("this user may read everything")
	}
	e.succeed("echo x > f; chmod 0 f; mkdir d; echo x > d/f; chmod 0 d")
	_, err := e.box.ReadFile(e.Context(), e.at("f"), 0, 1)
	e.class(sandbox.ClassDenied, err)
	_, err = e.box.List(e.Context(), e.at("d"), 1, 0)
	e.class(sandbox.ClassDenied, err)
	l, err := e.box.List(e.Context(), e.dir, 5, 0)
	require.NoError(e, err, "what cannot be read is listed without its entries")
	require.Len(e, l.Entries, 2)
	r, err := e.box.Search(e.Context(), sandbox.Query{Path: e.dir, Pattern: "x"})
	require.NoError(e, err)
	require.Equal(e, 2, r.Skipped)
	e.succeed("chmod 700 d")
}

// list returns the paths below a directory, relative to that of the case.
func (e *env) list(dir string, depth, limit int) (names []string, truncated bool) {
	e.Helper()
	l, err := e.box.List(e.Context(), e.at(dir), depth, limit)
	require.NoError(e, err)
	names = []string{}
	for _, entry := range l.Entries {
		names = append(names, strings.TrimPrefix(entry.Path, e.dir+"/"))
	}
	require.True(e, slices.IsSorted(names))
	return names, l.Truncated
}

func listsTrees(e *env) {
	for _, name := range []string{"a/x", "a/b/c/d", "a.b", "a-b", "z", ".hidden/f"} {
		e.put(name, "x")
	}
	e.succeed("ln -s a link; mkdir empty .git; echo x > .git/HEAD")
	all := []string{".git", ".hidden", ".hidden/f", "a", "a-b", "a.b", "a/b", "a/b/c", "a/b/c/d", "a/x", "empty", "link", "z"}
	for _, c := range []struct {
		dir          string
		depth, limit int
		want         []string
		cut          bool
	}{
		{".", 10, 0, all, false},
		{"", 1, 0, []string{".git", ".hidden", "a", "a-b", "a.b", "empty", "link", "z"}, false},
		{".", 0, 0, []string{".git", ".hidden", "a", "a-b", "a.b", "empty", "link", "z"}, false},
		{"a", 2, 0, []string{"a/b", "a/b/c", "a/x"}, false},
		{"empty", 5, 0, []string{}, false},
		{".git", 5, 0, []string{".git/HEAD"}, false},
		{".", 10, 3, all[:3], true},
		{".", 10, len(all), all, false},
		{".", 10, len(all) - 1, all[:len(all)-1], true},
		{".", 10, -1, all, false},
		{"link", 1, 0, []string{"link/b", "link/x"}, false},
	} {
		names, cut := e.list(c.dir, c.depth, c.limit)
		require.Equal(e, c.want, names, "%+v", c)
		require.Equal(e, c.cut, cut, "%+v", c)
	}
	l, err := e.box.List(e.Context(), e.dir, 1, 0)
	require.NoError(e, err)
	for _, entry := range l.Entries {
		stat, err := e.box.Stat(e.Context(), entry.Path)
		require.NoError(e, err)
		require.True(e, stat.Mtime.Equal(entry.Mtime))
		stat.Mtime = entry.Mtime
		require.Equal(e, stat, entry, "list and stat say the same")
	}
	_, err = e.box.List(e.Context(), e.at("none"), 1, 0)
	e.class(sandbox.ClassNotFound, err)
	_, err = e.box.List(e.Context(), e.at("z"), 1, 0)
	require.Error(e, err, "a file")
}

func listsManyFiles(e *env) {
	count := 25_000
	if full() {
		count = 100_000
	}
	e.succeed(fmt.Sprintf("mkdir many && cd many && seq %d | xargs touch", count))
	l, err := e.box.List(e.Context(), e.at("many"), 1, 1<<30)
	require.NoError(e, err)
	require.True(e, l.Truncated)
	require.LessOrEqual(e, len(l.Entries), 20_000)
	require.Greater(e, len(l.Entries), 5_000)
	e.succeed("rm -r many")
}

// find returns the matches of a query, below the directory of the case, as path:line:text.
func (e *env) find(q sandbox.Query) []string {
	e.Helper()
	q.Path = e.at(q.Path)
	r, err := e.box.Search(e.Context(), q)
	require.NoError(e, err)
	out := []string{}
	for _, m := range r.Matches {
		out = append(out, fmt.Sprintf("%s:%d:%s", strings.TrimPrefix(m.Path, e.dir+"/"), m.Line, m.Text))
	}
	return out
}

func searches(e *env) {
	for name, text := range map[string]string{
		"main.go": "package main\n\nfunc main() { hello() }\r\n", "sub/deep/x.go": "hello there\nHELLO\n", "sub/x.txt": "say hello",
		"sub-x": "hello", "a.b": "hello.there", "bin": "hello\x00", ".env": "hello", ".hidden/config": "hello",
	} {
		e.put(name, text)
	}
	e.succeed("ln -s sub dirlink")
	require.Equal(e, []string{
		".env:1:hello", "a.b:1:hello.there", "main.go:3:func main() { hello() }", "sub/deep/x.go:1:hello there", "sub/x.txt:1:say hello", "sub-x:1:hello",
	}, e.find(sandbox.Query{Pattern: "hello"}))
	require.Equal(e, []string{"sub/deep/x.go:1:hello there", "sub/deep/x.go:2:HELLO"}, e.find(sandbox.Query{Pattern: "(?i)^hello", Glob: "**/*.go"}))
	require.Equal(e, []string{"a.b:1:hello.there"}, e.find(sandbox.Query{Pattern: "o.t", Literal: true}))
	require.Equal(e, []string{"sub/x.txt:0:"}, e.find(sandbox.Query{Path: "sub", Glob: "*.txt"}))
	require.Equal(e, []string{"sub/x.txt:1:say hello"}, e.find(sandbox.Query{Path: "sub/x.txt", Pattern: `hello$`}))
	require.Equal(e, []string{"sub/deep/x.go:1:hello there"}, e.find(sandbox.Query{Path: "sub", Pattern: "hello", Limit: 1, Glob: "deep/**"}))
	require.Contains(e, e.find(sandbox.Query{Pattern: "hello", Hidden: true}), ".hidden/config:1:hello")
	require.Empty(e, e.find(sandbox.Query{Pattern: "nowhere"}))
	r, err := e.box.Search(e.Context(), sandbox.Query{Path: e.dir, Pattern: "hello", Limit: 2})
	require.NoError(e, err)
	require.True(e, r.Truncated)
	require.Len(e, r.Matches, 2)
	r, err = e.box.Search(e.Context(), sandbox.Query{Path: e.dir, Pattern: "hello"})
	require.NoError(e, err)
	require.False(e, r.Truncated)
	require.Equal(e, 2, r.Skipped, "what is binary, and a link to a directory")
}

func searchesAsGit(e *env) {
	for name, text := range map[string]string{
		"node_modules/m.js": "hello", "build/out.txt": "hello", "sub/build/keep.txt": "hello", "sub/skip.log": "hello", "sub/keep.log": "hello",
		".gitignore": "# c\nnode_modules/\nbuild/\n!sub/build/\n", "sub/.gitignore": "*.log\n!keep.log\n", "big": strings.Repeat("hello\n", 1<<20),
	} {
		e.put(name, text)
	}
	require.Equal(e, []string{"sub/build/keep.txt:1:hello", "sub/keep.log:1:hello"}, e.find(sandbox.Query{Pattern: "hello"}))
	require.Contains(e, e.find(sandbox.Query{Pattern: "hello", Hidden: true}), "node_modules/m.js:1:hello")
}

func refusesSearches(e *env) {
	for _, q := range []sandbox.Query{{Pattern: "("}, {Glob: "["}, {Glob: "{a"}} {
		_, err := e.box.Search(e.Context(), q)
		e.class(sandbox.ClassInvalid, err, q)
	}
	_, err := e.box.Search(e.Context(), sandbox.Query{Path: e.at("none"), Pattern: "x"})
	e.class(sandbox.ClassNotFound, err)
}

func cutsLongLines(e *env) {
	e.put("f", "x"+strings.Repeat("é", 1000)+"\nxy\n")
	require.Equal(e, []string{"f:1:x" + strings.Repeat("é", 249), "f:2:xy"}, e.find(sandbox.Query{Pattern: "^x"}))
}
