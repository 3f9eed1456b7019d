// This file tests that edits happen together, once, and never over somebody else's change.

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// tree returns the content of every file below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[strings.TrimPrefix(p, dir+"/")] = content(t, p)
		}
		return err
	}))
	return out
}

func TestApply(t *testing.T) {
	sb, ws := newSandbox(t)
	ctx := t.Context()
	write(t, filepath.Join(ws, "old"), "old")
	write(t, filepath.Join(ws, "gone"), "gone")
	require.NoError(t, os.Chmod(filepath.Join(ws, "old"), 0o751))
	require.NoError(t, os.Symlink("old", filepath.Join(ws, "link")))
	require.NoError(t, os.Symlink("gone", filepath.Join(ws, "link2")))
	edits := []sandbox.Edit{
		{Path: "link", Before: sum("old"), Content: []byte("new")},
		{Path: "gone", Before: sum("gone"), Delete: true},
		{Path: "link2", Before: "*", Delete: true},
		{Path: "a/b/c", Content: []byte("made")},
		{Path: "run.sh", Content: []byte("#!"), Mode: 0o755},
		{Path: "any", Before: "*", Content: []byte{}},
		{Path: "never", Before: "*", Delete: true},
	}
	require.NoError(t, sb.Apply(ctx, "e1", edits))
	want := map[string]string{"old": "new", "a/b/c": "made", "run.sh": "#!", "any": ""}
	require.Equal(t, want, tree(t, ws))
	for name, mode := range map[string]os.FileMode{"old": 0o751, "run.sh": 0o755, "any": 0o644} {
		info, err := os.Stat(filepath.Join(ws, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
	target, err := os.Readlink(filepath.Join(ws, "link"))
	require.NoError(t, err)
	require.Equal(t, "old", target)

	// the same id is the same effect, also after the file has changed and the helper is another one
	write(t, filepath.Join(ws, "old"), "user")
	require.NoError(t, sb.Apply(ctx, "e1", edits))
	require.NoError(t, sb.Apply(ctx, "e1", nil))
	require.Equal(t, "user", content(t, filepath.Join(ws, "old")))
}

func TestApplyRefusesWholly(t *testing.T) {
	sb, ws := newSandbox(t)
	write(t, filepath.Join(ws, "f"), "f")
	write(t, filepath.Join(ws, "d", "x"), "x")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(ws, "out")))
	before := tree(t, ws)
	good := sandbox.Edit{Path: "f", Before: sum("f"), Content: []byte("changed")}
	cases := map[string]struct {
		bad  sandbox.Edit
		want sandbox.Class
	}{
		"changed":         {sandbox.Edit{Path: "d/x", Before: sum("y"), Content: []byte("n")}, sandbox.ClassConflict},
		"exists":          {sandbox.Edit{Path: "d/x", Content: []byte("n")}, sandbox.ClassConflict},
		"missing":         {sandbox.Edit{Path: "d/y", Before: sum("y"), Content: []byte("n")}, sandbox.ClassConflict},
		"delete missing":  {sandbox.Edit{Path: "d/y", Before: sum("y"), Delete: true}, sandbox.ClassConflict},
		"delete nothing":  {sandbox.Edit{Path: "d/x", Delete: true}, sandbox.ClassInvalid},
		"directory":       {sandbox.Edit{Path: "d", Before: "*", Content: []byte("n")}, sandbox.ClassInvalid},
		"below a file":    {sandbox.Edit{Path: "f/x", Content: []byte("n")}, sandbox.ClassNotFound},
		"twice":           {sandbox.Edit{Path: "./f", Before: "*", Content: []byte("n")}, sandbox.ClassInvalid},
		"outside":         {sandbox.Edit{Path: "../f", Before: "*", Content: []byte("n")}, sandbox.ClassDenied},
		"outside by link": {sandbox.Edit{Path: "out", Before: "*", Content: []byte("n")}, sandbox.ClassDenied},
		"no name":         {sandbox.Edit{Path: "new/", Content: []byte("n")}, sandbox.ClassInvalid},
	}
	for name, c := range cases {
		for i, edits := range [][]sandbox.Edit{{good, c.bad}, {c.bad, good}} {
			id := fmt.Sprint(name, i)
			err := sb.Apply(t.Context(), id, edits)
			require.Equal(t, c.want, class(err), name)
			require.Equal(t, before, tree(t, ws), name)
			again := sb.Apply(t.Context(), id, []sandbox.Edit{good})
			require.Equal(t, class(err), class(again), "a repeated id repeats its outcome")
			require.Equal(t, err.Error(), again.Error())
		}
	}
	require.Equal(t, before, tree(t, ws))
}

func TestApplyRaces(t *testing.T) {
	sb, ws := newSandbox(t)
	write(t, filepath.Join(ws, "n"), "0")
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 20 {
		wg.Go(func() {
			err := sb.Apply(t.Context(), fmt.Sprint("e", i), []sandbox.Edit{{Path: "n", Before: sum("0"), Content: fmt.Append(nil, i+1)}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if class(err) != sandbox.ClassConflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, won)
	require.NotEqual(t, "0", content(t, filepath.Join(ws, "n")))
}

// A user who saves all the time must never lose a save to an edit that was made from an older content.
func TestApplyNeverLosesASave(t *testing.T) {
	sb, ws := newSandbox(t)
	path := filepath.Join(ws, "f")
	write(t, path, "user 0")
	for i := range 60 {
		old := content(t, path)
		var wg sync.WaitGroup
		saved := fmt.Sprint("user ", i+1)
		wg.Go(func() {
			tmp := path + ".save"
			if os.WriteFile(tmp, []byte(saved), 0o644) != nil || os.Rename(tmp, path) != nil {
				t.Error("save failed")
			}
		})
		err := sb.Apply(t.Context(), fmt.Sprint("e", i), []sandbox.Edit{{Path: "f", Before: sum(old), Content: fmt.Append(nil, "agent ", i)}})
		wg.Wait()
		if now := content(t, path); now != saved {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("agent ", i), now)
			require.Fail(t, "the save came before the edit, which should have been a conflict, or after it and should have stayed")
		}
	}
	require.Equal(t, map[string]string{"f": content(t, path)}, tree(t, ws))
}

func TestLargeApply(t *testing.T) {
	sb, ws := newSandbox(t)
	var edits []sandbox.Edit
	for i := range 200 {
		edits = append(edits, sandbox.Edit{Path: fmt.Sprintf("d%d/f%d", i%7, i), Content: []byte(strings.Repeat("x", 50_000))})
	}
	require.NoError(t, sb.Apply(t.Context(), "e", edits))
	require.Len(t, tree(t, ws), 200)
	require.Equal(t, sandbox.ClassLimit, class(sb.Apply(t.Context(), "big", []sandbox.Edit{{Path: "big", Content: make([]byte, 65<<20)}})))
}
