// This test records what a session that moves, is forked, adopts and restores decides, so that later versions can go on with it.

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/replay"
	"sandboxagent/internal/session"
)

func TestTodaysCarriesReplay(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		run("begin", `echo begun > file`, "Begun."),
		run("other way", `echo fork > forks`, "Otherwise."),
		run("go on", `sleep 1; echo on > on`, "Gone on."),
	), "SANDBOX_AGENT_OWNER=tester")
	id := i.session()
	i.done(id, "begin")
	i.ok(nil, "switch", "--session", id, "--into", filepath.Join(t.TempDir(), "elsewhere"), "local")
	going := i.start("ask", "--session", id, "go on")
	going.until("the turn", isType(editors.TurnStarted))
	i.ok(nil, "switch", "--session", id, "local") // waits for the turn
	require.Zero(t, going.wait(), going.describe())
	i.eventually("it is at home again", func() bool { return i.listed(id).Backend == editors.Backend{Kind: editors.Local} })
	var forked editors.SessionResult
	i.ok(&forked, "fork", id, "--turn", "1")
	fork := forked.Session.ID
	i.done(fork, "other way")
	i.ok(nil, "adopt", fork)
	var list editors.CheckpointsResult
	i.ok(&list, "checkpoints", id)
	i.ok(nil, "restore", id, list.Checkpoints[0].ID)
	i.done(id, "begin")
	i.ok(nil, "pause", id)
	i.ok(nil, "destroy", fork)
	i.ok(nil, "destroy", id)
	for name, workflow := range map[string]string{
		"carried": agent.WorkflowID(id), "fork": agent.WorkflowID(fork), "forking": session.ManagerID("tester"),
	} {
		history := i.history(workflow)
		require.NoError(t, replay.History(history), name)
		i.keep(name, history)
	}
}
