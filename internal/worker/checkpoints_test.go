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
	"sandboxagent/internal/checkpoint/commands"
)

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
	dir := t.TempDir()
	a := newActivities(t)
	in := agent.Sandbox{SessionID: "s1", Owner: "me", Folder: dir, Backend: editors.Backend{Kind: editors.Local}}
	take, list := onCheckpoints(a, commands.Subject.Take), onCheckpoints(a, commands.Subject.List)
	diff, plan := onCheckpoints(a, commands.Subject.Diff), onCheckpoints(a, planRestore)
	restore := func(in agent.Sandbox, p editors.RestoreParams, effect string) (agent.RestoreOutput, error) {
		return activityOf[agent.RestoreOutput](t, a.Restore, agent.RestoreTask{Sandbox: in, Restore: agent.RestoreInput{RestoreParams: p}, Effect: effect})
	}
	file := filepath.Join(dir, "f")

	_, err := asked[editors.DiffResult](t, diff, in, editors.DiffParams{SessionID: "s1"})
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

	p := editors.RestoreParams{SessionID: "s1", CheckpointID: first.Checkpoint.ID}
	held, err := asked[editors.RestoreResult](t, plan, in, agent.RestoreInput{RestoreParams: p, Held: map[string]string{"f": "unsaved"}})
	require.NoError(t, err)
	require.Empty(t, held.Restored)
	planned, err := asked[editors.RestoreResult](t, plan, in, agent.RestoreInput{RestoreParams: p})
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, planned.Restored)
	require.Equal(t, "two\n", read(t, file), "a plan changes nothing")

	back, err := restore(in, p, "r2")
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, back.Result.Restored)
	require.NoError(t, os.WriteFile(file, []byte("three\n"), 0o644))
	repeated, err := restore(in, p, "r2")
	require.NoError(t, err)
	require.Equal(t, back, repeated)
	require.Equal(t, "three\n", read(t, file), "a repeated effect changes nothing")

	listed, err := asked[editors.CheckpointsResult](t, list, in, editors.SessionParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Len(t, listed.Checkpoints, 2)
	require.Equal(t, back.Result.Undo, listed.Checkpoints[1].ID)
	other := in
	other.SessionID = "s2"
	refused, err := restore(other, p, "r3")
	require.NoError(t, err)
	require.Equal(t, editors.CodeNotFound, refused.Failure.Code, "a session's checkpoints are its own")

	_, err = activityOf[any](t, a.DestroySandbox, agent.DestroyInput{Sandbox: in})
	require.NoError(t, err)
	listed, err = asked[editors.CheckpointsResult](t, list, in, editors.SessionParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Empty(t, listed.Checkpoints)
}
