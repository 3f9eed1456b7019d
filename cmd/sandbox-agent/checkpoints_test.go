// This file tests the verbs on checkpoints: on a plain folder with nothing running, and on a session.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/config"
)

// plainFolder is a folder and a private installation without anything running.
type plainFolder struct {
	t         *testing.T
	home, dir string
	env       map[string]string
}

func newPlainFolder(t *testing.T) *plainFolder {
	return &plainFolder{t: t, home: t.TempDir(), dir: t.TempDir()}
}

func (f *plainFolder) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.WriteFile(path, []byte(text), 0o644))
}

func (f *plainFolder) run(args ...string) outcome {
	f.t.Helper()
	return f.runWith(func(*app) (product, error) {
		require.Fail(f.t, "nothing but the folder is needed")
		return nil, nil
	}, args...)
}

// runAll runs a verb that also looks at the installation, which is not there.
func (f *plainFolder) runAll(args ...string) outcome {
	f.t.Helper()
	return f.runWith(func(*app) (product, error) { return nil, errors.New("there is none") }, args...)
}

func (f *plainFolder) runWith(open func(*app) (product, error), args ...string) outcome {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"HOME": f.home, "XDG_RUNTIME_DIR": filepath.Join(f.home, "run")}
	maps.Copy(env, f.env)
	a := &app{
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, dir: f.dir, warnings: io.Discard, signals: make(chan os.Signal, 4),
		env:  func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		open: open,
	}
	status := a.run(f.t.Context(), args)
	return outcome{status, stdout.String(), stderr.String()}
}

func (f *plainFolder) id(args ...string) string {
	f.t.Helper()
	out := f.run(append([]string{"checkpoint"}, args...)...)
	require.Equal(f.t, statusDone, out.status, out.stderr)
	return strings.TrimSpace(out.stdout)
}

func TestCheckpointsOfAFolder(t *testing.T) {
	f := newPlainFolder(t)
	out := f.run("diff")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "no checkpoint yet")
	f.write("src/main.go", "package main\n")
	f.write("keep", "kept")
	first := f.id("--summary", "the beginning")
	require.Contains(t, f.run("checkpoint").stderr, "Nothing changed")

	f.write("src/main.go", "package main\n\nfunc main() {}\n")
	f.write("src/new.go", "package main\n")
	f.write("bin", "\x00\x01")
	require.NoError(t, os.Chmod(filepath.Join(f.dir, "keep"), 0o755))
	out = f.run("diff")
	require.Equal(t, statusDone, out.status, out.stderr)
	for _, part := range []string{"+func main() {}\n", "added bin (binary)\n", "new file mode 100644\n", "old mode 100644\nnew mode 100755\n"} {
		require.Contains(t, out.stdout, part)
	}
	out = f.run("diff", "--json", "--from", first[:8], "--path", "src")
	var diff editors.DiffResult
	require.NoError(t, json.Unmarshal([]byte(out.stdout), &diff))
	require.Len(t, diff.Files, 2)
	require.Equal(t, []any{"src/main.go", "changed", 2, 0}, []any{diff.Files[0].Path, diff.Files[0].Kind, diff.Files[0].Added, diff.Files[0].Removed})

	require.Equal(t, "package main\n", f.run("show", "--at", first[:8], "src/main.go").stdout)
	require.Equal(t, "\x00\x01", f.run("show", "bin").stdout, "as it is now, byte for byte")
	require.Equal(t, statusFailed, f.run("show", "--at", first, "bin").status, "it came later")

	out = f.run("restore", "--dry-run", first)
	for _, path := range []string{"bin", "keep", "src/main.go", "src/new.go"} {
		require.Contains(t, out.stdout, " "+path+"\n")
	}
	require.Contains(t, out.stderr, "Nothing has changed yet")
	require.FileExists(t, filepath.Join(f.dir, "bin"))
	out = f.run("restore", "--json", first[:10])
	require.Equal(t, statusDone, out.status, out.stderr)
	var restored editors.RestoreResult
	require.NoError(t, json.Unmarshal([]byte(out.stdout), &restored))
	require.Len(t, restored.Restored, 4)
	require.Empty(t, restored.Conflicts)
	require.NoFileExists(t, filepath.Join(f.dir, "bin"))

	out = f.run("checkpoints")
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	require.Len(t, lines, 2, out.stdout)
	require.Contains(t, lines[0], "the beginning; Requested", "one checkpoint is one row")
	require.Contains(t, lines[1], `Before restoring "the beginning"`)
	out = f.run("restore", restored.Undo)
	require.Equal(t, statusDone, out.status, out.stderr)
	require.FileExists(t, filepath.Join(f.dir, "bin"))
	require.Contains(t, f.run("checkpoints").stdout, "Before restoring "+restored.Undo[:12], "names do not name names")

	out = f.run("restore", strings.Repeat("0", 64))
	require.Equal(t, statusFailed, out.status)
	other := newPlainFolder(t)
	other.home = f.home
	out = other.run("restore", first)
	require.Equal(t, statusFailed, out.status, "of another folder")
	entries, err := os.ReadDir(f.dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "nothing of ours is left in the folder")
	require.Equal(t, statusUsage, f.run("restore").status)
	require.Equal(t, statusUsage, f.run("checkpoint", "--workspace", f.dir, "s1").status)
	require.Equal(t, statusUsage, f.run("checkpoints", "--workspace", "/does/not/exist").status)
	out = f.run("checkpoint", "--workspace", "/")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "whole file system")
}

func TestConfiguredCheckpoints(t *testing.T) {
	f := newPlainFolder(t)
	f.write("kept", "1")
	f.write("node_modules/x/y", "2")
	f.write("a.o", "3")
	f.env = map[string]string{"SANDBOX_AGENT_CHECKPOINT_EXCLUDE": "node_modules, *.o"}
	require.Contains(t, f.run("checkpoint").stderr, "· a.o: excluded\n· node_modules: excluded\n")
	f.env = map[string]string{"SANDBOX_AGENT_CHECKPOINT_FILES": "2"}
	out := f.run("checkpoint")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "more than 2 files")
}

func TestCheckpointsOfASession(t *testing.T) {
	f := newFake()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	id := strings.Repeat("ab", 32)
	editors.Handle(&f.mux, editors.TakeCheckpoint, func(_ context.Context, p editors.CheckpointParams) (editors.CheckpointResult, error) {
		require.Equal(t, editors.CheckpointParams{RequestID: "r", SessionID: "s1", Summary: "now"}, p)
		return editors.CheckpointResult{
			Checkpoint: editors.Checkpoint{ID: id}, Partial: true, Skipped: []editors.Skipped{{Path: "p\x1bipe", Reason: "a pipe"}}, SkippedAll: 3,
		}, nil
	})
	editors.Handle(&f.mux, editors.Checkpoints, func(context.Context, editors.SessionParams) (editors.CheckpointsResult, error) {
		return editors.CheckpointsResult{Checkpoints: []editors.Checkpoint{{ID: id, TurnID: 3, At: at, Summary: "Turn 3"}}}, nil
	})
	editors.Handle(&f.mux, editors.Diff, func(_ context.Context, p editors.DiffParams) (editors.DiffResult, error) {
		require.Equal(t, editors.DiffParams{SessionID: "s1", From: "abab", Paths: []string{"a", "b"}}, p)
		return editors.DiffResult{Files: []editors.FileDiff{{Path: "new", Kind: "renamed", OldPath: "old"}, {Path: "d/", Kind: "removed"}}, Truncated: true}, nil
	})
	editors.Handle(&f.mux, editors.Restore, func(_ context.Context, p editors.RestoreParams) (editors.RestoreResult, error) {
		require.Equal(t, editors.RestoreParams{RequestID: "r", SessionID: "s1", CheckpointID: "abab"}, p)
		return editors.RestoreResult{Restored: []string{"a", "d", "m", "x"}, Files: []editors.FileChange{
			{Path: "a", Kind: "added"}, {Path: "d", Kind: "removed"}, {Path: "m", Kind: "merged"}, {Path: "x", Kind: "changed"},
		}, Conflicts: []string{"b"}, Reasons: map[string]string{"b": "it was changed meanwhile"}, Undo: id}, nil
	})
	for _, tt := range []struct{ args, stdout, stderr string }{
		{"checkpoint s1 --request-id r --summary now", id + "\n", "· It is partial: some files could not be read.\n· \"p\\x1bipe\": a pipe\n· and 2 more\n"},
		{"checkpoints s1", "abababababab  2026-01-02 03:04:05    3  Turn 3\n", ""},
		{"diff s1 --from abab --path a --path b", "renamed old → new\nremoved d/\n", "· There is more; name paths by --path to see it.\n"},
		{"restore s1 --request-id r abab", "created  a\nremoved  d\nmerged   m\nchanged  x\nconflict b (it was changed meanwhile)\n", "· Not restored: 1 of 5.\n· To undo: sandbox-agent restore s1 abababababab\n"},
	} {
		require.Equal(t, outcome{statusDone, tt.stdout, tt.stderr}, runVerb(t, f, strings.Fields(tt.args)...), tt.args)
	}
}

func TestAFolderTellsOfItsSession(t *testing.T) {
	f := newPlainFolder(t)
	paths, err := config.ResolvePaths(func(name string) (string, bool) {
		home := map[string]string{"HOME": f.home}[name]
		return home, home != ""
	})
	require.NoError(t, err)
	store, err := checkpoint.Open(checkpoint.Options{Dir: paths.CheckpointDir})
	require.NoError(t, err)
	out := f.run("diff")
	require.Equal(t, statusFailed, out.status)
	require.NotContains(t, out.stderr, "session")
	require.Contains(t, out.stderr, "Take one: sandbox-agent checkpoint")

	f.write("a", "1")
	id := f.id()
	ids := []string{"0196-older", "0196-newer", "0196-empty", "0196-elsewhere"}
	for i, session := range ids {
		dir := filepath.Join(paths.SandboxDir, session)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		workspace := f.dir
		if session == "0196-elsewhere" {
			workspace = t.TempDir()
		}
		b, err := json.Marshal(map[string]string{"id": fmt.Sprintf("%s.%d", session, i), "workspace": workspace})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sandbox.json"), b, 0o600))
		if session != "0196-empty" {
			require.NoError(t, store.Pin(checkpoint.Ref{Checkpoint: id, Session: session, At: time.Unix(int64(i)*1000, 0)}))
		}
	}
	const has = "A session has checkpoints of this folder too (1): sandbox-agent "
	require.Contains(t, f.run("checkpoints").stderr, has+"checkpoints 0196-newer\n")
	require.Contains(t, f.run("diff").stderr, has+"diff 0196-newer\n")
	require.Empty(t, f.run("checkpoints", "--json").stderr)
	require.NotContains(t, f.run("checkpoint").stderr, "0196")
}

// TestAFolderIsClearedUp: by whatever looks at it.
func TestAFolderIsClearedUp(t *testing.T) {
	f := newPlainFolder(t)
	f.write("a", "1")
	id := f.id()
	stage := filepath.Join(f.dir, ".sandbox-restore-left")
	for _, verb := range [][]string{{"checkpoints"}, {"checkpoints", "--json"}, {"checkpoint"}, {"diff", "--from", id, "--to", id}, {"restore", id}, {"doctor"}} {
		f.write(".sandbox-restore-left/0", "staged")
		f.runAll(verb...)
		require.NoDirExists(t, stage, verb)
	}
	f.write(".sandbox-restore-left/committing", "")
	require.Contains(t, f.run("checkpoints").stderr, `".sandbox-restore-left": a restore of this folder was cut short`)
	require.Contains(t, f.run("checkpoint").stderr, ".sandbox-restore-left: an unfinished restore")
	require.Contains(t, f.runAll("doctor").stdout, `! folder: ".sandbox-restore-left": a restore`)
	require.DirExists(t, stage)
}

// TestNamesForgeNoLines: a file is called whatever somebody likes.
func TestNamesForgeNoLines(t *testing.T) {
	f := newPlainFolder(t)
	const forged = "x\ncreated  forged\x1b[2K"
	f.write(forged, "1")
	id := f.id()
	f.write(forged, "2")
	const quoted = `"x\ncreated  forged\x1b[2K"`
	require.Equal(t, "changed "+quoted+"\n", f.run("diff").stdout)
	require.Equal(t, "changed  "+quoted+"\n", f.run("restore", id).stdout)
	for _, path := range []string{"étoile", "nosuch", "x\nError: y"} {
		out := f.run("restore", "--path", path, id)
		require.Equal(t, statusFailed, out.status)
		require.Equal(t, "Error: "+strconv.Quote(path)+": it is neither in the checkpoint nor in the workspace\n", out.stderr)
	}
}

// TestUndoIsACommand that works wherever it is typed.
func TestUndoIsACommand(t *testing.T) {
	f := newPlainFolder(t)
	f.dir = filepath.Join(f.dir, "a b's")
	f.write("f", "1")
	id := f.id()
	f.write("f", "2")
	out := f.run("restore", id)
	command, ok := strings.CutPrefix(strings.TrimSpace(out.stderr), "· To undo: sandbox-agent ")
	require.True(t, ok, out.stderr)
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+command).Output()
	require.NoError(t, err)
	args := strings.Split(strings.TrimSpace(string(words)), "\n")
	require.Equal(t, []string{"restore", "--workspace", f.dir}, args[:3])
	require.Equal(t, statusDone, f.run(args...).status)
	b, err := os.ReadFile(filepath.Join(f.dir, "f"))
	require.NoError(t, err)
	require.Equal(t, "2", string(b))
}

// TestWhatWasAskedForIsMissed: a restore that left alone what was named has failed.
func TestWhatWasAskedForIsMissed(t *testing.T) {
	kept := editors.RestoreResult{Kept: []string{"a", ".git"}, Undo: "u"}
	require.False(t, missed(kept, nil), "nothing was named")
	require.True(t, missed(kept, []string{"."}))
	require.True(t, missed(editors.RestoreResult{Conflicts: []string{"a"}}, []string{"a"}))
	require.False(t, missed(editors.RestoreResult{Kept: []string{".git", "m/.git"}}, []string{"."}), "which restores never touch")
	require.True(t, missed(editors.RestoreResult{Kept: []string{".git"}}, []string{".git"}))

	f := newPlainFolder(t)
	f.write("f", "1")
	id := f.id()
	f.write("f", "22")
	f.env = map[string]string{"SANDBOX_AGENT_CHECKPOINT_FILE_SIZE": "1"}
	for _, flag := range [][]string{nil, {"--json"}} {
		out := f.run(append([]string{"restore", "--path", "f", id}, flag...)...)
		require.Equal(t, statusFailed, out.status, out.stderr)
		require.Contains(t, out.stdout, "no checkpoint can hold it as it is now")
	}
	require.Equal(t, statusDone, f.run("restore", "--dry-run", "--path", "f", id).status)
}
