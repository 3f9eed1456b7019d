// These tests kill the worker with -9 at each step of a switch, a fork, an adoption and a restore.

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/worker"
)

// killedAt makes an installation whose worker dies when it first comes to a step after arm, and says whether it has.
func killedAt(t *testing.T, step string) (i *install, arm func(), died func() bool) {
	t.Helper()
	mark := filepath.Join(t.TempDir(), "died")
	require.NoError(t, os.WriteFile(mark, nil, 0o600)) // a worker that finds it goes on
	i = newInstall(t, rules(run("change", `sed -i 's/^line 18$/line 18 by the agent/' text`, "Changed.")), worker.FaultVariable+"="+step+"="+mark)
	return i, func() { require.NoError(t, os.Remove(mark)) }, func() bool { _, err := os.Stat(mark); return err == nil }
}

func TestAKilledWorkerEndsWhatItHadBegun(t *testing.T) {
	t.Parallel()
	elsewhere := func(t *testing.T, i *install, id string) string {
		dir := filepath.Join(t.TempDir(), "elsewhere")
		i.ok(nil, "switch", "--session", id, "--into", dir, "local")
		return dir
	}
	restore := func(t *testing.T, i *install, id string) {
		var list editors.CheckpointsResult
		i.ok(&list, "checkpoints", id)
		i.write("since", "written since\n")
		var back editors.RestoreResult
		i.ok(&back, "restore", id, list.Checkpoints[0].ID)
		require.Equal(t, numbered(20), i.read("text"))
		require.Equal(t, "written since\n", i.read("since"))
		i.ok(nil, "restore", id, back.Undo)
		require.Contains(t, i.read("text"), "line 18 by the agent\n")
		require.Equal(t, "written since\n", i.read("since"))
	}
	open := func(t *testing.T, i *install, id string) {
		dir := elsewhere(t, i, id)
		b, err := os.ReadFile(filepath.Join(dir, "text"))
		require.NoError(t, err)
		require.Equal(t, numbered(20), string(b))
		require.Equal(t, dir, i.listed(id).Backend.WorkspaceRoot)
	}
	merge := func(t *testing.T, i *install, id string) {
		elsewhere(t, i, id)
		i.done(id, "change")
		i.write("text", "line 0 by the user\n"+numbered(20))
		var back editors.SwitchResult
		i.ok(&back, "switch", "--session", id, "local")
		require.Equal(t, 1, back.Carry.Merged, "%+v", back.Carry)
		require.Contains(t, i.read("text"), "line 0 by the user\nline 1\n")
		require.Contains(t, i.read("text"), "line 18 by the agent\n")
		i.ok(nil, "restore", id, back.Undo)
		require.Equal(t, "line 0 by the user\n"+numbered(20), i.read("text"))
	}
	fork := func(t *testing.T, i *install, id string) {
		var forked editors.SessionResult
		i.ok(&forked, "fork", id)
		b, err := os.ReadFile(filepath.Join(forked.Session.Backend.WorkspaceRoot, "text"))
		require.NoError(t, err)
		require.Equal(t, numbered(20), string(b))
		entries, err := os.ReadDir(i.paths.ForkDir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "it was made once")
	}
	adopt := func(t *testing.T, i *install, id string) {
		var forked editors.SessionResult
		i.ok(&forked, "fork", id)
		theirs := filepath.Join(forked.Session.Backend.WorkspaceRoot, "text")
		require.NoError(t, os.WriteFile(theirs, []byte(numbered(20)+"last line of the fork\n"), 0o600))
		i.write("text", "line 0 by the user\n"+numbered(20))
		var adopted editors.AdoptResult
		i.ok(&adopted, "adopt", forked.Session.ID)
		require.Equal(t, 1, adopted.Carry.Merged, "%+v", adopted.Carry)
		require.Equal(t, "line 0 by the user\n"+numbered(20)+"last line of the fork\n", i.read("text"))
		i.ok(nil, "restore", id, adopted.Undo)
		require.Equal(t, "line 0 by the user\n"+numbered(20), i.read("text"))
		i.ok(&adopted, "adopt", forked.Session.ID)
		require.Equal(t, 1, adopted.Carry.Merged, "what was undone comes again")
	}
	for _, tt := range []struct {
		name, step string
		do         func(*testing.T, *install, string)
	}{
		{"switch", carry.StepDerived, open},
		{"switch", carry.StepOpened, open},
		{"switch", carry.StepFilled, open},
		{"switch", carry.StepHealthy, open},
		{"the way back", carry.StepMerging, merge},
		{"the way back", carry.StepMerged, merge},
		{"fork", carry.StepFilled, fork},
		{"fork", carry.StepHealthy, fork},
		{"adopt", carry.StepMerging, adopt},
		{"adopt", carry.StepMerged, adopt},
		{"restore", "pack-rename", restore},
		{"restore", "manifest-rename", restore},
		{"restore", "ref-write", restore},
	} {
		t.Run(tt.name+" at "+tt.step, func(t *testing.T) {
			t.Parallel() // most of the time it waits for Temporal to miss the worker
			i, arm, died := killedAt(t, tt.step)
			i.write("text", numbered(20))
			id := i.session()
			if tt.name == "restore" {
				i.done(id, "change")
			}
			arm()
			tt.do(t, i, id)
			require.True(t, died(), "the worker came to the step")
			var page editors.SessionsResult
			i.ok(&page, "sessions")
			for _, s := range page.Sessions {
				require.Equal(t, editors.StatusIdle, s.State.Status)
			}
		})
	}
}
