// This file tests that commands on checkpoints reach the worker with the session's sandbox, and never a running turn.

package core

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/feed"
)

func TestCommandsOnCheckpoints(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	s := f.add("s1", core.HostID())
	f.add("far", "another host")
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })

	var got agent.OnSandbox[agent.RestoreInput]
	hub.Handle(CallRestore, func(_ context.Context, raw editors.Raw) (any, error) {
		return editors.RestoreResult{Restored: []string{"f"}, Kept: []string{}, Conflicts: []string{}}, copyJSON(raw, &got)
	})
	result, err := run[editors.RestoreResult](t, conn, "restore", editors.RestoreParams{SessionID: "s1", CheckpointID: "c", Paths: []string{"f"}, DryRun: true})
	require.NoError(t, err)
	require.Empty(t, result.Undo)
	require.NotEmpty(t, got.Params.RequestID)
	require.Equal(t, []string{"f"}, got.Params.Paths)
	require.Equal(t, agent.Sandbox{
		SessionID: "s1", Owner: core.opts.Config.Owner, HostID: core.HostID(), Folder: strings.TrimPrefix(testFolder, "file://"), Backend: editors.Backend{Kind: editors.Local},
	}, got.Sandbox)

	hub.Handle(CallDiff, func(context.Context, editors.Raw) (any, error) {
		return nil, editors.Errorf(editors.CodeCorruptCheckpoint, "the checkpoint is damaged")
	})
	_, err = run[editors.DiffResult](t, conn, "diff", editors.DiffParams{SessionID: "s1"})
	require.Equal(t, editors.CodeCorruptCheckpoint, editors.CodeOf(err))

	result, err = run[editors.RestoreResult](t, conn, "restore", editors.RestoreParams{SessionID: "s1", CheckpointID: "c"})
	require.NoError(t, err)
	require.Equal(t, "u", result.Undo)
	require.Equal(t, agent.UpdateRestore, f.updates[len(f.updates)-1].name)
	s.refuse = refused(agent.ErrTypeBusy, "turn 1 is running")
	_, err = run[editors.RestoreResult](t, conn, "restore", editors.RestoreParams{SessionID: "s1", CheckpointID: "c"})
	require.Equal(t, editors.CodeBusy, editors.CodeOf(err))

	for _, tt := range []struct {
		params editors.RestoreParams
		code   editors.Code
	}{
		{editors.RestoreParams{CheckpointID: "c"}, editors.CodeInvalidParams},
		{editors.RestoreParams{SessionID: "s1"}, editors.CodeInvalidParams},
		{editors.RestoreParams{SessionID: "far", CheckpointID: "c"}, editors.CodeUnsupported},
		{editors.RestoreParams{SessionID: "none", CheckpointID: "c"}, editors.CodeNotFound},
	} {
		_, err := run[editors.RestoreResult](t, conn, "restore", tt.params)
		require.Equal(t, tt.code, editors.CodeOf(err), "%+v", tt.params)
	}
}

func TestACheckpointThatIsAskedForIsToldToEverybody(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	f.add("s1", core.HostID())
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.Handle(CallCheckpoint, func(_ context.Context, raw editors.Raw) (any, error) {
		var in agent.OnSandbox[editors.CheckpointParams]
		if err := copyJSON(raw, &in); err != nil {
			return nil, err
		}
		return editors.CheckpointResult{Checkpoint: editors.Checkpoint{ID: "c1", Summary: in.Params.Summary}}, nil
	})
	params := editors.CheckpointParams{SessionID: "s1", RequestID: "r1", Summary: "Before lunch"}
	result, err := run[editors.CheckpointResult](t, conn, "checkpoint", params)
	require.NoError(t, err)
	last := f.updates[len(f.updates)-1]
	require.Equal(t, agent.UpdateTaken, last.name)
	require.Equal(t, agent.TakenInput{RequestID: "r1", Checkpoint: result.Checkpoint}, last.arg)

	params.Summary = strings.Repeat("ä", editors.MaxTitleRunes+1)
	_, err = run[editors.CheckpointResult](t, conn, "checkpoint", params)
	require.Equal(t, editors.CodeLimit, editors.CodeOf(err))
}
