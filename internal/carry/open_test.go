// This file tests that a fresh sandbox holds what was sent, or that nothing of it is left.

package carry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/sandbox"
)

func TestOpenInAContainer(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n", ".env": "SECRET=1"})
	require.NoError(t, os.Symlink("a.txt", filepath.Join(s.home, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(s.home, "empty"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(s.home, "pipe"), 0o600))
	o := s.opening(s.place(s.boxes, "s.1", s.home))
	plan := o
	plan.DryRun = true
	planned, err := s.Open(t.Context(), plan)
	require.NoError(t, err)
	require.False(t, s.boxes.has("s.1"), "a dry run opens nothing")
	require.Zero(t, s.refs())

	out, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	want := s.filesWithout(s.home, "pipe")
	require.Equal(t, want, s.files(s.boxes.root(o.To.Spec)))
	require.Equal(t, planned.Carry, out.Carry)
	require.Equal(t, editors.Carry{
		Added: 4, Bytes: int64(len("a\nb\nSECRET=1")), Skipped: []editors.Skipped{{Path: "pipe", Reason: "a pipe"}}, SkippedAll: 1,
		Conflicts: []editors.Skipped{},
		Files:     []editors.FileChange{{Path: ".env", Kind: "added"}, {Path: "a.txt", Kind: "added"}, {Path: "d/b.txt", Kind: "added"}, {Path: "link", Kind: "added"}},
	}, out.Carry)
	require.Equal(t, o.Checkpoint, out.Checkpoint)
	require.Equal(t, o.Checkpoint, out.Base)
	require.Equal(t, 1, s.refs())

	again, err := s.Open(t.Context(), o)
	require.NoError(t, err, "repeating it is harmless")
	require.Equal(t, out, again)
}

func (s *scene) filesWithout(dir string, left ...string) map[string]string {
	s.Helper()
	for _, name := range left {
		require.NoError(s, os.Remove(filepath.Join(dir, name)))
	}
	return s.files(dir)
}

var steps = []string{StepDerived, StepOpened, StepFilled, StepVerified, StepHealthy}

// Whatever fails, nothing of the sandbox is left, and everything else is as it was.
func TestFailureLeavesNothing(t *testing.T) {
	for _, step := range steps {
		for name, to := range map[string]func(*scene) Place{
			"container": func(s *scene) Place { return s.place(s.boxes, "s.1", s.home) },
			"fork":      (*scene).forkPlace,
			"folder":    func(s *scene) Place { return s.place(s.folders, "s.1", filepath.Join(s.dir, "new")) },
			"empty folder": func(s *scene) Place {
				return s.place(s.folders, "s.1", s.mkdir("old"))
			},
		} {
			t.Run(step+" "+name, func(t *testing.T) {
				s := newScene(t)
				s.write(s.home, map[string]string{"a": "1", "d/b": "2", ".git/HEAD": "ref: refs/heads/main\n"})
				o := s.opening(to(s))
				s.fault = func(at string) error {
					if at == step {
						return sandbox.Errorf(sandbox.ClassUnavailable, "test", "it broke")
					}
					return nil
				}
				_, err := s.Open(t.Context(), o)
				require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
				require.ErrorContains(t, err, "it broke")
				require.False(t, s.boxes.has("s.1") || s.folders.has("s.1"))
				if step != StepDerived {
					require.Zero(t, s.refs())
				}
				require.NoDirExists(t, filepath.Join(s.Forks.Dir, "s"))
				require.NoDirExists(t, filepath.Join(s.dir, "new"))
				if name == "empty folder" {
					require.Empty(t, s.files(o.To.Spec.Workspace), "it was there before")
				}
				require.Equal(t, map[string]string{"a": "1", "d/b": "2", ".git/HEAD": "ref: refs/heads/main\n"}, s.files(s.home))

				s.fault = nil
				out, err := s.Open(t.Context(), o)
				require.NoError(t, err, "another try succeeds")
				require.Equal(t, s.files(s.home), s.files(s.rootOf(o.To)))
				require.Equal(t, o.Checkpoint, out.Checkpoint)
			})
		}
	}
}

func (s *scene) rootOf(p Place) string {
	b, ok := p.Backend.(*places)
	require.True(s, ok)
	return b.root(p.Spec)
}

// A worker that dies leaves what it has done; the next one goes on under the same effect.
func TestDeathAtEveryStep(t *testing.T) {
	for _, step := range steps {
		for name, to := range map[string]func(*scene) Place{
			"container": func(s *scene) Place { return s.place(s.boxes, "s.1", s.home) },
			"fork":      (*scene).forkPlace,
		} {
			t.Run(step+" "+name, func(t *testing.T) {
				s := newScene(t)
				s.write(s.home, map[string]string{"a": "1", "d/b": "2"})
				o := s.opening(to(s))
				ctx, die := context.WithCancelCause(t.Context())
				s.fault = func(at string) error {
					if at == step {
						die(ErrStopped)
						return ErrStopped
					}
					return nil
				}
				_, err := s.Open(ctx, o)
				require.ErrorIs(t, err, ErrStopped)
				s.fault = nil
				_, err = s.Open(t.Context(), o)
				require.NoError(t, err)
				require.Equal(t, s.files(s.home), s.files(s.rootOf(o.To)))
				require.Equal(t, 1, s.refs())
			})
		}
	}
}

// A local sandbox that is opened again holds in place what git obeys, and makes it where it is missing.
func TestRepositoryCompletedBetweenTries(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a": "1", ".git/HEAD": "ref: refs/heads/main\n"})
	o := s.opening(s.forkPlace())
	ctx, die := context.WithCancelCause(t.Context())
	s.fault = func(at string) error {
		if at != StepFilled {
			return nil
		}
		die(ErrStopped)
		return ErrStopped
	}
	_, err := s.Open(ctx, o)
	require.ErrorIs(t, err, ErrStopped)
	s.fault = nil
	fork := o.To.Spec.Workspace
	s.write(fork, map[string]string{".git/config": ""})
	require.NoError(t, os.Mkdir(filepath.Join(fork, ".git", "hooks"), 0o755))
	out, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	require.NotEqual(t, o.Checkpoint, out.Checkpoint)
	require.Empty(t, out.Notes)

	s.write(fork, map[string]string{".git/config": "[core]\n"})
	_, err = s.Open(t.Context(), o)
	require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "somebody's")
	require.Equal(t, map[string]string{".git/config": "[core]\n", ".git/hooks/": ""}, s.files(fork), "what was put there goes, theirs stays")
}

// What somebody writes into the new place while it is filled is never taken away.
func TestSomebodyWritesMeanwhile(t *testing.T) {
	for name, to := range map[string]func(*scene) Place{
		"fork":   (*scene).forkPlace,
		"folder": func(s *scene) Place { return s.place(s.folders, "s.1", filepath.Join(s.dir, "new")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.write(s.home, map[string]string{"a": "1"})
			o := s.opening(to(s))
			s.fault = func(at string) error {
				if at == StepFilled {
					s.write(o.To.Spec.Workspace, map[string]string{"mine": "precious"})
				}
				return nil
			}
			_, err := s.Open(t.Context(), o)
			require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
			require.ErrorContains(t, err, "does not hold what was sent")
			require.Equal(t, map[string]string{"mine": "precious"}, s.files(o.To.Spec.Workspace), "what was put there goes, theirs stays")
			require.False(t, s.folders.has("s.1"))
		})
	}
}

func TestFoldersThatHaveFiles(t *testing.T) {
	for name, to := range map[string]func(*scene) Place{
		"fork":   (*scene).forkPlace,
		"folder": func(s *scene) Place { return s.place(s.folders, "s.1", filepath.Join(s.dir, "new")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.write(s.home, map[string]string{"a": "1", "b": "2"})
			o := s.opening(to(s))
			mine := map[string]string{"b": "mine", "c": "3"}
			s.write(o.To.Spec.Workspace, mine)
			_, err := s.Open(t.Context(), o)
			require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
			require.ErrorContains(t, err, "is not empty")
			require.Equal(t, mine, s.files(o.To.Spec.Workspace), "they are somebody's")

			o.IntoNonEmpty, o.Session.Effect = true, "e2"
			out, err := s.Open(t.Context(), o)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "1", "b": "mine", "c": "3"}, s.files(o.To.Spec.Workspace))
			require.Equal(t, 1, out.Carry.Added)
			require.Equal(t, 1, out.Carry.ConflictsAll)
			require.Equal(t, "b", out.Carry.Conflicts[0].Path)
			require.NotEqual(t, o.Checkpoint, out.Checkpoint)
			again, err := s.Open(t.Context(), o)
			require.NoError(t, err)
			require.Equal(t, out.Checkpoint, again.Checkpoint)
		})
	}
}

func TestFolderWithoutAPlace(t *testing.T) {
	s := newScene(t)
	_, err := s.Open(t.Context(), s.opening(s.place(s.folders, "s.1", filepath.Join(s.dir, "none", "new"))))
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "make that first")
}

// A checkpoint that is missing or damaged, and a full disk, are errors; nothing is opened or left.
func TestStoreFails(t *testing.T) {
	missing := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		spoil func(*scene, *Opening)
		class sandbox.Class
	}{
		"missing": {func(_ *scene, o *Opening) { o.Checkpoint = missing }, sandbox.ClassNotFound},
		"damaged": {func(s *scene, _ *Opening) {
			packs, err := filepath.Glob(filepath.Join(s.dir, "store", "packs", "*"))
			require.NoError(s, err)
			for _, p := range packs {
				if info, err := os.Stat(p); err == nil && strings.HasSuffix(p, ".pack") {
					require.NoError(s, os.WriteFile(p, make([]byte, info.Size()), 0o600))
				}
			}
			s.reopen() // the store of the next worker, which has nothing in memory
		}, sandbox.ClassCorrupt},
		"disk full": {func(s *scene, o *Opening) {
			o.Rules.Exclude = []string{"b"} // so that a checkpoint is written
			s.fault = func(at string) error {
				if at == "manifest-write" {
					return syscall.ENOSPC
				}
				return nil
			}
		}, sandbox.ClassLimit},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.write(s.home, map[string]string{"a": strings.Repeat("text ", 1000), "b": "2"})
			o := s.opening(s.forkPlace())
			before := s.files(s.home)
			c.spoil(s, &o)
			_, err := s.Open(t.Context(), o)
			require.Equal(t, c.class, sandbox.ClassOf(err), "%v", err)
			if c.class != sandbox.ClassLimit {
				require.ErrorContains(t, err, o.Checkpoint[:12], "which one")
			}
			require.NoDirExists(t, filepath.Join(s.Forks.Dir, "s"))
			require.False(t, s.folders.has("s.1"))
			require.Equal(t, before, s.files(s.home))
			require.Zero(t, s.refs())
		})
	}
}

// To a cloud goes what may leave the machine; what stayed does not look removed on the way back.
func TestSecretsStayOnTheMachine(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a": "1", ".env": "S=1", "out/x": "o", ".gitignore": "out/\n"})
	o := s.opening(s.place(s.boxes, "s.1", s.home))
	boxed, err := s.Open(t.Context(), o)
	require.NoError(t, err)

	far := Opening{
		To: s.place(s.clouds, "s.2", s.home), From: Origin{Folder: s.home}, Checkpoint: boxed.Checkpoint, Base: boxed.Base,
		Rules: Rules{Leaves: true}, Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Carry, Effect: "e2"},
	}
	out, err := s.Open(t.Context(), far)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1", ".gitignore": "out/\n"}, s.files(s.clouds.root(far.To.Spec)))
	require.Equal(t, []editors.Skipped{{Path: ".env", Reason: reasonSecrets}, {Path: "out", Reason: reasonIgnored}}, out.Carry.Skipped)
	require.NotEqual(t, boxed.Base, out.Base)

	s.write(s.clouds.root(far.To.Spec), map[string]string{"a": "changed", "new": "n"})
	back, err := s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "home", s.home), From: Origin{Folder: s.home}, Base: out.Base, Theirs: s.picture(far.To),
		Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Undo, Effect: "e3"},
	})
	require.NoError(t, err)
	require.True(t, back.Applied)
	want := map[string]string{"a": "changed", "new": "n", ".env": "S=1", "out/x": "o", ".gitignore": "out/\n"}
	require.Equal(t, want, s.files(s.home))

	s.write(s.home, map[string]string{"a": "mine"}) // a restore of what was pictured there takes nothing of it either
	folder, err := s.Store.Folder(s.home)
	require.NoError(t, err)
	_, err = s.Store.RestoreOnto(t.Context(), s.picture(far.To), folder, checkpoint.RestoreOptions{Lacks: []string{out.Base}, LastSeen: s.picture(s.place(s.folders, "home", s.home))})
	require.NoError(t, err)
	require.Equal(t, want, s.files(s.home))
}

// What a fork could not take along to a cloud does not look removed to its parent.
func TestWhatStayedIsNotTakenFromTheParent(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a": "1", "gone": "g", ".env": "S=1", ".gitignore": "out/\n", "out/x": "o"})
	fork, err := s.Open(t.Context(), s.opening(s.forkPlace()))
	require.NoError(t, err)
	far := Opening{
		To: s.place(s.clouds, "s.2", s.forkPlace().Spec.Workspace), From: Origin{Local: true, Folder: s.forkPlace().Spec.Workspace},
		Checkpoint: fork.Checkpoint, Base: fork.Checkpoint, Taken: fork.Checkpoint, Rules: Rules{Leaves: true},
		Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Carry, Effect: "far"},
	}
	s.write(far.From.Folder, map[string]string{"since": "the fork's"})
	far.Checkpoint = s.picture(s.forkPlace())
	out, err := s.Open(t.Context(), far)
	require.NoError(t, err)
	cloud := s.clouds.root(far.To.Spec)
	s.write(cloud, map[string]string{"a": "changed"})
	require.NoError(t, os.Remove(filepath.Join(cloud, "gone")))

	adopted, err := s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "home", s.home), From: Origin{Folder: s.home}, Base: out.Taken, Theirs: s.picture(far.To),
		Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Undo, Effect: "adopt"},
	})
	require.NoError(t, err)
	require.True(t, adopted.Applied)
	require.Equal(t, map[string]string{"a": "changed", "since": "the fork's", ".env": "S=1", ".gitignore": "out/\n", "out/x": "o"}, s.files(s.home))
}

func TestErrorsOfClearingUpAreTold(t *testing.T) {
	e := also(sandbox.Errorf(sandbox.ClassLimit, "x", "the disk is full"), errors.New("the engine is away"))
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(e))
	require.ErrorContains(t, e, "the disk is full; what was made for it is left: the engine is away")
	away := sandbox.Errorf(sandbox.ClassUnavailable, "x", "no engine answers: start it")
	require.Equal(t, away, also(away, sandbox.Errorf(sandbox.ClassUnavailable, "y", "no engine answers: start it")))
}
