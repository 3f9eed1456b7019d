// These tests lose what sandboxes hold, and look at what needs them afterwards.

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// What needs the folder of a fork that somebody has removed finds it made again, with all that the last checkpoint has.
func TestTheFolderOfAForkIsMadeAgain(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(
		run("begin", `echo begun > file`, "Begun."),
		run("other way", `echo fork > forks && rm file`, "Otherwise."),
	))
	id := i.session("--title", "Work")
	i.done(id, "begin")
	var forked, again editors.SessionResult
	i.ok(&forked, "fork", id)
	fork := forked.Session.ID
	dir := forked.Session.Backend.WorkspaceRoot
	i.done(fork, "other way")
	lose := func() { require.NoError(t, os.RemoveAll(filepath.Dir(dir))) }

	lose()
	code, message, _ := i.refused("diff", fork)
	require.Equal(t, "notFound", code)
	require.Contains(t, message, "ask again, and it is made anew")
	require.NoDirExists(t, dir, "a look makes nothing")
	i.ok(&again, "fork", fork)
	require.Equal(t, "Work (fork #2)", again.Session.Title)
	require.FileExists(t, filepath.Join(again.Session.Backend.WorkspaceRoot, "forks"))
	require.FileExists(t, filepath.Join(dir, "forks"))

	lose()
	var list editors.CheckpointsResult
	i.ok(&list, "checkpoints", fork)
	var back editors.RestoreResult
	i.ok(&back, "restore", fork, list.Checkpoints[0].ID)
	require.NoFileExists(t, filepath.Join(dir, "forks"))
	i.ok(nil, "restore", fork, back.Undo)

	lose()
	var adopted editors.AdoptResult
	i.ok(&adopted, "adopt", fork)
	require.Equal(t, []int{1, 1}, []int{adopted.Carry.Added, adopted.Carry.Removed}, "%+v", adopted.Carry)
	require.Equal(t, "fork\n", i.read("forks"))
	i.eventually("all rest", func() bool { return i.listed(fork).State.Status == editors.StatusIdle })
}
