// This file merges into workspaces: rules path by path, conflicts, and how they are decided.

package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

// fork is a workspace and a copy of it that somebody else works on.
type fork struct {
	*taken
	there string // folder of the copy
	base  Info
}

// newFork copies what prepare makes.
func newFork(t *testing.T, prepare func(dir string)) *fork {
	t.Helper()
	return newForkIn(t, fastDir(t), prepare)
}

func newForkIn(t *testing.T, place string, prepare func(dir string)) *fork {
	t.Helper()
	k := &taken{t: t, s: openStore(t, filepath.Join(place, "store")), dir: filepath.Join(place, "here")}
	f := &fork{taken: k, there: filepath.Join(place, "there")}
	for _, dir := range []string{f.dir, f.there} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	f.w = folder(t, f.s, f.dir)
	prepare(f.dir)
	f.base = f.take()
	require.NoError(t, f.s.RestoreEmpty(context.Background(), f.base.ID, folder(t, f.s, f.there), ""))
	return f
}

func (f *fork) theirs() Info { f.t.Helper(); return take(f.t, f.s, f.there) }

func (f *fork) merge(o MergeOptions) Merged {
	f.t.Helper()
	if o.Theirs == "" {
		o.Base, o.Theirs = f.base.ID, f.theirs().ID
	}
	out, err := f.s.Merge(context.Background(), f.w, o)
	require.NoError(f.t, err)
	return out
}

func brief(m Merged) string {
	var out []string
	for _, f := range m.Files {
		over := ""
		if f.Overruled {
			over = "!"
		}
		out = append(out, string(f.Kind)+over+" "+f.Path)
	}
	for _, k := range m.Kept {
		out = append(out, "kept "+k.Path)
	}
	for _, k := range m.Conflicts {
		out = append(out, "conflict "+k.Path)
	}
	return strings.Join(out, ", ")
}

func rm(t testing.TB, dir, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(dir, path)))
}

func chmod(t testing.TB, dir, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(filepath.Join(dir, path), mode))
}

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func TestMergeRules(t *testing.T) {
	type edit func(t *testing.T, dir string)
	nothing := func(*testing.T, string) {}
	text := func(path, text string) edit { return func(t *testing.T, dir string) { write(t, dir, path, text) } }
	gone := func(path string) edit { return func(t *testing.T, dir string) { rm(t, dir, path) } }
	mode := func(path string, m os.FileMode) edit {
		return func(t *testing.T, dir string) { chmod(t, dir, path, m) }
	}
	link := func(path, target string) edit {
		return func(t *testing.T, dir string) {
			rm(t, dir, path)
			require.NoError(t, os.Symlink(target, filepath.Join(dir, path)))
		}
	}
	instead := func(path, inside string) edit { // a directory
		return func(t *testing.T, dir string) {
			rm(t, dir, path)
			write(t, dir, path+"/"+inside, inside)
		}
	}
	all := func(edits ...edit) edit {
		return func(t *testing.T, dir string) {
			for _, e := range edits {
				e(t, dir)
			}
		}
	}
	first, last := strings.Replace(ten, "1\n", "one\n", 1), strings.Replace(ten, "10\n", "ten\n", 1)
	for name, c := range map[string]struct {
		ours, theirs edit
		mine, over   string            // brief outcomes with Mine and with Theirs; "" is as with Mine
		want         map[string]string // with Mine; "": not there
		wantOver     map[string]string // with Theirs
	}{
		"only they": {
			nothing, all(text("f", "new"), text("made/x", "x"), gone("g"), mode("h", 0o755)),
			"changed f, removed g, changed h, added made, added made/x", "",
			map[string]string{"f": "new", "made/x": "x", "g": ""},
			nil,
		},
		"only we":                       {all(text("f", "new"), text("made", "x"), gone("g")), nothing, "", "", map[string]string{"f": "new", "made": "x", "g": ""}, nil},
		"both the same":                 {all(text("f", "new"), gone("g")), all(text("f", "new"), gone("g")), "", "", map[string]string{"f": "new", "g": ""}, nil},
		"two places of a text":          {text("f", first), text("f", last), "merged f", "", map[string]string{"f": strings.Replace(last, "1\n", "one\n", 1)}, nil},
		"one place of a text":           {text("f", first), text("f", strings.Replace(ten, "1\n", "eins\n", 1)), "conflict f", "changed! f", map[string]string{"f": first}, map[string]string{"f": strings.Replace(ten, "1\n", "eins\n", 1)}},
		"text and permissions":          {text("f", first), mode("f", 0o755), "changed f", "", map[string]string{"f": first}, nil},
		"permissions and text":          {mode("f", 0o755), text("f", last), "changed f", "", map[string]string{"f": last}, nil},
		"permissions of both":           {mode("f", 0o755), mode("f", 0o600), "conflict f", "changed! f", nil, nil},
		"changed and removed":           {text("f", "mine"), gone("f"), "conflict f", "removed! f", map[string]string{"f": "mine"}, map[string]string{"f": ""}},
		"removed and changed":           {gone("f"), text("f", "new"), "conflict f", "added! f", map[string]string{"f": ""}, map[string]string{"f": "new"}},
		"made by both":                  {text("n", "mine"), text("n", "new"), "conflict n", "changed! n", map[string]string{"n": "mine"}, map[string]string{"n": "new"}},
		"binary":                        {text("f", "\x00mine"), text("f", "\x00new"), "conflict f", "changed! f", map[string]string{"f": "\x00mine"}, map[string]string{"f": "\x00new"}},
		"links":                         {link("f", "a"), link("f", "b"), "conflict f", "changed! f", nil, nil},
		"link for an unchanged file":    {nothing, link("f", "b"), "changed f", "", nil, nil},
		"directory removed":             {nothing, gone("d"), "removed d, removed d/e, removed d/e/x, removed d/y", "", map[string]string{"d": ""}, nil},
		"directory removed, more in it": {text("d/e/mine", "mine"), gone("d"), "removed d/e/x, removed d/y, kept d, kept d/e", "", map[string]string{"d/e/mine": "mine", "d/y": ""}, nil},
		"directory removed, one changed": {
			text("d/e/x", "mine"), gone("d"), "removed d/y, kept d, kept d/e, conflict d/e/x", "removed d, removed d/e, removed! d/e/x, removed d/y",
			map[string]string{"d/e/x": "mine"},
			map[string]string{"d": ""},
		},
		"file for a directory":         {nothing, all(gone("d"), text("d", "new")), "changed d, removed d/e, removed d/e/x, removed d/y", "", map[string]string{"d": "new"}, nil},
		"file for a directory in use":  {text("d/mine", "mine"), all(gone("d"), text("d", "new")), "removed d/e, removed d/e/x, removed d/y, conflict d", "changed! d, removed d/e, removed d/e/x, removed! d/mine, removed d/y", map[string]string{"d/mine": "mine"}, map[string]string{"d": "new"}},
		"directory for a file":         {nothing, instead("f", "x"), "changed f, added f/x", "", map[string]string{"f/x": "x"}, nil},
		"directory for a changed file": {text("f", "mine"), instead("f", "x"), "conflict f", "changed! f, added f/x", map[string]string{"f": "mine"}, map[string]string{"f/x": "x"}},
		"file for a directory they go on in": {
			all(gone("d"), text("d", "mine")), all(text("d/new", "new"), text("d/y", "new")), "conflict d/new, conflict d/y", "changed! d, added d/new, added! d/y",
			map[string]string{"d": "mine"},
			map[string]string{"d/new": "new", "d/y": "new", "d/e": ""},
		},
		"removed directory they go on in": {gone("d"), text("d/e/new", "new"), "added d, added d/e, added d/e/new", "", map[string]string{"d/e/new": "new", "d/y": ""}, nil},
		"both a directory for a file":     {instead("f", "mine"), instead("f", "x"), "added f/x", "", map[string]string{"f/mine": "mine", "f/x": "x"}, nil},
		"permissions of directories":      {mode("d", 0o700), mode("d", 0o750), "kept d", "", nil, nil},
		"removed and its permissions":     {mode("d", 0o700), gone("d"), "removed d/e, removed d/e/x, removed d/y, kept d", "", map[string]string{"d/y": ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, on := range []OnConflict{Fail, Mine, Theirs} {
				f := newFork(t, func(dir string) {
					write(t, dir, "f", ten)
					write(t, dir, "g", "g")
					write(t, dir, "h", "h")
					write(t, dir, "d/e/x", "x")
					write(t, dir, "d/y", "y")
				})
				c.ours(t, f.dir)
				c.theirs(t, f.there)
				was := snapshot(t, f.dir, true)
				dry := f.merge(MergeOptions{OnConflict: on, DryRun: true})
				require.Equal(t, was, snapshot(t, f.dir, true))
				require.False(t, dry.Applied)
				out := f.merge(MergeOptions{OnConflict: on})
				require.Equal(t, brief(dry), brief(out))
				require.Equal(t, dry.Bytes, out.Bytes)
				want, files := c.mine, c.want
				if on == Theirs && c.over != "" {
					want, files = c.over, c.wantOver
				}
				require.Equal(t, want, brief(out))
				if on == Fail && len(out.Conflicts) > 0 {
					require.False(t, out.Applied)
					require.Empty(t, out.Undo)
					require.Equal(t, was, snapshot(t, f.dir, true))
					continue
				}
				require.True(t, out.Applied)
				for path, text := range files {
					if text == "" {
						require.NoFileExists(t, filepath.Join(f.dir, path))
					} else {
						require.Equal(t, text, f.text(path), path)
					}
				}
				for _, k := range append(out.Kept, out.Conflicts...) {
					require.NotEmpty(t, k.Reason)
				}
				f.back(out.Undo, RestoreOptions{})
				require.Equal(t, withoutTimes(was), snapshot(t, f.dir, false), "undone")
			}
		})
	}
}

func withoutTimes(m map[string]string) map[string]string {
	out := map[string]string{}
	for path, text := range m {
		if at := strings.LastIndex(text, " 20"); at > 0 {
			text = text[:at] + text[at+len(strings.SplitN(text[at+1:], " ", 2)[0])+1:]
		}
		out[path] = text
	}
	return out
}

func TestMergedPermissionsAndText(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "f", ten) })
	write(t, f.dir, "f", "0\n"+ten)
	chmod(t, f.dir, "f", 0o755)
	write(t, f.there, "f", ten+"11\n")
	require.Equal(t, "merged f", brief(f.merge(MergeOptions{})))
	require.Equal(t, "0\n"+ten+"11\n", f.text("f"))
	info, err := os.Stat(filepath.Join(f.dir, "f"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode())
}

func TestWhatNoPictureHoldsIsNeverTouched(t *testing.T) {
	excludes := TakeOptions{Excludes: []string{"secret", "cache"}}
	k, ctx := newTaken(t), context.Background()
	write(t, k.dir, "d/f", "1")
	write(t, k.dir, "d/secret", "mine")
	write(t, k.dir, "e/secret", "mine")
	base, err := k.s.Take(ctx, k.w, excludes)
	require.NoError(t, err)
	there := t.TempDir()
	require.NoError(t, k.s.RestoreEmpty(ctx, base.ID, folder(t, k.s, there), ""))
	rm(t, there, "d")
	rm(t, there, "e")
	write(t, there, "e", "a file now")
	write(t, there, "secret", "theirs")
	write(t, there, "cache/x", "theirs")
	theirs := take(t, k.s, there) // by somebody who excludes nothing
	out, err := k.s.Merge(ctx, k.w, MergeOptions{Base: base.ID, Theirs: theirs.ID, Take: excludes, OnConflict: Theirs})
	require.NoError(t, err)
	require.Equal(t, "added cache, added cache/x, removed d/f, added secret, kept d, conflict e", brief(out))
	require.Equal(t, "mine", k.text("d/secret"))
	require.Equal(t, "mine", k.text("e/secret"))

	write(t, k.dir, "pipe", "1")
	base = k.take()
	rm(t, k.dir, "pipe")
	require.NoError(t, unix.Mkfifo(filepath.Join(k.dir, "pipe"), 0o600))
	write(t, there, "pipe", "2")
	out, err = k.s.Merge(ctx, k.w, MergeOptions{Base: base.ID, Theirs: take(t, k.s, there).ID, Paths: []string{"pipe"}, OnConflict: Theirs})
	require.NoError(t, err)
	require.Equal(t, "kept pipe", brief(out))
}

func TestHeldPathsAreNeverWritten(t *testing.T) {
	for _, on := range []OnConflict{Fail, Mine, Theirs} {
		f := newFork(t, func(dir string) {
			for _, name := range []string{"changed", "gone/held", "gone/other", "same", "mine", "dir"} {
				write(t, dir, name, "1")
			}
		})
		write(t, f.there, "changed", "2")
		rm(t, f.there, "gone")
		rm(t, f.there, "dir")
		write(t, f.there, "dir/x", "2")
		write(t, f.there, "new", "2")
		write(t, f.there, "free", "2")
		write(t, f.dir, "mine", "3")
		held := map[string]string{}
		for _, path := range []string{"changed", "gone/held", "same", "mine", "dir", "new"} {
			held[path] = "it has unsaved changes"
		}
		out := f.merge(MergeOptions{OnConflict: on, Held: held})
		require.Equal(t, "added free, removed gone/other, kept gone, conflict changed, conflict dir, conflict gone/held, conflict new", brief(out))
		for _, k := range out.Conflicts {
			require.Equal(t, "it has unsaved changes", k.Reason)
		}
		require.Equal(t, on != Fail, out.Applied)
		require.Equal(t, "1", f.text("changed"))
		require.Equal(t, "1", f.text("gone/held"))
		require.NoFileExists(t, filepath.Join(f.dir, "new"))
	}
}

func TestMergeOntoWhatNobodyKnows(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "same", "1")
	write(t, k.dir, "other", "1")
	there := t.TempDir()
	write(t, there, "same", "1")
	write(t, there, "other", "2")
	write(t, there, "new", "2")
	out, err := k.s.Merge(context.Background(), k.w, MergeOptions{Theirs: take(t, k.s, there).ID, OnConflict: Mine})
	require.NoError(t, err)
	require.Equal(t, "added new, conflict other", brief(out))
	require.EqualValues(t, 1, out.Bytes)
}

func TestPathsThatAreNone(t *testing.T) {
	f := newFork(t, func(dir string) { write(t, dir, "d/f", "1"); write(t, dir, "g", "1") })
	write(t, f.there, "d/f", "2")
	write(t, f.there, "g", "2")
	o := MergeOptions{Base: f.base.ID, Theirs: f.theirs().ID}
	for path, class := range map[string]sandbox.Class{
		"nowhere": sandbox.ClassNotFound, "d/f/x": sandbox.ClassNotFound, "../x": sandbox.ClassInvalid, "/d": sandbox.ClassInvalid,
		"/": sandbox.ClassInvalid, "": sandbox.ClassInvalid, "d/../g": sandbox.ClassInvalid, "a\x00": sandbox.ClassInvalid,
	} {
		o.Paths = []string{path}
		_, err := f.s.Merge(context.Background(), f.w, o)
		requireClass(t, class, err)
		var e *sandbox.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, path, e.Path)
	}
	rm(t, f.dir, "d")
	require.Equal(t, "conflict d/f", brief(f.merge(MergeOptions{Base: o.Base, Theirs: o.Theirs, Paths: []string{"./d/"}, DryRun: true})))
	out := f.back(f.base.ID, RestoreOptions{Paths: []string{"d/f"}})
	require.Equal(t, []string{"d", "d/f"}, out.Restored)
	require.Equal(t, "changed g", brief(f.merge(MergeOptions{Base: o.Base, Theirs: o.Theirs, Paths: []string{"g"}})))
}
