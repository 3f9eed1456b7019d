// This file tests that sandboxes are found, stopped and removed, and that nothing else is.

package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/workspace"
)

func ensured(t *testing.T, a *Activities, in agent.Sandbox) agent.EnsureOutput {
	t.Helper()
	out, err := activityOf[agent.EnsureOutput](t, a.EnsureSandbox, in)
	require.NoError(t, err)
	return out
}

func TestSandboxesThatAreGone(t *testing.T) {
	a := newActivities(t)
	home, id := aSession(t, a)
	require.Equal(t, agent.EnsureOutput{}, ensured(t, a, home))
	fresh := agent.Sandbox{SessionID: "new", Owner: "me", HostID: "host", Folder: home.Folder, Backend: editors.Backend{Kind: editors.Docker}}
	require.Equal(t, agent.EnsureOutput{}, ensured(t, a, fresh), "a new session's is made when it is needed")

	box := moved(home, editors.Docker, 1)
	_, err := activityOf[agent.CarryOutput](t, a.OpenCarried, agent.OpenInput{Sandbox: box, From: home, CheckpointID: id, Effect: "e1"})
	require.NoError(t, err)
	require.Equal(t, agent.EnsureOutput{}, ensured(t, a, box))
	require.NoError(t, os.RemoveAll(filepath.Join(a.containers(t).dir, box.ID())))
	require.Equal(t, agent.EnsureOutput{Gone: true}, ensured(t, a, box))

	fork := moved(home, editors.Local, 0)
	fork.SessionID = "s2"
	fork.Backend.WorkspaceRoot = filepath.Join(a.Forks.Dir, "s2", "project")
	require.Equal(t, agent.EnsureOutput{Gone: true}, ensured(t, a, fork))
	_, err = activityOf[agent.CarryOutput](t, a.OpenCarried, agent.OpenInput{Sandbox: fork, From: home, CheckpointID: id, Effect: "e2", Reason: "fork"})
	require.NoError(t, err)
	require.Equal(t, agent.EnsureOutput{}, ensured(t, a, fork))
	all, err := a.Forks.List()
	require.NoError(t, err)
	require.Equal(t, "host realm me", all[0].HostID+" "+all[0].Realm+" "+all[0].Owner)
}

func TestStopping(t *testing.T) {
	a := newActivities(t)
	home, _ := aSession(t, a)
	for _, in := range []agent.Sandbox{home, moved(home, editors.Docker, 3)} {
		_, err := activityOf[any](t, a.StopSandbox, in)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"s1.3"}, a.containers(t).stopped)
}

func TestDestroying(t *testing.T) {
	a := newActivities(t)
	home, id := aSession(t, a)
	fork := moved(home, editors.Local, 0)
	fork.SessionID = "s2"
	fork.Backend.WorkspaceRoot = filepath.Join(a.Forks.Dir, "s2", "project")
	_, err := activityOf[agent.CarryOutput](t, a.OpenCarried, agent.OpenInput{Sandbox: fork, From: home, CheckpointID: id, Effect: "e2", Reason: "fork"})
	require.NoError(t, err)
	other := filepath.Join(a.Forks.Dir, "s3", "project")
	require.NoError(t, a.Forks.Make(other, workspace.Fork{Session: "s3"}))
	destroy := func(in agent.DestroyInput) {
		t.Helper()
		for range 2 {
			_, err := activityOf[any](t, a.DestroySandbox, in)
			require.NoError(t, err)
		}
	}
	store, err := a.Checkpoints()
	require.NoError(t, err)

	destroy(agent.DestroyInput{Sandbox: fork, Former: true, Home: fork.Backend.WorkspaceRoot})
	require.DirExists(t, fork.Backend.WorkspaceRoot, "the session goes on")
	refs, err := store.List("s2", "")
	require.NoError(t, err)
	require.NotEmpty(t, refs)

	for _, not := range []string{"", home.Folder, other, a.Forks.Dir, filepath.Join(a.Forks.Dir, "s2")} {
		destroy(agent.DestroyInput{Sandbox: fork, Home: not})
		require.DirExists(t, fork.Backend.WorkspaceRoot)
		require.DirExists(t, home.Folder)
		require.DirExists(t, other)
	}
	destroy(agent.DestroyInput{Sandbox: fork, Home: fork.Backend.WorkspaceRoot})
	require.NoDirExists(t, filepath.Join(a.Forks.Dir, "s2"))
	refs, err = store.List("s2", "")
	require.NoError(t, err)
	require.Empty(t, refs)
	require.Equal(t, "one\n", read(t, filepath.Join(home.Folder, "f")))
}

// While its engine is away, a session that ends lets go all the same of what needs no engine; the container is left.
func TestDestroyingWhileTheEngineIsAway(t *testing.T) {
	a := newActivities(t)
	home, id := aSession(t, a)
	fork := moved(home, editors.Docker, 0)
	fork.SessionID = "s2"
	_, err := activityOf[agent.CarryOutput](t, a.OpenCarried, agent.OpenInput{Sandbox: fork, From: home, CheckpointID: id, Effect: "e2", Reason: "fork"})
	require.NoError(t, err)
	dir := filepath.Join(a.Forks.Dir, "s2", "project")
	require.NoError(t, a.Forks.Make(dir, workspace.Fork{Session: "s2"}))
	a.containers(t).stuck = sandbox.Errorf(sandbox.ClassUnavailable, "destroy", "no engine answers")
	_, err = activityOf[any](t, a.DestroySandbox, agent.DestroyInput{Sandbox: fork, Home: dir})
	require.ErrorContains(t, err, "no engine answers")
	require.NoDirExists(t, filepath.Dir(dir))
	store, err := a.Checkpoints()
	require.NoError(t, err)
	refs, err := store.List("s2", "")
	require.NoError(t, err)
	require.Empty(t, refs)
	require.True(t, a.containers(t).has(fork.ID()))

	there := moved(home, editors.Local, 0)
	there.SessionID, there.Backend.WorkspaceRoot = "s3", filepath.Join(a.Forks.Dir, "s3", "project")
	require.NoError(t, a.Forks.Make(there.Backend.WorkspaceRoot, workspace.Fork{Session: "s3"}))
	folders, ok := a.Backends[editors.Local].(*places)
	require.True(t, ok)
	folders.stuck = sandbox.Errorf(sandbox.ClassUnavailable, "destroy", "a process goes on")
	_, err = activityOf[any](t, a.DestroySandbox, agent.DestroyInput{Sandbox: there, Home: there.Backend.WorkspaceRoot})
	require.ErrorContains(t, err, "a process goes on")
	require.DirExists(t, there.Backend.WorkspaceRoot, "nothing is taken from below what still runs")
}
