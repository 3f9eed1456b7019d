// This file tests that what does not travel is told, and that what was never the session's does not travel.

package carry

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/worktree"
)

// What was made in a container and is in no checkpoint is told on the way back, and counted if it has content.
func TestWhatNoCheckpointHoldsIsTold(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"f": "1"})
	o, out := s.away()
	require.Zero(t, out.LeftBehind)
	box := s.boxes.root(o.To.Spec)
	s.write(box, map[string]string{"model.bin": "a large file", "cache/x": "excluded"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(box, "pipe"), 0o600))
	m := s.merging(o, out.Base)
	m.Take = checkpoint.TakeOptions{Excludes: []string{"cache"}, Limits: worktree.Limits{File: 8}}
	m.Theirs = s.pictureWith(o.To, m.Take)
	want := []editors.Skipped{{Path: "cache", Reason: "excluded"}, {Path: "model.bin", Reason: "larger than the limit"}, {Path: "pipe", Reason: "a pipe"}}
	for _, m.DryRun = range []bool{true, false} {
		back, err := s.Merge(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, want, back.Carry.Skipped)
		require.Equal(t, 3, back.Carry.SkippedAll)
		require.Equal(t, 2, back.LeftBehind, "a pipe has no content")
	}
	on := o
	on.To, on.From, on.Checkpoint, on.Base, on.Session.Effect = s.place(s.boxes, "s.2", s.home), Origin{Folder: s.home}, m.Theirs, out.Base, "on"
	moved, err := s.Open(t.Context(), on)
	require.NoError(t, err)
	require.Equal(t, want, moved.Carry.Skipped)
	require.Equal(t, 2, moved.LeftBehind)
}

func (s *scene) pictureWith(p Place, o checkpoint.TakeOptions) string {
	s.Helper()
	sb, err := p.Backend.Open(s.Context(), p.Spec)
	require.NoError(s, err)
	w, err := checkpoint.Of(sb)
	require.NoError(s, err)
	o.Pin = &checkpoint.Ref{Session: "s", Reason: checkpoint.Turn}
	info, err := s.Store.Take(s.Context(), w, o)
	require.NoError(s, err)
	return info.ID
}

// A session that has been among somebody's files brings back what the agent changed there, and none of those files.
func TestNothingOfAMetFolderTravels(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"same": "s", "clash": "home\n", "gone": "g", "both": lines, "d/x": "home"})
	boxed, away := s.away()
	s.write(s.boxes.root(boxed.To.Spec), map[string]string{"from-box": "agent", "same": "changed in the box"})
	into := s.mkdir("into")
	theirs := map[string]string{"clash": "theirs\n", "own": "o", "d/x": "theirs", "d/own": "p", "deep/own": "q"}
	s.write(into, theirs)
	o := Opening{
		To: s.place(s.folders, "s.2", into), From: Origin{Folder: s.home}, Checkpoint: s.picture(boxed.To), Base: away.Base,
		Session: checkpoint.Ref{Session: "s", Reason: checkpoint.Carry, Effect: "into"}, IntoNonEmpty: true,
	}
	plan := o
	plan.DryRun = true
	planned, err := s.Open(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, theirs, s.files(into), "a dry run changes nothing")
	met, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, planned.Carry, met.Carry, "a dry run tells what happens")
	require.Equal(t, 2, met.Carry.ConflictsAll)
	plan.IntoNonEmpty = false
	_, err = s.Open(t.Context(), plan)
	require.ErrorContains(t, err, "is not empty")

	s.write(into, map[string]string{"new": "agent", "both": "zero\n" + lines})
	require.NoError(t, os.Remove(filepath.Join(into, "gone")))
	back, err := s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "home", s.home), From: Origin{Local: true, Folder: into}, Base: met.Base, Theirs: s.picture(o.To),
		Session: checkpoint.Ref{Session: "s", Effect: "back"},
	})
	require.NoError(t, err)
	require.True(t, back.Applied, "%v", back.Carry.Conflicts)
	require.Equal(t, map[string]string{
		"same": "changed in the box", "clash": "home\n", "both": "zero\n" + lines, "d/x": "home", "from-box": "agent", "new": "agent",
	}, s.files(s.home))
}

// A move among somebody's files that fails leaves them as they were.
func TestAFailedMeetingIsUndone(t *testing.T) {
	for _, step := range []string{StepFilled, StepVerified, StepHealthy} {
		t.Run(step, func(t *testing.T) {
			s := newScene(t)
			s.write(s.home, map[string]string{"a": "1", "d/b": "2", "clash": "home"})
			into := s.mkdir("into")
			theirs := map[string]string{"clash": "theirs", "own": "o"}
			s.write(into, theirs)
			o := s.opening(s.place(s.folders, "s.1", into))
			o.IntoNonEmpty = true
			s.fault = func(at string) error {
				if at != step {
					return nil
				}
				s.write(into, map[string]string{"meanwhile": "m"})
				return os.ErrDeadlineExceeded
			}
			_, err := s.Open(t.Context(), o)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			theirs["meanwhile"] = "m"
			require.Equal(t, theirs, s.files(into))
			s.fault = nil
			_, err = s.Open(t.Context(), o)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "1", "d/b": "2", "clash": "theirs", "own": "o", "meanwhile": "m"}, s.files(into))
		})
	}
}
