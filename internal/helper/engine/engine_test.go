// This file tests what only shows inside the engine: edits cut short at every step, and what git would ignore.

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

const dieVerb = "die-while-applying"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == SupervisorVerb:
		os.Exit(Supervise())
	case len(os.Args) > 1 && os.Args[1] == dieVerb:
		dieWhileApplying(os.Args[2], os.Args[3], os.Args[4])
	}
	os.Exit(m.Run())
}

func mkdir(p string) error { return os.Mkdir(p, 0o700) }

func day(i int) time.Time { return time.Unix(int64(i)*86400, 0) }

func newEngine(t *testing.T, state, root string) *Engine {
	t.Helper()
	e, err := New(Options{State: state, Root: root})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// sample is a workspace, edits of every kind on it, and what they make of it.
func sample(t *testing.T, root string) (before, after map[string]string) {
	t.Helper()
	before = map[string]string{"changed": "1", "deleted": "2", "same": "3", "d/kept": "4"}
	for p, text := range before {
		p = filepath.Join(root, p)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return before, map[string]string{"changed": "new 1", "same": "3", "d/kept": "4", "d/new": "5", "x/y/made": "6"}
}

func sampleEdits() []sandbox.Edit {
	return []sandbox.Edit{
		{Path: "changed", Before: hashBytes([]byte("1")), Content: []byte("new 1")},
		{Path: "deleted", Before: hashBytes([]byte("2")), Delete: true},
		{Path: "same", Before: "*", Content: []byte("3")},
		{Path: "d/new", Content: []byte("5")},
		{Path: "x/y/made", Before: "*", Content: []byte("6")},
	}
}

// nth makes the n-th step of an Apply do what do returns.
func nth(n string, do func() error) func(string) error {
	count := 0
	return func(string) error {
		count++
		if fmt.Sprint(count) == n {
			return do()
		}
		return nil
	}
}

func dieWhileApplying(state, root, n string) {
	e, err := New(Options{State: state, Root: root})
	if err == nil {
		e.fault = nth(n, func() error {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		})
		err = e.Apply(context.Background(), "e", sampleEdits())
	}
	fmt.Println(err)
	os.Exit(0)
}

// files returns the content of every entry below root; directories end in a slash.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		out[strings.TrimPrefix(p, root+"/")] = string(b)
		return err
	}))
	return out
}

func TestApplyFailsAtEveryStep(t *testing.T) {
	steps := 0
	for n := 1; ; n++ {
		root := t.TempDir()
		before, after := sample(t, root)
		e := newEngine(t, t.TempDir(), root)
		injected := errors.New("injected")
		hit := false
		e.fault = nth(fmt.Sprint(n), func() error { hit = true; return injected })
		err := e.Apply(t.Context(), "e", sampleEdits())
		if !hit {
			require.NoError(t, err)
			break
		}
		steps++
		if err == nil { // after the commit
			require.Equal(t, after, withoutTemps(files(t, root)))
			continue
		}
		require.ErrorIs(t, err, injected)
		require.Equal(t, before, files(t, root), "step %d", n)
		require.NoDirExists(t, filepath.Join(root, "x"))
		e.fault = nil
		require.NoError(t, e.Apply(t.Context(), "e", sampleEdits()), "a passing failure is no outcome")
		require.Equal(t, after, files(t, root))
	}
	require.Greater(t, steps, 8)
}

func withoutTemps(m map[string]string) map[string]string {
	for p := range m {
		if strings.HasPrefix(filepath.Base(p), tempPrefix) {
			delete(m, p)
		}
	}
	return m
}

func TestApplyDiesAtEveryStep(t *testing.T) {
	for n := 1; ; n++ {
		root, state := t.TempDir(), t.TempDir()
		before, after := sample(t, root)
		out, err := exec.Command("/proc/self/exe", dieVerb, state, root, fmt.Sprint(n)).Output()
		if err == nil {
			require.Equal(t, "<nil>\n", string(out))
			require.Equal(t, after, files(t, root))
			require.Greater(t, n, 9)
			return
		}
		e := newEngine(t, state, root)
		got := files(t, root)
		if _, err := os.Stat(e.effectPath("e")); err == nil {
			require.Equal(t, after, got, "step %d", n)
		} else {
			require.Equal(t, before, got, "step %d", n)
			require.NoDirExists(t, filepath.Join(root, "x"))
		}
		left, err := os.ReadDir(filepath.Join(state, journalDir))
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, e.Apply(t.Context(), "e", sampleEdits()))
		require.Equal(t, after, files(t, root))
	}
}

func TestUndoSparesWhatTheUserChanged(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	sample(t, root)
	// dies before the commit, with everything in place; then the user saves
	out, err := exec.Command("/proc/self/exe", dieVerb, state, root, "11").Output()
	require.Error(t, err, string(out))
	for _, p := range []string{"changed", "deleted", "d/new"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, p), []byte("mine"), 0o644))
	}
	newEngine(t, state, root)
	require.Equal(t, map[string]string{"changed": "mine", "deleted": "mine", "d/new": "mine", "same": "3", "d/kept": "4"}, files(t, root))
}

func TestSaveDuringSwapIsPutBack(t *testing.T) {
	root := t.TempDir()
	sample(t, root)
	e := newEngine(t, t.TempDir(), root)
	saved := false
	e.fault = func(step string) error {
		if step == "swap" && !saved { // after every check
			saved = true
			for _, p := range []string{"changed", "deleted", "d/new"} {
				require.NoError(t, os.WriteFile(filepath.Join(root, p), []byte("mine"), 0o644))
			}
		}
		return nil
	}
	err := e.Apply(t.Context(), "e", sampleEdits())
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
	require.Equal(t, map[string]string{"changed": "mine", "deleted": "mine", "d/new": "mine", "same": "3", "d/kept": "4"}, files(t, root))
}

func TestExchangeWithoutSupport(t *testing.T) {
	root := t.TempDir()
	sample(t, root)
	r, err := os.OpenRoot(root)
	require.NoError(t, err)
	defer r.Close()
	tr := &transaction{root: r}
	require.NoError(t, tr.exchangeByLink("changed", "deleted"))
	require.Equal(t, map[string]string{"changed": "2", "deleted": "1", "same": "3", "d/kept": "4"}, files(t, root))
	require.ErrorIs(t, tr.moveByLink("changed", "deleted"), os.ErrExist)
	require.NoError(t, tr.moveByLink("changed", "moved"))
	require.Equal(t, map[string]string{"moved": "2", "deleted": "1", "same": "3", "d/kept": "4"}, files(t, root))
}
