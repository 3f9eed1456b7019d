// This file tests the way back onto files that are the user's own.

package carry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/sandbox"
)

const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"

// away carries the user's folder into a container.
func (s *scene) away() (Opening, Opened) {
	s.Helper()
	o := s.opening(s.place(s.boxes, "s.1", s.home))
	out, err := s.Open(s.Context(), o)
	require.NoError(s, err)
	return o, out
}

func (s *scene) merging(o Opening, base string) Merging {
	s.Helper()
	return Merging{
		To: s.place(s.folders, "home", s.home), From: Origin{Folder: s.home}, Base: base, Theirs: s.picture(o.To),
		Session: checkpoint.Ref{Session: "s", Summary: "Before coming back", Effect: "back"},
	}
}

func TestBothSidesChangedAFile(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"f": lines, "gone": "x", "kept": "k"})
	o, out := s.away()
	box := s.boxes.root(o.To.Spec)
	s.write(box, map[string]string{"f": strings.Replace(lines, "two", "TWO", 1), "new": "n"})
	require.NoError(t, os.Remove(filepath.Join(box, "gone")))
	s.write(s.home, map[string]string{"f": strings.Replace(lines, "eight", "EIGHT", 1), "mine": "m"})

	m := s.merging(o, out.Base)
	plan := m
	plan.DryRun = true
	planned, err := s.Merge(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, "x", s.files(s.home)["gone"], "a dry run changes nothing")

	back, err := s.Merge(t.Context(), m)
	require.NoError(t, err)
	require.True(t, back.Applied)
	require.NotEmpty(t, back.Undo)
	merged := strings.NewReplacer("two", "TWO", "eight", "EIGHT").Replace(lines)
	require.Equal(t, map[string]string{"f": merged, "kept": "k", "new": "n", "mine": "m"}, s.files(s.home))
	require.Equal(t, []int{1, 1, 1, 1}, []int{back.Carry.Added, back.Carry.Changed, back.Carry.Merged, back.Carry.Removed})
	require.Equal(t, []editors.FileChange{{Path: "f", Kind: "merged"}, {Path: "gone", Kind: "removed"}, {Path: "new", Kind: "added"}}, back.Carry.Files)
	planned.Carry.Theirs, planned.Undo, planned.Applied = back.Carry.Theirs, back.Undo, back.Applied
	require.Equal(t, planned.Carry.Files, back.Carry.Files)

	again, err := s.Merge(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, back, again, "once")
}

func TestConflicts(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"f": "old\n", "g": "g"})
	o, out := s.away()
	s.write(s.boxes.root(o.To.Spec), map[string]string{"f": "theirs\n", "g": "G"})
	s.write(s.home, map[string]string{"f": "mine\n"})
	m := s.merging(o, out.Base)
	refused, err := s.Merge(t.Context(), m)
	require.NoError(t, err)
	require.False(t, refused.Applied)
	require.Equal(t, 1, refused.Carry.ConflictsAll)
	require.Equal(t, "f", refused.Carry.Conflicts[0].Path)
	require.Equal(t, map[string]string{"f": "mine\n", "g": "g"}, s.files(s.home))
	d, err := s.Store.Diff(t.Context(), s.picture(m.To), refused.Carry.Theirs, checkpoint.DiffOptions{Patches: true, Paths: []string{"f"}})
	require.NoError(t, err)
	require.Contains(t, d.Files[0].Patch, "+theirs", "it can be looked at")
	refs, err := s.Store.List("s", "")
	require.NoError(t, err)
	kept := false
	for _, r := range refs {
		kept = kept || r.Checkpoint == refused.Carry.Theirs && r.Reason == checkpoint.Carry
	}
	require.True(t, kept)

	m.OnConflict, m.Session.Effect = checkpoint.Mine, "mine"
	back, err := s.Merge(t.Context(), m)
	require.NoError(t, err)
	require.True(t, back.Applied)
	require.Equal(t, map[string]string{"f": "mine\n", "g": "G"}, s.files(s.home))
}

// What an editor holds unsaved changes of stays.
func TestHeldPaths(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"f": "old\n"})
	o, out := s.away()
	s.write(s.boxes.root(o.To.Spec), map[string]string{"f": "theirs\n"})
	m := s.merging(o, out.Base)
	m.Held = map[string]string{"f": "it has unsaved changes"}
	refused, err := s.Merge(t.Context(), m)
	require.NoError(t, err)
	require.False(t, refused.Applied)
	require.Equal(t, []editors.Skipped{{Path: "f", Reason: "it has unsaved changes"}}, refused.Carry.Conflicts)
}

// A container cannot make git run anything on the user's machine.
func TestNothingThatGitRunsComesOutOfAContainer(t *testing.T) {
	s := newScene(t)
	repository := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\tbare = false\n", ".git/hooks/pre-commit": "#!/bin/sh\n", "f": "1"}
	s.write(s.home, repository)
	o, out := s.away()
	box := s.boxes.root(o.To.Spec)
	s.write(box, map[string]string{
		".git/config": "[core]\n\tfsmonitor = evil\n", ".git/hooks/pre-commit": "evil", ".git/hooks/post-merge": "evil", "f": "2",
		"sub/.git/HEAD": "ref: refs/heads/main\n", "sub/.git/config": "[core]\n\tsshCommand = evil\n", "sub/g": "3",
	})
	tree := s.picture(o.To)
	fork, err := s.Open(t.Context(), Opening{
		To: s.forkPlace(), From: Origin{Folder: s.home}, Checkpoint: tree, Base: out.Base,
		Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Fork, Effect: "fork"},
	})
	require.NoError(t, err)
	require.NotEmpty(t, fork.Carry.Skipped)
	back, err := s.Merge(t.Context(), s.merging(o, out.Base))
	require.NoError(t, err)
	require.True(t, back.Applied, "%v", back.Carry.Conflicts)
	for _, dir := range []string{s.home, s.forkPlace().Spec.Workspace} {
		files := s.files(dir)
		require.Equal(t, "2", files["f"])
		require.Equal(t, "3", files["sub/g"])
		for name, text := range files {
			require.NotContains(t, text, "evil", name)
		}
		require.Equal(t, repository[".git/config"], files[".git/config"])
		require.Equal(t, repository[".git/hooks/pre-commit"], files[".git/hooks/pre-commit"])
	}
}

func TestMergeFails(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"f": "1"})
	o, out := s.away()
	s.write(s.boxes.root(o.To.Spec), map[string]string{"f": "2"})
	for _, step := range []string{StepMerging, StepMerged} {
		m := s.merging(o, out.Base)
		m.Session.Effect = "e" + step
		s.fault = func(at string) error {
			if at == step {
				return ErrStopped
			}
			return nil
		}
		_, err := s.Merge(t.Context(), m)
		require.ErrorIs(t, err, ErrStopped)
		s.fault = nil
		back, err := s.Merge(t.Context(), m)
		require.NoError(t, err)
		require.True(t, back.Applied)
		require.Equal(t, map[string]string{"f": "2"}, s.files(s.home))
		s.write(s.home, map[string]string{"f": "1"})
	}
	m := s.merging(o, strings.Repeat("0", 64))
	_, err := s.Merge(t.Context(), m)
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err))
	require.Equal(t, map[string]string{"f": "1"}, s.files(s.home))
}
