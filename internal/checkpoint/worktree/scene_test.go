// This file sets the tests of changes up: a tree with a change of every kind, processes that make it and die, and a store
// that keeps pictures in memory.

package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

// A doomed process is the test binary with these in its environment.
const (
	doomRoot  = "WORKTREE_DOOM"       // the folder that it changes
	doomState = "WORKTREE_DOOM_STATE" // by which state directory
	doomTo    = "WORKTREE_DOOM_TO"    // to which version
	doomAt    = "WORKTREE_DOOM_AT"    // fault point at which it is stopped: its number, or the first one of a name
	doomHow   = "WORKTREE_DOOM_HOW"   // signal
)

func TestMain(m *testing.M) {
	if os.Getenv(doomRoot) != "" {
		doomed()
	}
	os.Exit(m.Run())
}

// doomed makes a change, sends itself a signal at one step of it, and says how it ended.
func doomed() {
	at := os.Getenv(doomAt)
	how, _ := strconv.Atoi(os.Getenv(doomHow))
	var mu sync.Mutex
	steps := 0
	w := New(Options{Root: os.Getenv(doomRoot), State: os.Getenv(doomState), Fault: func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if steps++; at == step || at == strconv.Itoa(steps) {
			at = ""
			fmt.Println("at", step)
			resumed := make(chan os.Signal, 1)
			signal.Notify(resumed, syscall.SIGCONT)
			_ = syscall.Kill(os.Getpid(), syscall.Signal(how))
			<-resumed // another thread may have got the signal
		}
		return nil
	}})
	o, err := Apply(context.Background(), w, changeTo(os.Getenv(doomTo)), versionContent(os.Getenv(doomTo)), nil)
	switch {
	case err != nil:
		fmt.Println("failed:", err)
	case len(o.Kept) > 0:
		fmt.Println("kept")
	default:
		fmt.Println("done")
	}
	os.Exit(0)
}

// doom returns a doomed process that is not started.
func doom(root, state, to, at string, how syscall.Signal) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), doomRoot+"="+root, doomState+"="+state, doomTo+"="+to, doomAt+"="+at, doomHow+"="+strconv.Itoa(int(how)))
	return cmd
}

const (
	versionOld  = "old"
	sceneFiles  = 12
	versionSize = 300
)

// version is what the files of a version of the scene say.
func version(v string) []byte { return []byte(strings.Repeat(v+"\n", versionSize)) }

func versionEntry(path, v string, mode uint16) *tree.Entry {
	b := version(v)
	return &tree.Entry{Name: filepath.Base(path), Kind: tree.File, Mode: mode, Size: int64(len(b)), Hash: tree.Sum(b)}
}

func versionContent(v string) Content {
	return func(_ *tree.Entry, put func(int64, []byte) error) error { return put(0, version(v)) }
}

// makeScene makes the old version.
func makeScene(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	put := func(path string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, version(versionOld), 0o644))
	}
	for i := range sceneFiles {
		put(fmt.Sprintf("d%d/f%d", i%3, i))
	}
	put("gone")
	put("typed")
	put("mode")
	put("emptied/gone")
	require.NoError(t, os.Symlink(versionOld, filepath.Join(root, "link")))
	return root
}

// changeTo brings the old version to another.
func changeTo(v string) Change {
	c := Change{ID: "to " + v}
	add := func(path string, before, after *tree.Entry) {
		c.Steps = append(c.Steps, Step{Path: path, Before: before, After: after})
	}
	dir := func(name string) *tree.Entry { return &tree.Entry{Name: name, Kind: tree.Dir, Mode: 0o750} }
	link := func(target string) *tree.Entry {
		return &tree.Entry{Name: "link", Kind: tree.Link, Mode: linkMode, Target: target}
	}
	for i := range sceneFiles {
		path := fmt.Sprintf("d%d/f%d", i%3, i)
		add(path, versionEntry(path, versionOld, 0o644), versionEntry(path, v, 0o644))
	}
	add("gone", versionEntry("gone", versionOld, 0o644), nil)
	add("typed", versionEntry("typed", versionOld, 0o644), dir("typed"))
	add("typed/new", nil, versionEntry("new", v, 0o600))
	add("mode", versionEntry("mode", versionOld, 0o644), versionEntry("mode", versionOld, 0o755))
	add("emptied/gone", versionEntry("gone", versionOld, 0o644), nil)
	emptied := dir("emptied")
	emptied.Mode = 0o755
	add("emptied", emptied, nil)
	add("link", link(versionOld), link(v))
	Sort(c.Steps)
	return c
}

// look describes everything in a folder, from outside.
func look(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		text := info.Mode().String()
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			require.NoError(t, err)
			text += " -> " + target
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			text += " " + tree.Sum(b).String()
		}
		out[path[len(root)+1:]] = text
		return nil
	}))
	return out
}

var looks sync.Map // what lookOf has found out, by version

// lookOf describes what the change to a version makes.
func lookOf(t testing.TB, v string) map[string]string {
	t.Helper()
	if known, ok := looks.Load(v); ok {
		return known.(map[string]string)
	}
	made := makeVersion(t, v)
	looks.Store(v, made)
	return made
}

func makeVersion(t testing.TB, v string) map[string]string {
	t.Helper()
	root := makeScene(t)
	if v == versionOld {
		return look(t, root)
	}
	o, err := Apply(t.Context(), New(Options{Root: root, State: t.TempDir()}), changeTo(v), versionContent(v), nil)
	require.NoError(t, err)
	require.Empty(t, o.Kept)
	return look(t, root)
}

// whole tells which of the versions a folder holds.
func whole(t testing.TB, root string, versions ...string) string {
	t.Helper()
	now := look(t, root)
	for _, v := range versions {
		if maps.Equal(now, lookOf(t, v)) {
			return v
		}
	}
	require.Fail(t, "the tree is between", "%v", now)
	return ""
}

func stagesOf(t testing.TB, root string) []string {
	t.Helper()
	stages, err := filepath.Glob(filepath.Join(root, stagePrefix+"*"))
	require.NoError(t, err)
	return stages
}

// memory is a store of one picture.
type memory struct {
	mu      sync.Mutex
	objects map[tree.Hash][]byte
	picture *Picture
}

func (m *memory) Known(string) bool  { return false }
func (m *memory) Has(tree.Hash) bool { return false }

func (m *memory) Put(h tree.Hash, b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[h] = append([]byte(nil), b...)
	return nil
}

func (m *memory) Commit(p Picture) (string, error) {
	m.picture = &p
	return p.Root.String(), nil
}

func newMemory() *memory { return &memory{objects: map[tree.Hash][]byte{}} }

// take pictures a tree.
func take(t testing.TB, w *Tree) *memory {
	t.Helper()
	m := newMemory()
	require.NoError(t, w.Scan(t.Context(), ScanOptions{}, m))
	return m
}

func (m *memory) unfinished() bool {
	for _, n := range m.picture.Notes {
		if n.Reason == tree.Unfinished {
			return true
		}
	}
	return false
}

// versions returns the hashes of the files that a change brings, in the directories of the picture whose names begin
// with d.
func (m *memory) versions() (map[tree.Hash]bool, error) {
	out := map[tree.Hash]bool{}
	top, err := tree.DecodeDir(m.objects[m.picture.Root])
	for _, d := range top {
		if d.Kind != tree.Dir || d.Name[0] != 'd' {
			continue
		}
		files, ferr := tree.DecodeDir(m.objects[d.Hash])
		err = errors.Join(err, ferr)
		for _, f := range files {
			out[f.Hash] = true
		}
	}
	return out, err
}
