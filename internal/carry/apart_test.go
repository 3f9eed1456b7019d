// This file tests that folders which are somebody's are neither shared nor emptied.

package carry

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// A folder that holds by chance what comes is its owner's all the same: it takes consent, and no failure empties it.
func TestAFolderThatIsTheSameAlreadyIsNotOurs(t *testing.T) {
	files := map[string]string{"a": "1", "d/b": "2"}
	for _, step := range append([]string{"canceled"}, steps...) {
		t.Run(step, func(t *testing.T) {
			s := newScene(t)
			s.write(s.home, files)
			twin := s.mkdir("twin")
			s.write(twin, files)
			o := s.opening(s.place(s.folders, "s.1", twin))
			_, err := s.Open(t.Context(), o)
			require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err))
			require.ErrorContains(t, err, "is not empty")
			require.Equal(t, files, s.files(twin))

			o.IntoNonEmpty, o.Session.Effect = true, "e2"
			ctx, cancel := context.WithCancel(t.Context())
			s.fault = func(at string) error {
				switch {
				case at == StepFilled && step == "canceled":
					cancel()
					return context.Canceled
				case at == step:
					return sandbox.Errorf(sandbox.ClassUnavailable, "test", "it broke")
				}
				return nil
			}
			_, err = s.Open(ctx, o)
			require.Error(t, err)
			require.Equal(t, files, s.files(twin))
		})
	}
}

// A large folder is refused before anything in it is read: without consent at once, with it when it is too large to be kept.
func TestALargeFolderIsRefusedUnread(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a": "1"})
	into := s.mkdir("into")
	s.write(into, map[string]string{"b": "22", "c": "33", "d/e": "44"})
	read := func() (reads int) {
		state, err := filepath.Glob(filepath.Join(s.dir, "store", "folders", "*", "*"))
		require.NoError(t, err)
		for _, path := range state {
			if strings.Contains(path, "cache") {
				reads++
			}
		}
		return reads
	}
	o := s.opening(s.place(s.folders, "s.1", into))
	before := read()
	_, err := s.Open(t.Context(), o)
	require.ErrorContains(t, err, "is not empty")
	require.Equal(t, before, read(), "no picture was taken")
	o.IntoNonEmpty, o.Take.Limits.Files = true, 3
	for _, dry := range []bool{true, false} {
		o.DryRun = dry
		_, err = s.Open(t.Context(), o)
		require.ErrorContains(t, err, "more than 3 files")
	}
	require.Equal(t, before, read(), "no picture was taken")
	require.Equal(t, map[string]string{"b": "22", "c": "33", "d/e": "44"}, s.files(into))
}

// What was put into a folder is taken back one by one: what its owner has changed or added since stays.
func TestOnlyWhatWasPutIsTakenBack(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a": "1", "b": "2", "d/c": "3", "e/f": "4"})
	into := s.mkdir("into")
	o := s.opening(s.place(s.folders, "s.1", into))
	s.fault = func(at string) error {
		if at != StepHealthy {
			return nil
		}
		s.write(into, map[string]string{"b": "mine", "d/new": "mine too"})
		return sandbox.Errorf(sandbox.ClassUnavailable, "test", "it broke")
	}
	_, err := s.Open(t.Context(), o)
	require.ErrorContains(t, err, "it broke")
	require.Equal(t, map[string]string{"b": "mine", "d/new": "mine too"}, s.files(into))
}

// No session comes into a folder that is, contains, or lies in one of another's.
func TestSessionsStayOutOfEachOthersFolders(t *testing.T) {
	s := newScene(t)
	s.write(s.home, map[string]string{"a": "1", "sub/b": "2"})
	other, mine := s.mkdir("other", "deep"), s.mkdir("mine")
	_, err := s.folders.Open(t.Context(), s.place(s.folders, "t.3", other).Spec)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(s.home, filepath.Join(s.dir, "alias")))
	for _, folder := range []string{
		s.home, filepath.Join(s.home, "sub"), filepath.Join(s.home, "new"), filepath.Dir(s.home), filepath.Join(s.dir, "alias", "new"),
		other, filepath.Dir(other), filepath.Join(other, "in"), filepath.Join(mine, "nested"),
		filepath.Join(s.Forks.Dir, "t", "project"), filepath.Join(s.Forks.Dir, "s", "project", "sub"),
	} {
		for _, dry := range []bool{true, false} {
			there := exists(folder)
			o := s.opening(s.place(s.folders, "s.1", folder))
			o.Apart, o.Home, o.IntoNonEmpty, o.DryRun = []string{s.home}, mine, true, dry
			_, err := s.Open(t.Context(), o)
			require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "%s: %v", folder, err)
			require.ErrorContains(t, err, "choose a folder of its own")
			require.Equal(t, s.files(s.home), map[string]string{"a": "1", "sub/b": "2"})
			require.Equal(t, there, exists(folder), "it is not made")
		}
	}
	registered := s.mkdir("out", "registered")
	for _, folder := range []string{registered, filepath.Join(registered, "in"), filepath.Dir(registered)} {
		o := s.opening(s.place(s.folders, "s.1", folder))
		o.Others, o.Home, o.IntoNonEmpty = []string{registered}, mine, true
		_, err := s.Open(t.Context(), o)
		require.ErrorContains(t, err, "which another session has")
	}
	o := s.opening(s.place(s.folders, "s.1", mine))
	o.Apart, o.Home, o.Others = []string{s.home}, mine, []string{mine}
	_, err = s.Open(t.Context(), o)
	require.NoError(t, err, "its own folder, whoever else has it")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
