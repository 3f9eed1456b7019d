// This file tests what a tree remembers on disk, and how steps are ordered.

package worktree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

func entry(name string, kind tree.Kind) *tree.Entry {
	e := &tree.Entry{Name: name, Kind: kind, Mode: 0o644}
	if kind == tree.Link {
		e.Target = "x"
	}
	return e
}

func steps() []Step {
	return []Step{
		{Path: "d/f", After: entry("f", tree.File)},
		{Path: "d", After: entry("d", tree.Dir)},
		{Path: "d/g", After: entry("g", tree.File), Link: "d/f"},
		{Path: "old", Before: entry("old", tree.Dir)},
		{Path: "old/x", Before: entry("x", tree.Link)},
		{Path: "old-er", Before: entry("old-er", tree.File)},
	}
}

func TestStepsAreSortedAndSurvive(t *testing.T) {
	c := Change{ID: "e\xff1", Fresh: true, Steps: steps()}
	Sort(c.Steps)
	var paths []string
	for _, s := range c.Steps {
		paths = append(paths, s.Path)
	}
	require.Equal(t, []string{"old-er", "old/x", "old", "d", "d/f", "d/g"}, paths)
	again, err := DecodeSteps(EncodeSteps(&c))
	require.NoError(t, err)
	require.Equal(t, c, again)
	o := Outcome{Kept: []Kept{{Path: "bad\xff", Reason: "r", Conflict: true}}}
	require.Equal(t, o, FromWire(ToWire(o)))
}

func TestChangesThatMakeNoSense(t *testing.T) {
	w := New(Options{Root: t.TempDir(), State: t.TempDir()})
	for name, c := range map[string]Change{
		"no id":      {Steps: steps()},
		"outside":    {ID: "e", Steps: []Step{{Path: "../x", After: entry("x", tree.File)}}},
		"absolute":   {ID: "e", Steps: []Step{{Path: "/x", After: entry("x", tree.File)}}},
		"link out":   {ID: "e", Steps: []Step{{Path: "x", After: entry("x", tree.File), Link: "../y"}}},
		"nothing":    {ID: "e", Steps: []Step{{Path: "x"}}},
		"fresh less": {ID: "e", Fresh: true, Steps: []Step{{Path: "x", Before: entry("x", tree.File)}}},
	} {
		_, err := w.Begin(t.Context(), c)
		require.Error(t, err, name)
	}
	_, err := w.Commit(t.Context(), "never begun")
	require.Error(t, err)
	require.NoError(t, w.Abort(t.Context(), "never begun"))
	begun, err := w.Begin(t.Context(), Change{ID: "e", Steps: []Step{{Path: "x", After: &tree.Entry{Name: "x", Kind: tree.File, Size: 3, Hash: tree.Sum([]byte("abc"))}}}})
	require.NoError(t, err)
	require.Nil(t, begun.Outcome)
	require.Error(t, w.Put(t.Context(), "e", []Piece{{Step: 1}}))
	require.Error(t, w.Put(t.Context(), "e", []Piece{{Data: []byte("abcd"), Last: true}}))
	require.Error(t, w.Put(t.Context(), "e", []Piece{{Data: []byte("abx"), Last: true}}))
	_, err = w.Commit(t.Context(), "e")
	require.Error(t, err, "its content is missing")
	other := New(w.opts) // as in another process
	_, err = other.Begin(t.Context(), Change{ID: "f"})
	require.Error(t, err, "one change at a time")
	require.NoError(t, w.Put(t.Context(), "e", []Piece{{Data: []byte("abc"), Last: true}}))
	_, err = w.Commit(t.Context(), "e")
	require.NoError(t, err)
}

func TestCacheSurvives(t *testing.T) {
	kid := &dir{entries: []tree.Entry{*entry("f", tree.File)}, sigs: []sig{{ctime: 5, ino: 7, racy: true}}, hash: tree.Empty}
	c := scanCache{base: "id", root: &dir{
		entries: []tree.Entry{{Name: "d", Kind: tree.Dir, Mode: 0o755}, *entry("l", tree.Link)}, sigs: []sig{{}, {ctime: -1, ino: 1 << 63}}, kids: []*dir{kid},
	}}
	got, err := decodeCache(encodeCache(c, "key"), "key")
	require.NoError(t, err)
	require.Equal(t, c, got)
	_, err = decodeCache(encodeCache(c, "key"), "other")
	require.ErrorIs(t, err, tree.ErrFormat)
}

func FuzzSteps(f *testing.F) {
	f.Add(EncodeSteps(&Change{ID: "e", Steps: steps()}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeSteps(b)
		if err != nil {
			return
		}
		again, err := DecodeSteps(EncodeSteps(&c))
		require.NoError(t, err)
		require.Equal(t, c, again)
		_ = checkChange(&c)
		Sort(c.Steps)
	})
}

func FuzzCache(f *testing.F) {
	f.Add(encodeCache(scanCache{base: "id", root: &dir{entries: []tree.Entry{*entry("f", tree.File)}, sigs: []sig{{}}}}, "key"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := decodeCache(b, "key"); err == nil {
			require.NotNil(t, c.root)
		}
	})
}
