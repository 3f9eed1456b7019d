package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// TestATurnCanBeUndone restores what a turn's command did behind the agent's back, keeps what the user did since, and undoes
// the restore.
func TestATurnCanBeUndone(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("clean up", "exec_command", `{"command":"rm precious.txt; echo junk > junk.txt; echo changed > both.txt"}`, "Cleaned.")))
	i.write("precious.txt", "precious\n")
	i.write("both.txt", "as it was\n")
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "clean up")
	require.Zero(t, s.wait(), s.describe())
	id := s.all()[0].SessionID
	follow := i.start("attach", id)
	follow.until("the checkpoint after the turn", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.CheckpointCreated && e.Event.Checkpoint.Summary == "After turn 1"
	})
	require.NoFileExists(t, i.work+"/precious.txt")
	i.write("mine.txt", "written by the user since\n")

	var list editors.CheckpointsResult
	i.ok(&list, "checkpoints", id)
	var summaries []string
	for _, c := range list.Checkpoints {
		summaries = append(summaries, c.Summary)
	}
	require.Equal(t, []string{"Start of the session", "Before turn 1", "After turn 1"}, summaries)
	var restored editors.RestoreResult
	i.ok(&restored, "restore", id, list.Checkpoints[1].ID)
	require.Equal(t, "precious\n", i.read("precious.txt"))
	require.Equal(t, "as it was\n", i.read("both.txt"))
	require.NoFileExists(t, i.work+"/junk.txt")
	require.Equal(t, "written by the user since\n", i.read("mine.txt"), "what the user did since stays")

	var taken editors.CheckpointResult
	i.ok(&taken, "checkpoint", id, "--summary", "Before the undo")
	follow.until("the checkpoint that somebody asked for", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.CheckpointCreated && e.Event.Checkpoint.ID == taken.Checkpoint.ID
	})

	i.ok(nil, "restore", id, restored.Undo)
	require.NoFileExists(t, i.work+"/precious.txt")
	require.Equal(t, "junk\n", i.read("junk.txt"))
	require.Equal(t, "written by the user since\n", i.read("mine.txt"))
}
