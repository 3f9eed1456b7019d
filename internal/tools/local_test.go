// This file runs the tools in a real folder with real processes: the test binary is the helper too.

package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/local"
)

func TestMain(m *testing.M) {
	if helper.Invoked(os.Args) {
		os.Exit(helper.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// newLocalRig is a rig over a folder of its own.
func newLocalRig(t *testing.T) (r *rig, folder string) {
	self, err := os.Executable()
	require.NoError(t, err)
	backend, err := local.New(local.Options{StateDir: filepath.Join(t.TempDir(), "state"), HelperBinary: self, HostID: "host"})
	require.NoError(t, err)
	folder = t.TempDir()
	box, err := backend.Open(t.Context(), sandbox.Spec{ID: "s1", Workspace: folder})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, box.Close())
		require.NoError(t, backend.Destroy(context.Background(), box.Ref()))
	})
	r = &rig{t: t, live: map[string]string{}}
	r.env = Env{
		Sandbox: box, Blobs: blob.NewMem(), Plans: DirPlans{Dir: t.TempDir()},
		OnOutput: func(stream string, data []byte) { r.live[stream] += string(data) },
	}
	return r, folder
}

func TestInAFolder(t *testing.T) {
	r, folder := newLocalRig(t)
	ctx := t.Context()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return string(data)
	}

	c := call("s/1/once", execCommand, obj{"command": "echo run >> log; echo out; echo err >&2; exit 3"})
	result := r.run(ctx, c)
	require.Equal(t, 3, *result.ExitCode)
	require.Contains(t, result.ForModel, "Standard output:\nout\nStandard error:\nerr\n")
	require.Equal(t, map[string]string{"stdout": "out\n", "stderr": "err\n"}, r.live)
	r.run(ctx, c)
	require.Equal(t, "run\n", read("log"), "the same call runs once")

	patch := call("s/1/patch", applyPatch, obj{"patch": "*** Add File: src/tool.sh\n+#!/bin/sh\n+echo hi\n*** Update File: log\n-run\n+ran\n"})
	result = r.run(ctx, patch)
	require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
	require.Equal(t, "ran\n", read("log"))
	require.Equal(t, result.Diff, r.run(ctx, patch).Diff)
	require.NoError(t, os.Chmod(filepath.Join(folder, "src/tool.sh"), 0o755))
	result = r.run(ctx, call("s/1/move", applyPatch, obj{"patch": "*** Update File: src/tool.sh\n*** Move to: bin/tool\n-echo hi\n+echo ho\n"}))
	require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
	result = r.run(ctx, call("s/1/tool", execCommand, obj{"command": "./tool", "workdir": filepath.Join(folder, "bin")}))
	require.Contains(t, result.ForModel, "Output:\nho\n", "it is still executable")
	require.Equal(t, "bin", result.Cwd)

	require.Contains(t, r.run(ctx, call("r", readFile, obj{"path": "bin/tool"})).ForModel, "     2\techo ho\n(2 lines)\n")
	require.Equal(t, "./\n  bin/\n    tool\n  log\n", strings.Replace(r.run(ctx, call("l", list, nil)).ForModel, "  src/\n", "", 1))
	require.Equal(t, "bin/tool\n     2\techo ho\n", r.run(ctx, call("f", search, obj{"pattern": "h[o]"})).ForModel)
	require.Contains(t, r.run(ctx, call("o", readFile, obj{"path": "../x"})).Error, "outside")
	require.Contains(t, r.run(ctx, call("p", applyPatch, obj{"patch": "*** Add File: ../x\n+x\n"})).Error, "outside")
	require.Contains(t, r.run(ctx, call("n", readFile, obj{"path": "nowhere"})).Error, "nowhere: there is no such file")
	require.Equal(t, editors.ItemFailed, r.run(ctx, call("d", execCommand, obj{"command": "ls", "workdir": "nowhere"})).Status)
}

func TestProcessesOfAFolder(t *testing.T) {
	r, folder := newLocalRig(t)
	result := r.run(t.Context(), call("bg", execCommand, obj{"command": "while read line; do echo got $line; done; echo bye", "background": true, "yield_ms": 100}))
	require.Contains(t, result.ForModel, "as command bg")
	result = r.run(t.Context(), call("in", writeStdin, obj{"command_id": "bg", "input": "x\n", "eof": true, "yield_ms": 20_000}))
	require.Contains(t, result.ForModel, "Output:\ngot x\nbye\n")
	require.Zero(t, *result.ExitCode)

	result = r.run(t.Context(), call("slow", execCommand, obj{"command": "echo started; sleep 100", "timeout_ms": 300}))
	require.Equal(t, editors.ItemFailed, result.Status)
	require.Contains(t, result.ForModel, "Timed out")
	require.Contains(t, result.ForModel, "started")

	ctx, cancel := context.WithCancel(t.Context())
	r.env.OnOutput = func(string, []byte) { cancel() }
	started := time.Now()
	result = r.run(ctx, call("int", execCommand, obj{"command": "echo $$; (setsid sleep 100 &) ; sleep 100"}))
	require.Equal(t, editors.ItemInterrupted, result.Status, result.ForModel)
	require.Contains(t, result.ForModel, "Output:\n")
	require.Less(t, time.Since(started), 30*time.Second)

	r.env.OnOutput = nil
	result = r.run(t.Context(), call("big", execCommand, obj{"command": "seq 1 300000"}))
	require.Contains(t, result.ForModel, "bytes left out")
	require.True(t, strings.HasSuffix(r.blob(result, "stdout"), "\n300000\n"))
	require.EqualValues(t, len(r.blob(result, "stdout")), result.Output.TotalBytes)

	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries, "nothing of ours is left in the folder")
}

func TestTerminalInAFolder(t *testing.T) {
	r, _ := newLocalRig(t)
	ctx := t.Context()
	r.run(ctx, call("bg", execCommand, obj{"command": `printf 'name? '; read x; stty size; echo "hello $x"; sleep 600`, "background": true, "tty": true, "yield_ms": 1}))
	result := r.run(ctx, call("in", writeStdin, obj{"command_id": "bg", "input": "you\n", "rows": 40, "cols": 120, "yield_ms": 1000}))
	require.Contains(t, result.ForModel, "40 120\nhello you\n")
	result = r.run(ctx, call("c", writeStdin, obj{"command_id": "bg", "input": "\x03", "yield_ms": 20_000}))
	require.Equal(t, 130, *result.ExitCode, result.ForModel)
	require.Contains(t, result.ForModel, "^C")
}
