// These tests look for what was made for sessions that do not exist any more.

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/sandbox/local"
	"sandboxagent/internal/worker"
)

func (i *install) orphans() worker.OrphansResult {
	i.Helper()
	c, err := feed.Dial(i.Context(), i.paths.WorkerSocket)
	require.NoError(i, err)
	defer c.Close()
	var found worker.OrphansResult
	require.NoError(i, c.Call(i.Context(), worker.MethodOrphans, editors.Empty{}, &found))
	return found
}

// A session that somebody ends in Temporal leaves its sandbox behind, which is found; those of others are not taken for it.
func TestSandboxesWithoutASessionAreFound(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("look", "exec_command", `{"command":"true"}`, "Looked.")))
	ask := func() string {
		s := i.start("ask", "--workspace", i.work, "--new", "--approve", "never", "look")
		require.Zero(t, s.wait(), s.describe())
		return s.all()[0].SessionID
	}
	lost, kept := ask(), ask()
	require.Equal(t, worker.OrphansResult{Orphans: []worker.Orphan{}}, i.orphans())

	c := i.temporalClient(t.Context())
	defer c.Close()
	require.NoError(t, c.TerminateWorkflow(t.Context(), agent.WorkflowID(lost), "", "by a test"))
	found := i.orphans()
	require.Empty(t, found.Problems)
	require.Len(t, found.Orphans, 1)
	require.Equal(t, lost, found.Orphans[0].SessionID)
	require.Equal(t, "local", found.Orphans[0].Kind)
	require.Equal(t, "its session does not exist", found.Orphans[0].Reason)
	require.True(t, found.Orphans[0].Removable)

	folders, err := local.New(local.Options{StateDir: i.paths.SandboxDir, HostID: "any"})
	require.NoError(t, err)
	all, err := folders.List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2, "what is young is not removed")
	require.NotEmpty(t, all[0].Realm)
	require.Equal(t, all[0].Realm, all[1].Realm)
	i.ok(nil, "destroy", kept)
	i.eventually("one is left", func() bool {
		all, err := folders.List(t.Context(), "")
		return err == nil && len(all) == 1 && all[0].ID == lost
	})
}
