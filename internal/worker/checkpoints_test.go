// This file tests the answers about a session's checkpoints, on folders in place of sandboxes.

package worker

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/sandbox"
)

// folders is a backend whose sandboxes are the folders themselves.
type folders struct {
	sandbox.Backend
	state string
}

type folderSandbox struct {
	sandbox.Sandbox
	*worktree.Tree
}

func (folderSandbox) Close() error { return nil }

func (f folders) Open(_ context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	return folderSandbox{Tree: worktree.New(worktree.Options{Root: s.Workspace, State: f.state})}, nil
}

func (folders) Destroy(context.Context, sandbox.Ref) error { return nil }

// asked calls a handler as the socket does.
func asked[R, P any](t *testing.T, h func(context.Context, json.RawMessage) (any, error), in agent.Sandbox, p P) (R, error) {
	t.Helper()
	raw, err := json.Marshal(agent.OnSandbox[P]{Sandbox: in, Params: p})
	require.NoError(t, err)
	var result R
	answer, err := h(t.Context(), raw)
	if err != nil {
		return result, err
	}
	result, ok := answer.(R)
	require.True(t, ok)
	return result, nil
}

func TestCheckpointsOfASession(t *testing.T) {
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(t.TempDir(), "store"), Reserve: -1})
	require.NoError(t, err)
	dir := t.TempDir()
	a := &Activities{
		PlanDir:     t.TempDir(),
		Checkpoints: func() (*checkpoint.Store, error) { return store, nil },
		Backends:    map[editors.BackendKind]sandbox.Backend{editors.Local: folders{state: filepath.Join(t.TempDir(), "state")}},
	}
	in := agent.Sandbox{SessionID: "s1", Owner: "me", Folder: dir, Backend: editors.Backend{Kind: editors.Local}}
	take, list := onCheckpoints(a, commands.Subject.Take), onCheckpoints(a, commands.Subject.List)
	diff, restore := onCheckpoints(a, commands.Subject.Diff), onCheckpoints(a, commands.Subject.Restore)
	file := filepath.Join(dir, "f")

	_, err = asked[editors.DiffResult](t, diff, in, editors.DiffParams{SessionID: "s1"})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
	require.NoError(t, os.WriteFile(file, []byte("one\n"), 0o644))
	first, err := asked[editors.CheckpointResult](t, take, in, editors.CheckpointParams{RequestID: "r1", SessionID: "s1", Summary: "first"})
	require.NoError(t, err)
	again, err := asked[editors.CheckpointResult](t, take, in, editors.CheckpointParams{RequestID: "r1", SessionID: "s1", Summary: "first"})
	require.NoError(t, err)
	require.Equal(t, first.Checkpoint.ID, again.Checkpoint.ID)

	require.NoError(t, os.WriteFile(file, []byte("two\n"), 0o644))
	d, err := asked[editors.DiffResult](t, diff, in, editors.DiffParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Len(t, d.Files, 1)
	require.Contains(t, d.Files[0].Patch, "-one\n+two\n")

	p := editors.RestoreParams{RequestID: "r2", SessionID: "s1", CheckpointID: first.Checkpoint.ID}
	back, err := asked[editors.RestoreResult](t, restore, in, p)
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, back.Restored)
	require.NoError(t, os.WriteFile(file, []byte("three\n"), 0o644))
	repeated, err := asked[editors.RestoreResult](t, restore, in, p)
	require.NoError(t, err)
	require.Equal(t, back, repeated)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "three\n", string(b), "a repeated request changes nothing")

	listed, err := asked[editors.CheckpointsResult](t, list, in, editors.SessionParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Len(t, listed.Checkpoints, 2)
	require.Equal(t, back.Undo, listed.Checkpoints[1].ID)
	other := in
	other.SessionID = "s2"
	_, err = asked[editors.RestoreResult](t, restore, other, p)
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err), "a session's checkpoints are its own")

	require.NoError(t, a.DestroySandbox(t.Context(), agent.DestroyInput{Sandbox: in}))
	listed, err = asked[editors.CheckpointsResult](t, list, in, editors.SessionParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Empty(t, listed.Checkpoints)
}
