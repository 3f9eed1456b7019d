// This file kills processes at every step of a change, and lets several work on one folder by state directories of their own.

package worktree

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// runDoomed runs a doomed process to its end and returns what it said.
func runDoomed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		require.Contains(t, string(out), "at ", "it died elsewhere: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// eachDeath kills the change to "new" at its first step, at its second and so on, each time on a scene of its own.
func eachDeath(t *testing.T, check func(t *testing.T, root, state, at string)) {
	seen := map[string]bool{}
	for n := 1; ; n++ {
		root, state := makeScene(t), t.TempDir()
		said := runDoomed(t, doom(root, state, "new", strconv.Itoa(n), syscall.SIGKILL))
		if said == "done" {
			break
		}
		at, ok := strings.CutPrefix(said, "at ")
		require.True(t, ok, said)
		seen[at] = true
		check(t, root, state, at)
	}
	for _, at := range []string{"begin", "stage", "put", "ready", "sync", "mark", "step", "clean", "dissolve"} {
		require.True(t, seen[at], at)
	}
}

func TestTheNextPictureClearsUpAfterAKill(t *testing.T) {
	eachDeath(t, func(t *testing.T, root, state, at string) {
		w := New(Options{Root: root, State: state})
		m := take(t, w)
		require.Empty(t, stagesOf(t, root), "died at %s", at)
		require.False(t, m.unfinished(), "died at %s", at)
		whole(t, root, versionOld, "new")
		seen, err := m.versions()
		require.NoError(t, err)
		require.Len(t, seen, 1, "died at %s: the picture is of one version", at)
		o, err := Apply(t.Context(), w, changeTo("new"), versionContent("new"), nil)
		require.NoError(t, err, "died at %s", at)
		require.Empty(t, o.Kept, "died at %s", at)
		require.Equal(t, "new", whole(t, root, "new"))
	})
}

func TestOthersClearUpAfterAKillWhatIsNotHalfMade(t *testing.T) {
	half := 0
	eachDeath(t, func(t *testing.T, root, state, at string) {
		other := New(Options{Root: root, State: t.TempDir()})
		m := take(t, other)
		err := other.Recover(t.Context())
		if len(stagesOf(t, root)) == 0 {
			require.NoError(t, err, "died at %s", at)
			require.False(t, m.unfinished(), "died at %s", at)
			whole(t, root, versionOld, "new")
			return
		}
		half++
		require.True(t, m.unfinished(), "died at %s: the picture says what it may hold", at)
		require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "died at %s", at)
		_, err = other.Begin(t.Context(), changeTo("other"))
		require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "died at %s", at)
		require.NoError(t, New(Options{Root: root, State: state}).Recover(t.Context()))
		require.Empty(t, stagesOf(t, root), "died at %s", at)
		whole(t, root, versionOld, "new")
		require.NoError(t, other.Recover(t.Context()))
	})
	require.Positive(t, half)
}

func TestAStageThatIsGoneBlocksNobody(t *testing.T) {
	eachDeath(t, func(t *testing.T, root, state, at string) {
		for _, stage := range stagesOf(t, root) { // as git clean does
			require.NoError(t, os.RemoveAll(stage))
		}
		w := New(Options{Root: root, State: state})
		_, err := Apply(t.Context(), w, changeTo("new"), versionContent("new"), nil)
		require.NoError(t, err, "died at %s", at)
		require.Equal(t, "new", whole(t, root, "new"))
	})
}

// pause starts a change and stops it at a step.
func pause(t *testing.T, root, state, at string) (cmd *exec.Cmd, rest io.Reader) {
	t.Helper()
	cmd = doom(root, state, "new", at, syscall.SIGSTOP)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "at "+at+"\n", line)
	var status syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	return cmd, r
}

func finishPaused(t *testing.T, cmd *exec.Cmd, rest io.Reader) string {
	t.Helper()
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	out, err := io.ReadAll(rest)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	return strings.TrimSpace(string(out))
}

func TestOneChangeOfAFolderAtATime(t *testing.T) {
	for _, at := range []string{"put", "mark", "step", "clean"} {
		t.Run(at, func(t *testing.T) {
			root := makeScene(t)
			other := New(Options{Root: root, State: t.TempDir()})
			cmd, rest := pause(t, root, t.TempDir(), at)
			if at == "put" {
				_, err := other.Begin(t.Context(), changeTo("other"))
				require.Equal(t, sandbox.ClassConflict, sandbox.ClassOf(err), "%v", err)
				m := take(t, other)
				require.False(t, m.unfinished(), "what is only being prepared is in nobody's way")
				require.Len(t, stagesOf(t, root), 1, "and stays")
			} else { // it waits for who changes the tree
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_, err := other.Begin(ctx, changeTo("other"))
				require.Equal(t, sandbox.ClassCanceled, sandbox.ClassOf(err), "%v", err)
			}
			require.Equal(t, "done", finishPaused(t, cmd, rest))
			require.Equal(t, "new", whole(t, root, "new"))
			require.Empty(t, stagesOf(t, root))
			_, err := other.Begin(t.Context(), Change{ID: "later"})
			require.NoError(t, err)
			other.Close()
			require.Empty(t, stagesOf(t, root))
		})
	}
}

func TestAPictureWaitsForAChange(t *testing.T) {
	root := makeScene(t)
	cmd, rest := pause(t, root, t.TempDir(), "step")
	other := New(Options{Root: root, State: t.TempDir()})
	ctx, cancel := context.WithTimeout(t.Context(), 2*glance)
	defer cancel()
	err := other.Scan(ctx, ScanOptions{}, newMemory())
	require.Equal(t, sandbox.ClassCanceled, sandbox.ClassOf(err), "%v", err)
	type taken struct {
		m   *memory
		err error
	}
	done := make(chan taken, 1)
	go func() {
		m := newMemory()
		done <- taken{m, other.Scan(context.Background(), ScanOptions{}, m)}
	}()
	require.Equal(t, "done", finishPaused(t, cmd, rest))
	got := <-done
	require.NoError(t, got.err)
	seen, err := got.m.versions()
	require.NoError(t, err)
	require.Equal(t, map[tree.Hash]bool{tree.Sum(version("new")): true}, seen)
}

// TestAForeignLockHoldsNoPictureUp: a user's program may lock the folder for reasons of its own.
func TestAForeignLockHoldsNoPictureUp(t *testing.T) {
	root := makeScene(t)
	f, err := os.Open(root)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	require.False(t, take(t, New(Options{Root: root, State: t.TempDir()})).unfinished())
}

// TestRacingChanges lets processes change one folder from state directories of their own, while it is pictured.
func TestRacingChanges(t *testing.T) {
	rounds := 5
	if os.Getenv("SANDBOX_TEST_FULL") == "1" {
		rounds = 50
	}
	for range rounds {
		root := makeScene(t)
		said := make(chan string, 3)
		for _, v := range []string{"one", "two", "three"} {
			cmd := doom(root, t.TempDir(), v, "", 0)
			go func() {
				out, err := cmd.Output()
				if err != nil {
					out = []byte(err.Error())
				}
				said <- strings.TrimSpace(string(out))
			}()
		}
		camera := New(Options{Root: root, State: t.TempDir()})
		done := 0
		for ended := 0; ended < 3; {
			m := take(t, camera)
			seen, err := m.versions()
			require.NoError(t, err)
			require.Len(t, seen, 1, "a picture of two versions")
			select {
			case s := <-said:
				ended++
				if s == "done" {
					done++
				} else {
					require.True(t, s == "kept" || strings.Contains(s, "another restore"), s)
				}
			default:
			}
		}
		require.Equal(t, 1, done, "the others met what the first one made, or it at work")
		whole(t, root, "one", "two", "three")
		require.Empty(t, stagesOf(t, root))
	}
}

// TestForgedStages: anybody can write to the folder, so that what a stage says there must not be done.
func TestForgedStages(t *testing.T) {
	root := makeScene(t)
	w := New(Options{Root: root, State: t.TempDir()})
	forged := filepath.Join(root, stagePrefix+"forged")
	require.NoError(t, os.MkdirAll(filepath.Join(forged, freshDir), 0o755))
	for _, name := range []string{commitMark, recordFile, stepsFile, "0"} {
		require.NoError(t, os.WriteFile(filepath.Join(forged, name), []byte("x"), 0o644))
	}
	file := filepath.Join(root, stagePrefix+"file")
	require.NoError(t, os.WriteFile(file, []byte("the user's"), 0o644))
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(root, stagePrefix+"link")))
	require.True(t, take(t, w).unfinished())
	require.Error(t, w.Recover(t.Context()))
	require.NoError(t, os.Remove(filepath.Join(forged, commitMark)))
	require.False(t, take(t, w).unfinished())
	require.NoDirExists(t, forged)
	require.FileExists(t, file, "no stage is a file")
	require.DirExists(t, outside)
}
