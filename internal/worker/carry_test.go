// This file tests the activities that carry workspaces.

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
	"sandboxagent/internal/sandbox"
)

// aSession is one in a folder with files.
func aSession(t *testing.T, a *Activities) (home agent.Sandbox, id string) {
	t.Helper()
	home = agent.Sandbox{SessionID: "s1", Owner: "me", HostID: "host", Folder: t.TempDir(), Backend: editors.Backend{Kind: editors.Local}}
	require.NoError(t, os.WriteFile(filepath.Join(home.Folder, "f"), []byte("one\n"), 0o644))
	return home, pictured(t, a, home)
}

func pictured(t *testing.T, a *Activities, in agent.Sandbox) string {
	t.Helper()
	out, err := activityOf[agent.CheckpointOutput](t, a.TakeCheckpoint, agent.CheckpointInput{Sandbox: in, Summary: "now", Effect: t.Name(), Reason: "switch"})
	require.NoError(t, err)
	require.Empty(t, out.Failure)
	require.Positive(t, out.Files)
	return out.Checkpoint.ID
}

func moved(in agent.Sandbox, kind editors.BackendKind, epoch int64) agent.Sandbox {
	in.Backend, in.Epoch = editors.Backend{Kind: kind}, epoch
	return in
}

func TestThereAndBack(t *testing.T) {
	a := newActivities(t)
	home, id := aSession(t, a)
	box := moved(home, editors.Docker, 1)
	out, err := activityOf[agent.CarryOutput](t, a.OpenCarried, agent.OpenInput{Sandbox: box, From: home, CheckpointID: id, Base: id, Effect: "e1", Reason: "switch"})
	require.NoError(t, err)
	require.Nil(t, out.Failure)
	require.Equal(t, 1, out.Carry.Added)
	require.Equal(t, id, out.CheckpointID)
	there := filepath.Join(a.containers(t).dir, box.ID(), "workspace", "f")
	require.Equal(t, "one\n", read(t, there))
	require.NoError(t, os.WriteFile(there, []byte("two\n"), 0o644))

	merge := agent.MergeInput{Sandbox: moved(home, editors.Local, 2), From: box, Base: out.Base, Theirs: pictured(t, a, box), Effect: "e2", Summary: "Before coming back"}
	back, err := activityOf[agent.CarryOutput](t, a.MergeInto, merge)
	require.NoError(t, err)
	require.Nil(t, back.Failure)
	require.True(t, back.Applied)
	require.Equal(t, 1, back.Carry.Changed)
	require.NotEmpty(t, back.Undo)
	require.Equal(t, "two\n", read(t, filepath.Join(home.Folder, "f")))
	merge.Theirs, merge.Effect = "0", "e3"
	refused, err := activityOf[agent.CarryOutput](t, a.MergeInto, merge)
	require.NoError(t, err)
	require.Equal(t, editors.CodeInvalidParams, refused.Failure.Code)
}

func TestPlansLookAtTheWorkspaceAsItIs(t *testing.T) {
	a := newActivities(t)
	home, id := aSession(t, a)
	require.NoError(t, os.WriteFile(filepath.Join(home.Folder, "new"), []byte("n"), 0o644))
	ask := func(h func(context.Context, json.RawMessage) (any, error), in any) agent.CarryOutput {
		t.Helper()
		raw, err := json.Marshal(in)
		require.NoError(t, err)
		answer, err := h(t.Context(), raw)
		require.NoError(t, err)
		out, ok := answer.(agent.CarryOutput)
		require.True(t, ok)
		return out
	}
	out := ask(a.planOpen, agent.OpenInput{Sandbox: moved(home, editors.Docker, 1), From: home})
	require.Equal(t, 2, out.Carry.Added)
	require.False(t, a.containers(t).has("s1.1"))

	other := home
	other.Folder, other.SessionID = t.TempDir(), "s2"
	merged := ask(a.planMerge, agent.MergeInput{Sandbox: other, From: home, Base: id})
	require.Equal(t, 1, merged.Carry.Added)
	require.NoFileExists(t, filepath.Join(other.Folder, "new"))
	failed := ask(a.planOpen, agent.OpenInput{Sandbox: moved(home, editors.E2B, 1), From: home})
	require.Equal(t, editors.CodeUnsupported, failed.Failure.Code)
}

// A failure names its cause and what to do about it; nothing is left of the sandbox.
func TestEngineThatIsAway(t *testing.T) {
	a := newActivities(t)
	home, id := aSession(t, a)
	a.containers(t).broken = sandbox.Errorf(sandbox.ClassUnavailable, "open sandbox", "no Docker engine answers at /var/run/docker.sock: start Docker, or set DOCKER_HOST to where it runs")
	box := moved(home, editors.Docker, 1)
	want := &agent.Failure{
		Code: editors.CodeBackendUnavailable, Message: "no Docker engine answers at /var/run/docker.sock", Remedy: "Start Docker, or set DOCKER_HOST to where it runs.",
	}
	out, err := activityOf[agent.CarryOutput](t, a.OpenCarried, agent.OpenInput{Sandbox: box, From: home, CheckpointID: id, Effect: "e1"})
	require.NoError(t, err)
	require.Equal(t, want, out.Failure)
	ensured, err := activityOf[agent.EnsureOutput](t, a.EnsureSandbox, box)
	require.NoError(t, err)
	require.Equal(t, want, ensured.Failure)
	require.False(t, ensured.Gone)
	require.Equal(t, "one\n", read(t, filepath.Join(home.Folder, "f")))
}

func TestRemediesAreCutFromMessages(t *testing.T) {
	for message, want := range map[string][2]string{
		"it is away: start it":                    {"it is away", "Start it."},
		"it is away":                              {"it is away", ""},
		"it refused (error: no): try again":       {"it refused (error: no)", "Try again."},
		"see http://example.com (it says: never)": {"see http://example.com (it says: never)", ""},
	} {
		what, remedy := cutRemedy(message)
		require.Equal(t, want, [2]string{what, remedy})
	}
}

// A try that Temporal has given up on may still be at it; the next one waits.
func TestOneAtATime(t *testing.T) {
	var h holds
	done, err := h.take(t.Context(), "s1")
	require.NoError(t, err)
	other, wait := h.try("s1")
	require.Nil(t, other)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.take(ctx, "s1")
	require.ErrorIs(t, err, context.Canceled)
	elsewhere, err := h.take(t.Context(), "s2")
	require.NoError(t, err)
	elsewhere()
	done()
	<-wait
	done, _ = h.try("s1")
	require.NotNil(t, done)
}
