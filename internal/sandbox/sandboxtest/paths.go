// These cases are about paths: which name what, and that none leads outside.

package sandboxtest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var pathCases = []testCase{
	{name: "policy", run: followsThePathPolicy},
	{name: "outside is never touched", run: neverTouchesTheOutside},
	{name: "a link is described, not followed", run: describesLinks},
	{name: "a link is removed, not followed", run: removesLinks},
	{name: "odd names", run: takesOddNames},
	{name: "special files", real: true, run: refusesSpecialFiles},
	{name: "swapped links", real: true, run: neverFollowsSwappedLinks},
	{name: "deep trees", real: true, run: goesDeep},
}

// outside returns a directory outside the workspace with a file "secret" in it.
func (e *env) outside() string {
	e.Helper()
	if e.Simulated {
		return "/outside"
	}
	return strings.TrimSpace(e.succeed(`d=$(mktemp -d) && printf secret > "$d/secret" && echo "$d"`))
}

func (e *env) secretIsSafe(outside string) {
	e.Helper()
	if !e.Simulated {
		require.Equal(e, "secret/secret\n", e.succeed("cd "+outside+" && ls -A | tr '\\n' / && cat secret && echo && rm -r "+outside))
	}
}

func followsThePathPolicy(e *env) {
	root, outside := e.root(), e.outside()
	e.put("dir/f", "inside")
	e.succeed("ln -s dir/f in; ln -s dir indir; ln -s ../dir/f dir/up; ln -s loop loop; ln -s none dangling; ln -s indir/../dir/f twice")
	e.succeed("ln -s " + outside + "/secret out; ln -s " + outside + " outdir; ln -s ../../../../../../../../../.. relout; ln -s " + root + "/" + e.at("dir/f") + " absin")
	cases := map[string]sandbox.Class{
		"dir/f": "", "./dir//f": "", "dir/../dir/f": "", "x/../dir/f": "", "in": "", "indir/f": "", "dir/up": "", "indir/up": "", "twice": "",
		"dir": sandbox.ClassInvalid, "": sandbox.ClassInvalid, "a\x00b": sandbox.ClassInvalid, strings.Repeat("x", 300): sandbox.ClassInvalid,
		"none": sandbox.ClassNotFound, "dangling": sandbox.ClassNotFound, "dir/f/x": sandbox.ClassNotFound, "none/x": sandbox.ClassNotFound,
		"out": sandbox.ClassDenied, "outdir/secret": sandbox.ClassDenied, "relout/etc": sandbox.ClassDenied,
		"absin": sandbox.ClassDenied, "loop": sandbox.ClassDenied, "loop/x": sandbox.ClassDenied,
	}
	full := map[string]sandbox.Class{
		root + "/" + e.at("dir/f"): "", root + "/./" + e.at("in"): "", root: sandbox.ClassInvalid, ".": sandbox.ClassInvalid,
		"..": sandbox.ClassDenied, "../x": sandbox.ClassDenied, e.dir + "/../../x": sandbox.ClassDenied, "/": sandbox.ClassDenied,
		"/etc/passwd": sandbox.ClassDenied, outside + "/secret": sandbox.ClassDenied, root + "x/f": sandbox.ClassDenied, root + "/../x": sandbox.ClassDenied,
	}
	for name, want := range cases {
		full[e.dir+"/"+name] = want
	}
	for name, want := range full {
		f, err := e.box.ReadFile(e.Context(), name, 0, 100)
		e.class(want, err, fmt.Sprintf("read %q", name))
		if want == "" {
			require.Equal(e, "inside", string(f.Data), name)
		}
		if want == sandbox.ClassDenied {
			e.refusesEverywhere(name)
		}
	}
	e.secretIsSafe(outside)
}

// refusesEverywhere checks that no method takes a path that leads outside.
func (e *env) refusesEverywhere(name string) {
	e.Helper()
	ctx := e.Context()
	e.class(sandbox.ClassDenied, e.apply(sandbox.Edit{Path: name, Before: "*", Content: []byte("x")}), "write "+name)
	_, err := e.box.List(ctx, name, 1, 10)
	require.Error(e, err, "list %s", name)
	_, err = e.box.Search(ctx, sandbox.Query{Path: name, Pattern: "secret"})
	require.Error(e, err, "search %s", name)
	require.NotContains(e, err.Error(), "secret\x00")
}

func neverTouchesTheOutside(e *env) {
	outside := e.outside()
	e.succeed("ln -s " + outside + " d; ln -s " + outside + "/secret f; ln -s " + outside + "/new new")
	for name, edit := range map[string]sandbox.Edit{
		"a new file":     {Path: "d/new", Content: []byte("x")},
		"a changed file": {Path: "d/secret", Before: "*", Content: []byte("x")},
		"a removed file": {Path: "d/secret", Before: "*", Delete: true},
		"a linked file":  {Path: "f", Before: "*", Content: []byte("x")},
		"a dangling one": {Path: "new", Before: "*", Content: []byte("x")},
		"a new folder":   {Path: "d/a/b", Content: []byte("x")},
	} {
		edit.Path = e.at(edit.Path)
		e.class(sandbox.ClassDenied, e.apply(edit), name)
	}
	e.secretIsSafe(outside)
}

func describesLinks(e *env) {
	e.put("f", "12345")
	e.succeed("ln -s f good; ln -s /etc/passwd out; ln -s none dangling; ln -s loop loop; mkdir d; ln -s d dir")
	for name, target := range map[string]string{"good": "f", "out": "/etc/passwd", "dangling": "none", "loop": "loop", "dir": "d"} {
		entry, err := e.box.Stat(e.Context(), e.at(name))
		require.NoError(e, err, name)
		require.Equal(e, e.at(name), entry.Path)
		require.Equal(e, fs.ModeSymlink, entry.Mode.Type())
		require.Equal(e, target, entry.Target)
	}
	entry, err := e.box.Stat(e.Context(), e.at("f"))
	require.NoError(e, err)
	require.True(e, entry.Mode.IsRegular())
	require.EqualValues(e, 5, entry.Size)
	require.Empty(e, entry.Target)
	require.False(e, entry.Mtime.IsZero())
	entry, err = e.box.Stat(e.Context(), e.at("d"))
	require.NoError(e, err)
	require.True(e, entry.Mode.IsDir())
	_, err = e.box.Stat(e.Context(), e.at("missing"))
	e.class(sandbox.ClassNotFound, err)
	_, err = e.box.Stat(e.Context(), "../x")
	e.class(sandbox.ClassDenied, err)
	entry, err = e.box.Stat(e.Context(), "")
	require.NoError(e, err)
	require.Equal(e, ".", entry.Path)
}

func removesLinks(e *env) {
	e.put("f", "target")
	e.put("d/x", "below")
	e.succeed("ln -s f file; ln -s d dir; ln -s none dangling; ln -s /etc/passwd out; ln -s self self")
	for _, name := range []string{"file", "dir", "dangling", "out", "self"} {
		require.NoError(e, e.apply(sandbox.Edit{Path: e.at(name), Before: "*", Delete: true}), name)
		_, err := e.box.Stat(e.Context(), e.at(name))
		e.class(sandbox.ClassNotFound, err, name)
	}
	require.Equal(e, "target", e.get("f"))
	require.Equal(e, "below", e.get("d/x"))
}

// oddNames are names that careless programs split, glob, decode, normalise or take for options.
var oddNames = []string{
	"-rf", "--exclude=x", " lead", "trail ", "new\nline", "tab\t", "quo\"te'", `back\slash`, `C:\x`, strings.Repeat("n", 255), "é", "e\u0301",
	"*", "[a]", "{a,b}", "$x", "`x`", "a;b", "a&b", "\u2028", "\u202e", "~", "...", "#", "%2e%2e", "\x01", "\x7f",
}

func takesOddNames(e *env) {
	names := slices.Clone(oddNames)
	if e.caps.ByteExact && !strings.Contains(e.dir, "\xff") {
		names = append(names, "\xff\xfe", "a\x80b")
	}
	slices.Sort(names)
	var edits []sandbox.Edit
	for _, n := range names {
		edits = append(edits, sandbox.Edit{Path: e.at("odd") + "/" + n, Content: []byte("needle " + n)})
	}
	require.NoError(e, e.apply(edits...))
	l, err := e.box.List(e.Context(), e.at("odd"), 1, 0)
	require.NoError(e, err)
	var got []string
	for _, entry := range l.Entries {
		got = append(got, path.Base(entry.Path))
		f, err := e.box.ReadFile(e.Context(), entry.Path, 0, 1000)
		require.NoError(e, err, "%q", entry.Path)
		require.Equal(e, "needle "+path.Base(entry.Path), string(f.Data))
		_, err = e.box.Stat(e.Context(), entry.Path)
		require.NoError(e, err, "%q", entry.Path)
	}
	require.Equal(e, names, got)
	r, err := e.box.Search(e.Context(), sandbox.Query{Path: e.at("odd"), Pattern: "^needle"})
	require.NoError(e, err)
	require.Len(e, r.Matches, len(names))
	for i := range edits {
		edits[i].Before, edits[i].Delete, edits[i].Content = hash(string(edits[i].Content)), true, nil
	}
	require.NoError(e, e.apply(edits...))
	l, err = e.box.List(e.Context(), e.at("odd"), 1, 0)
	require.NoError(e, err)
	require.Empty(e, l.Entries)
}

func refusesSpecialFiles(e *env) {
	e.succeed("mkfifo fifo; ln -s fifo link; ln -s /dev/zero zero")
	for _, name := range []string{"fifo", "link", "zero"} {
		_, err := e.box.ReadFile(e.Context(), e.at(name), 0, 10)
		e.class(sandbox.ClassDenied, err, name)
		e.class(sandbox.ClassDenied, e.apply(sandbox.Edit{Path: e.at(name), Before: "*", Content: []byte("x")}), name)
		_, err = e.box.List(e.Context(), e.at(name), 1, 10)
		require.Error(e, err, name)
		_, err = e.box.Stat(e.Context(), e.at(name))
		require.NoError(e, err, name)
	}
	entry, err := e.box.Stat(e.Context(), e.at("fifo"))
	require.NoError(e, err)
	require.Equal(e, fs.ModeNamedPipe, entry.Mode.Type())
	r, err := e.box.Search(e.Context(), sandbox.Query{Path: e.dir, Pattern: "x"})
	require.NoError(e, err)
	require.Empty(e, r.Matches)
	require.Equal(e, 3, r.Skipped)
}

func neverFollowsSwappedLinks(e *env) {
	outside := e.outside()
	e.put("real/secret", "inside")
	id := e.start(sandbox.Command{Script: `echo go; while :; do ln -sfn "$OUT" d; rm -f d; cp -r real d; rm -rf d; done 2>/dev/null`, Env: []string{"OUT=" + outside}})
	e.awaitOutput(id, "go")
	for i := range 200 {
		if f, err := e.box.ReadFile(e.Context(), e.at("d/secret"), 0, 100); err == nil && len(f.Data) > 0 {
			require.Contains(e, []string{"inside", "written"}, string(f.Data))
		}
		_ = e.apply(sandbox.Edit{Path: e.at("d/secret"), Before: "*", Content: []byte("written")})
		_ = e.apply(sandbox.Edit{Path: e.at(fmt.Sprint("d/new", i)), Content: []byte("written")})
	}
	require.NoError(e, e.box.Kill(e.Context(), id))
	e.secretIsSafe(outside)
}

func goesDeep(e *env) {
	e.succeed(`i=0; while [ $i -lt 120 ]; do mkdir dddddddddd && cd dddddddddd && i=$((i+1)); done; printf needle > f`)
	deep := strings.Repeat("dddddddddd/", 120) + "f"
	require.Equal(e, "needle", e.get(deep))
	l, err := e.box.List(e.Context(), e.dir, 1000, 0)
	require.NoError(e, err)
	require.Len(e, l.Entries, 121)
	r, err := e.box.Search(e.Context(), sandbox.Query{Path: e.dir, Pattern: "needle"})
	require.NoError(e, err)
	require.Len(e, r.Matches, 1)
	require.NoError(e, e.apply(sandbox.Edit{Path: e.at(deep), Before: hash("needle"), Content: []byte("found")}))
	require.Equal(e, "found", e.get(deep))
	_, err = e.box.ReadFile(e.Context(), strings.Repeat("d/", 2500), 0, 1)
	require.Error(e, err, "longer than any path may be")
}
