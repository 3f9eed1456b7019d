// This file kills a process at every step of taking, restoring and collecting, and looks at what it leaves.

package checkpoint

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
)

// A doomed process is the test binary with these in its environment.
const (
	doomWhat  = "SANDBOX_DOOM"       // what it does
	doomStore = "SANDBOX_DOOM_STORE" // on which store
	doomDir   = "SANDBOX_DOOM_DIR"   // on which folder
	doomID    = "SANDBOX_DOOM_ID"    // to which checkpoint
	doomAt    = "SANDBOX_DOOM_AT"    // it dies at this step; 0: at none, and tells them
)

// Doomed does what a doomed process is for and never returns.
func Doomed() {
	at, err := strconv.Atoi(os.Getenv(doomAt))
	if err != nil {
		panic(err)
	}
	var steps atomic.Int64
	fault := func(step string) error {
		if at == 0 {
			fmt.Println(step)
		}
		if steps.Add(1) != int64(at) {
			return nil
		}
		fmt.Println("died at", step)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	if err := doom(os.Getenv(doomWhat), fault); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("done")
	os.Exit(0)
}

func doom(what string, fault func(string) error) error {
	ctx := context.Background()
	s, err := Open(Options{Dir: os.Getenv(doomStore), Reserve: -1, Fault: fault})
	if err != nil {
		return err
	}
	w, err := s.Folder(os.Getenv(doomDir))
	if err != nil {
		return err
	}
	switch what {
	case "take":
		_, err = s.Take(ctx, w, TakeOptions{Parent: os.Getenv(doomID), Pin: &Ref{Session: "s1", At: time.Unix(1, 0)}})
	case "onto":
		_, err = s.RestoreOnto(ctx, os.Getenv(doomID), w, RestoreOptions{EffectID: "e1", Pin: &Ref{Session: "s1"}})
	case "merge":
		base, theirs, _ := strings.Cut(os.Getenv(doomID), " ")
		_, err = s.Merge(ctx, w, MergeOptions{Base: base, Theirs: theirs, EffectID: "e1", Pin: &Ref{Session: "s1"}, Git: GitMerge})
	case "derive":
		_, _, err = s.Derive(ctx, os.Getenv(doomID), DeriveOptions{Drop: dropDeep, Pin: &Ref{Session: "s1", At: time.Unix(1, 0)}})
	case "empty":
		err = s.RestoreEmpty(ctx, os.Getenv(doomID), w, "e1")
	case "collect":
		_, err = s.GC(ctx, GCOptions{All: true})
	}
	return err
}

func doomed(what, store, dir, id string, at int) ([]byte, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), doomWhat+"="+what, doomStore+"="+store, doomDir+"="+dir, doomID+"="+id, doomAt+"="+strconv.Itoa(at), "GOMAXPROCS=2")
	return cmd.Output()
}

// stepsOf returns the steps to die at: in the full suite all of them, else the first and the last of each name.
func stepsOf(t *testing.T, what, store, dir, id string) []int {
	t.Helper()
	out, err := doomed(what, store, dir, id, 0)
	require.NoError(t, err)
	names := strings.Fields(string(out))
	require.Equal(t, "done", names[len(names)-1])
	names = names[:len(names)-1]
	var at []int
	for i, name := range names {
		if os.Getenv("SANDBOX_TEST_FULL") == "1" || slices.Index(names, name) == i || !slices.Contains(names[i+1:], name) {
			at = append(at, i+1)
		}
	}
	return at
}

// runDoomed runs a doomed process and returns where it died, "" when it did not.
func runDoomed(t *testing.T, what, store, dir, id string, at int) string {
	t.Helper()
	out, err := doomed(what, store, dir, id, at)
	line, _, _ := bufio.NewReader(strings.NewReader(string(out))).ReadLine()
	if err == nil {
		require.Equal(t, "done", string(line))
		return ""
	}
	require.Contains(t, string(line), "died at", "%s", out)
	return strings.TrimPrefix(string(line), "died at ")
}

// scene is a folder with a checkpoint, and changes since.
func scene(t *testing.T) (s *Store, dir string, first Info) {
	t.Helper()
	s, dir = newStore(t), t.TempDir()
	for _, name := range []string{"changed", "deleted", "typed", "d/kept", "mode", "linked"} {
		write(t, dir, name, "the old content of "+name)
	}
	require.NoError(t, os.Link(filepath.Join(dir, "linked"), filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("old", filepath.Join(dir, "symlink")))
	first, err := s.Take(context.Background(), folder(t, s, dir), TakeOptions{Pin: &Ref{Session: "s1", At: time.Unix(0, 1)}})
	require.NoError(t, err)
	write(t, dir, "changed", "the new content")
	require.NoError(t, os.Remove(filepath.Join(dir, "deleted")))
	require.NoError(t, os.Remove(filepath.Join(dir, "typed")))
	write(t, dir, "typed/inside", "new")
	write(t, dir, "x/y/made", "new")
	require.NoError(t, os.Chmod(filepath.Join(dir, "mode"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(dir, "link")))
	write(t, dir, "link", "no link any more")
	require.NoError(t, os.Remove(filepath.Join(dir, "symlink")))
	require.NoError(t, os.Symlink("new", filepath.Join(dir, "symlink")))
	return s, dir, first
}

// eachStep runs what with a process that dies at its first step, at its second, and so on, each on a scene of its own.
func eachStep(t *testing.T, what string, check func(t *testing.T, s *Store, dir string, first Info, at string)) {
	t.Helper()
	s, dir, first := scene(t)
	for _, n := range stepsOf(t, what, s.opts.Dir, dir, first.ID) {
		s, dir, first := scene(t)
		at := runDoomed(t, what, s.opts.Dir, dir, first.ID, n)
		check(t, openStore(t, s.opts.Dir), dir, first, at)
	}
}

func requireWhole(t *testing.T, s *Store, at string) []string {
	t.Helper()
	ids, err := s.ids()
	require.NoError(t, err)
	for _, id := range ids {
		require.NoError(t, s.Verify(context.Background(), id), "died at %s", at)
	}
	refs, err := s.allRefs()
	require.NoError(t, err, "died at %s", at)
	for _, r := range refs {
		require.Contains(t, ids, r.Checkpoint, "died at %s", at)
	}
	for _, pattern := range []string{"*/tmp-*", "*/*/tmp-*", "tmp-*"} {
		left, err := filepath.Glob(filepath.Join(s.opts.Dir, pattern))
		require.NoError(t, err)
		require.Empty(t, left, "died at %s", at)
	}
	return ids
}

func TestKilledWhileTaking(t *testing.T) {
	eachStep(t, "take", func(t *testing.T, s *Store, dir string, first Info, at string) {
		requireWhole(t, s, at)
		info, err := s.Take(context.Background(), folder(t, s, dir), TakeOptions{Parent: first.ID, Pin: &Ref{Session: "s1", At: time.Unix(1, 0)}})
		require.NoError(t, err, "died at %s", at)
		refs, err := s.List("s1", "")
		require.NoError(t, err)
		require.Len(t, refs, 2, "died at %s: taken again it is the same one", at)
		require.Equal(t, []string{first.ID, info.ID}, []string{refs[0].Checkpoint, refs[1].Checkpoint})
		requireWhole(t, s, at)
	})
}

func TestKilledWhileRestoring(t *testing.T) {
	steps := map[string]bool{}
	_, wasDir, _ := scene(t)
	was := snapshot(t, wasDir, false)
	eachStep(t, "onto", func(t *testing.T, s *Store, dir string, first Info, at string) {
		steps[at] = true
		requireWhole(t, s, at)
		out, err := s.RestoreOnto(context.Background(), first.ID, folder(t, s, dir), RestoreOptions{EffectID: "e1", Pin: &Ref{Session: "s1"}})
		require.NoError(t, err, "died at %s", at)
		require.Empty(t, out.Kept, "died at %s", at)
		after := take(t, s, dir)
		diff, err := s.Diff(context.Background(), first.ID, after.ID, DiffOptions{})
		require.NoError(t, err)
		require.Empty(t, diff.Files, "died at %s", at)
		require.NotContains(t, strings.Join(keys(snapshot(t, dir, false)), " "), ".sandbox", "died at %s", at)

		_, err = s.RestoreOnto(context.Background(), out.Undo, folder(t, s, dir), RestoreOptions{})
		require.NoError(t, err)
		require.Equal(t, was, snapshot(t, dir, false), "died at %s, undone", at)
	})
	for _, step := range []string{"begin", "put", "ready", "sync", "step", "clean", "manifest-rename", "ref-rename", "pack-rename", "index-rename"} {
		require.True(t, steps[step], step)
	}
}

// TestKilledAndNotRepeated looks at the tree when nobody repeats the restore: it is as it was, or as it shall be.
func TestKilledAndNotRepeated(t *testing.T) {
	_, wasDir, _ := scene(t)
	was := snapshot(t, wasDir, false)
	eachStep(t, "onto", func(t *testing.T, s *Store, dir string, first Info, at string) {
		require.NoError(t, folder(t, s, dir).Recover(context.Background()))
		now := snapshot(t, dir, false)
		if !maps.Equal(now, was) {
			after := take(t, s, dir)
			diff, err := s.Diff(context.Background(), first.ID, after.ID, DiffOptions{})
			require.NoError(t, err)
			require.Empty(t, diff.Files, "died at %s", at)
		}
		require.NotContains(t, strings.Join(keys(now), " "), ".sandbox", "died at %s", at)
	})
}

func dropDeep(path string, _ *tree.Entry) string {
	return strings.Repeat("too deep", strings.Count(path, "/"))
}

// mergeScene is a folder, and the two checkpoints between which something changed that is to come to it.
func mergeScene(t *testing.T) (f *fork, ids string) {
	t.Helper()
	f = newFork(t, func(dir string) {
		for _, path := range []string{"both", "theirs", "gone", "d/gone", "git/.git/HEAD", "mine"} {
			write(t, dir, path, ten)
		}
	})
	write(t, f.there, "both", ten+"11\n")
	write(t, f.there, "theirs", "new")
	write(t, f.there, "new/x", "new")
	write(t, f.there, "git/.git/HEAD", "new")
	rm(t, f.there, "gone")
	rm(t, f.there, "d")
	write(t, f.dir, "both", "0\n"+ten)
	write(t, f.dir, "mine", "mine")
	return f, f.base.ID + " " + f.theirs().ID
}

func TestKilledWhileMerging(t *testing.T) {
	f, ids := mergeScene(t)
	was := snapshot(t, f.dir, false)
	_, err := doomed("merge", f.s.opts.Dir, f.dir, ids, 0)
	require.NoError(t, err)
	want := snapshot(t, f.dir, false)
	require.Equal(t, "0\n"+ten+"11\n", f.text("both"))
	f, ids = mergeScene(t)
	for _, n := range stepsOf(t, "merge", f.s.opts.Dir, f.dir, ids) {
		f, ids := mergeScene(t)
		at := runDoomed(t, "merge", f.s.opts.Dir, f.dir, ids, n)
		f.s = openStore(t, f.s.opts.Dir)
		requireWhole(t, f.s, at)
		if n%2 == 0 { // also when the collector comes in between
			_, err := f.s.GC(t.Context(), GCOptions{})
			require.NoError(t, err, "died at %s", at)
		}
		f.w = folder(t, f.s, f.dir)
		base, theirs, _ := strings.Cut(ids, " ")
		o := MergeOptions{Base: base, Theirs: theirs, EffectID: "e1", Pin: &Ref{Session: "s1"}, Git: GitMerge}
		out := f.merge(o)
		require.Equal(t, want, snapshot(t, f.dir, false), "died at %s", at)
		require.Equal(t, "merged both, removed d, removed d/gone, changed git/.git/HEAD, removed gone, added new, added new/x, changed theirs", brief(out), "died at %s", at)
		require.Equal(t, out, f.merge(o), "died at %s: repeated", at)
		f.back(out.Undo, RestoreOptions{})
		undone := snapshot(t, f.dir, false)
		require.Equal(t, want["git/.git/HEAD"], undone["git/.git/HEAD"])
		undone["git/.git/HEAD"] = was["git/.git/HEAD"]
		require.Equal(t, was, undone, "died at %s, undone", at)
	}
}

func TestKilledWhileDeriving(t *testing.T) {
	f, _ := mergeScene(t)
	for _, n := range stepsOf(t, "derive", f.s.opts.Dir, f.dir, f.base.ID) {
		f, _ := mergeScene(t)
		at := runDoomed(t, "derive", f.s.opts.Dir, f.dir, f.base.ID, n)
		s := openStore(t, f.s.opts.Dir)
		requireWhole(t, s, at)
		_, left, err := s.Derive(t.Context(), f.base.ID, DeriveOptions{Drop: dropDeep, Pin: &Ref{Session: "s1", At: time.Unix(1, 0)}})
		require.NoError(t, err, "died at %s", at)
		require.Len(t, left, 2, "died at %s", at)
		refs, err := s.List("s1", "")
		require.NoError(t, err)
		require.Len(t, refs, 1, "died at %s: derived again it is the same one", at)
		requireWhole(t, s, at)
	}
}

func TestKilledWhileFillingAFolder(t *testing.T) {
	s, _, first := scene(t)
	for _, n := range stepsOf(t, "empty", s.opts.Dir, t.TempDir(), first.ID) {
		to := t.TempDir()
		at := runDoomed(t, "empty", s.opts.Dir, to, first.ID, n)
		require.NoError(t, s.RestoreEmpty(context.Background(), first.ID, folder(t, s, to), "e1"), "died at %s", at)
		require.Equal(t, first.Root, take(t, s, to).Root, "died at %s", at)
	}
}

func TestKilledWhileCollecting(t *testing.T) {
	for name, prepare := range map[string]func(s *Store, dir string){
		"a pack to go": func(s *Store, dir string) { take(t, s, dir) },
		"small packs to be joined": func(s *Store, dir string) {
			for i := range 18 {
				write(t, dir, "n", strconv.Itoa(i))
				_, err := s.Take(t.Context(), folder(t, s, dir), TakeOptions{Pin: &Ref{Session: "s1", Turn: i + 1}})
				require.NoError(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir, first := scene(t)
			prepare(s, dir)
			same := t.TempDir()
			require.NoError(t, os.CopyFS(filepath.Join(same, "try"), os.DirFS(s.opts.Dir)))
			for _, n := range stepsOf(t, "collect", filepath.Join(same, "try"), dir, first.ID) {
				store := filepath.Join(same, strconv.Itoa(n))
				require.NoError(t, os.CopyFS(store, os.DirFS(s.opts.Dir)))
				at := runDoomed(t, "collect", store, dir, first.ID, n)
				s := openStore(t, store)
				require.Contains(t, requireWhole(t, s, at), first.ID)
				out, err := s.GC(context.Background(), GCOptions{All: true})
				require.NoError(t, err, "died at %s", at)
				ids := requireWhole(t, s, at)
				require.Len(t, ids, out.Left)
				require.Contains(t, ids, first.ID)
			}
		})
	}
}
