// This file brings trees back while somebody else is at work on them, and with a store that is not whole.

package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// meddling does something just before a change is committed.
type meddling struct {
	Workspace
	do func()
}

func (m meddling) Commit(ctx context.Context, id string) (worktree.Outcome, error) {
	m.do()
	return m.Workspace.Commit(ctx, id)
}

func (k *taken) back(id string, o RestoreOptions) Restored {
	k.t.Helper()
	out, err := k.s.RestoreOnto(context.Background(), id, k.w, o)
	require.NoError(k.t, err)
	return out
}

func (k *taken) text(path string) string {
	k.t.Helper()
	b, err := os.ReadFile(filepath.Join(k.dir, path))
	require.NoError(k.t, err)
	return string(b)
}

func TestWhatChangesMeanwhileIsKept(t *testing.T) {
	k := newTaken(t)
	for _, name := range []string{"edited", "deleted", "removed", "chmod", "same", "dir/sub/f"} {
		write(t, k.dir, name, "old")
	}
	first := k.take()
	for _, name := range []string{"edited", "deleted", "removed", "chmod", "same", "dir/sub/f"} {
		write(t, k.dir, name, "agent")
	}
	write(t, k.dir, "made", "agent")
	write(t, k.dir, "madetoo", "agent")
	out, err := k.s.RestoreOnto(context.Background(), first.ID, meddling{k.w, func() {
		write(t, k.dir, "edited", "user")
		require.NoError(t, os.Remove(filepath.Join(k.dir, "deleted")))
		require.NoError(t, os.Remove(filepath.Join(k.dir, "removed")))
		write(t, k.dir, "removed", "user's own")
		require.NoError(t, os.Chmod(filepath.Join(k.dir, "chmod"), 0o600))
		write(t, k.dir, "madetoo", "user")
		require.NoError(t, os.RemoveAll(filepath.Join(k.dir, "dir")))
		require.NoError(t, os.Symlink("/etc", filepath.Join(k.dir, "dir")))
	}}, RestoreOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"made", "same"}, out.Restored)
	var kept []string
	for _, c := range out.Kept {
		require.True(t, c.Conflict)
		kept = append(kept, c.Path)
	}
	slices.Sort(kept)
	require.Equal(t, []string{"chmod", "deleted", "dir/sub/f", "edited", "madetoo", "removed"}, kept)
	require.Equal(t, "user", k.text("edited"))
	require.Equal(t, "user's own", k.text("removed"))
	require.Equal(t, "user", k.text("madetoo"))
	require.Equal(t, "old", k.text("same"))
	require.NoFileExists(t, filepath.Join(k.dir, "deleted"))
}

func TestWhatTheUserChangedSinceIsKept(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "agent", "1")
	write(t, k.dir, "user", "1")
	write(t, k.dir, "both", "1")
	write(t, k.dir, "gone", "1")
	first := k.take()
	write(t, k.dir, "agent", "2")
	write(t, k.dir, "both", "2")
	write(t, k.dir, "agents/new", "2")
	seen := k.take()
	write(t, k.dir, "user", "3")
	write(t, k.dir, "both", "3")
	write(t, k.dir, "agents/notes", "3")
	require.NoError(t, os.Remove(filepath.Join(k.dir, "gone")))
	out := k.back(first.ID, RestoreOptions{LastSeen: seen.ID})
	require.Equal(t, []string{"agent", "agents/new"}, out.Restored)
	conflicts := map[string]bool{}
	for _, kept := range out.Kept {
		conflicts[kept.Path] = kept.Conflict
	}
	require.Equal(t, map[string]bool{"user": false, "gone": false, "both": true, "agents": false, "agents/notes": false}, conflicts)
	require.Equal(t, "1", k.text("agent"))
	require.Equal(t, "3", k.text("user"))
	require.Equal(t, "3", k.text("both"))
	require.Equal(t, "3", k.text("agents/notes"))
	require.NoFileExists(t, filepath.Join(k.dir, "gone"))

	out = k.back(out.Undo, RestoreOptions{})
	require.Empty(t, out.Kept)
	require.Equal(t, "2", k.text("agent"))
	require.Equal(t, "2", k.text("agents/new"))
}

func TestOnlySomePathsOrNone(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "a/x", "1")
	write(t, k.dir, "b/x", "1")
	first := k.take()
	write(t, k.dir, "a/x", "2")
	write(t, k.dir, "a/new", "2")
	write(t, k.dir, "b/x", "2")
	was := snapshot(t, k.dir, true)
	out := k.back(first.ID, RestoreOptions{DryRun: true})
	require.Equal(t, []string{"a/new", "a/x", "b/x"}, out.Restored)
	require.Empty(t, out.Undo)
	require.Equal(t, was, snapshot(t, k.dir, true))
	out = k.back(first.ID, RestoreOptions{Paths: []string{"a/"}})
	require.Equal(t, []string{"a/new", "a/x"}, out.Restored)
	require.Equal(t, "2", k.text("b/x"))
	info, err := os.Stat(filepath.Join(k.dir, "b/x"))
	require.NoError(t, err)
	require.Contains(t, was["b/x"], info.ModTime().Format("05.999999999"), "untouched")
}

func TestHardLinks(t *testing.T) {
	k := newTaken(t)
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, k.dir, "a", "linked")
	link := func(from, to string) { require.NoError(t, os.Link(from, to)) }
	at := func(name string) string { return filepath.Join(k.dir, name) }
	link(at("a"), at("b"))
	write(t, k.dir, "out", "old")
	first := k.take()
	was := snapshot(t, k.dir, false)
	require.NoError(t, os.Remove(at("b")))
	write(t, k.dir, "b", "linked") // the same content, but no link any more
	link(at("a"), at("c"))
	link(at("out"), outside)
	write(t, k.dir, "out", "new")
	require.Empty(t, k.back(first.ID, RestoreOptions{}).Kept)
	require.Equal(t, was, snapshot(t, k.dir, false))
	b, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "new", string(b), "nothing is written through links that lead outside")

	require.NoError(t, os.Remove(outside))
	link(at("out"), outside)
	require.NoError(t, os.Chmod(at("out"), 0o600))
	out := k.back(first.ID, RestoreOptions{})
	require.Equal(t, "it is also a file outside the workspace", out.Kept[0].Reason)
	require.NoError(t, os.Remove(outside))

	require.NoError(t, os.RemoveAll(at("a")))
	require.NoError(t, os.RemoveAll(at("b")))
	require.Empty(t, k.back(first.ID, RestoreOptions{Paths: []string{"b"}}).Kept)
	require.Equal(t, "linked", k.text("b"), "without the other one")
}

func TestSpecialFilesAndMountsAreNotTouched(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "d/f", "1")
	first := k.take()
	require.NoError(t, os.RemoveAll(filepath.Join(k.dir, "d")))
	require.NoError(t, unix.Mkfifo(filepath.Join(k.dir, "d"), 0o600))
	write(t, k.dir, "e/f", "2")
	require.NoError(t, unix.Mkfifo(filepath.Join(k.dir, "e/pipe"), 0o600))
	out := k.back(first.ID, RestoreOptions{})
	require.Equal(t, []string{"e/f"}, out.Restored)
	require.Len(t, out.Kept, 3) // d, d/f and e
	info, err := os.Lstat(filepath.Join(k.dir, "e/pipe"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)
}

func TestRestoreToWhatIsNotEmptyIsRefused(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "f", "1")
	first := k.take()
	to := t.TempDir()
	write(t, to, "mine", "1")
	was := snapshot(t, to, true)
	requireClass(t, sandbox.ClassConflict, k.s.RestoreEmpty(context.Background(), first.ID, folder(t, k.s, to), ""))
	require.Equal(t, was, snapshot(t, to, true))

	to = t.TempDir()
	w := meddling{folder(t, k.s, to), func() { write(t, to, "f", "mine") }}
	requireClass(t, sandbox.ClassConflict, k.s.RestoreEmpty(context.Background(), first.ID, w, ""))
	require.Equal(t, []string{"f"}, keys(snapshot(t, to, false)))
	requireClass(t, sandbox.ClassNotFound, k.s.RestoreEmpty(context.Background(), tree.Empty.String(), folder(t, k.s, t.TempDir()), ""))
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// damage flips a byte in every pack that is there.
func damage(t *testing.T, s *Store) (mend func()) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(s.opts.Dir, packsDir, "*.pack"))
	require.NoError(t, err)
	require.NotEmpty(t, packs)
	flip := func() {
		for _, p := range packs {
			b, err := os.ReadFile(p)
			require.NoError(t, err)
			b[len(b)/2] ^= 1
			require.NoError(t, os.WriteFile(p, b, 0o600))
		}
	}
	flip()
	return flip
}

func TestDamagedStore(t *testing.T) {
	k := newTaken(t)
	ctx := context.Background()
	for _, name := range []string{"a", "b", "d/c"} {
		write(t, k.dir, name, "the old content of "+name)
	}
	first := k.take()
	write(t, k.dir, "a", "new")
	write(t, k.dir, "d/e", "new")
	k.take()
	was := snapshot(t, k.dir, true)
	for name, spoil := range map[string]func() func(){
		"damaged": func() func() { return damage(t, k.s) },
		"missing": func() func() {
			packs, err := filepath.Glob(filepath.Join(k.s.opts.Dir, packsDir, "*"))
			require.NoError(t, err)
			for _, p := range packs {
				require.NoError(t, os.Rename(p, p+".away"))
			}
			return func() {
				for _, p := range packs {
					require.NoError(t, os.Rename(p+".away", p))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			mend := spoil()
			s := openStore(t, k.s.opts.Dir)
			requireClass(t, sandbox.ClassCorrupt, s.Verify(ctx, first.ID))
			_, err := s.RestoreOnto(ctx, first.ID, folder(t, s, k.dir), RestoreOptions{})
			requireClass(t, sandbox.ClassCorrupt, err)
			require.Equal(t, was, snapshot(t, k.dir, true))
			to := t.TempDir()
			requireClass(t, sandbox.ClassCorrupt, s.RestoreEmpty(ctx, first.ID, folder(t, s, to), ""))
			require.Empty(t, snapshot(t, to, true))
			_, err = s.Diff(ctx, "", first.ID, DiffOptions{})
			requireClass(t, sandbox.ClassCorrupt, err)
			mend()
			require.NoError(t, openStore(t, k.s.opts.Dir).Verify(ctx, first.ID))
		})
	}
	path := k.s.manifestPath(first.ID)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(b, ' '), 0o600))
	_, err = k.s.Stat(first.ID)
	requireClass(t, sandbox.ClassCorrupt, err)
}

func TestNamesThatTheTargetDoesNotTellApart(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "d/Case", "1")
	write(t, k.dir, "d/case", "2")
	write(t, k.dir, "e/e\u0301", "3")
	write(t, k.dir, "e/\u00e9", "4")
	info := k.take()
	for _, b := range []worktree.Begun{{FoldsCase: true}, {FoldsForm: true}} {
		to := t.TempDir()
		w := folding{folder(t, k.s, to), b}
		requireClass(t, sandbox.ClassConflict, k.s.RestoreEmpty(context.Background(), info.ID, w, ""))
		require.Empty(t, snapshot(t, to, false))
	}
}

// folding is a workspace on a file system that does not tell some names apart.
type folding struct {
	Workspace
	begun worktree.Begun
}

func (f folding) Begin(ctx context.Context, c worktree.Change) (worktree.Begun, error) {
	_, err := f.Workspace.Begin(ctx, c)
	return f.begun, err
}
