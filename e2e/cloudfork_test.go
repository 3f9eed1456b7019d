//go:build linux

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// A fork that goes to a cloud leaves secrets and ignored files behind. Its parent keeps them, whenever it adopts what the fork
// has changed.
func TestAdoptingFromACloudTakesNothingThatStayed(t *testing.T) {
	t.Parallel()
	c := inClouds(t, rules(
		run("first", `echo 1 > cloud && rm old`, "First."),
		run("second", `echo 2 > cloud`, "Second."),
	))
	c.project()
	id := c.session()
	var forked editors.SessionResult
	c.ok(&forked, "fork", id)
	fork, want := forked.Session.ID, c.files()
	adopt := func() {
		t.Helper()
		c.ok(nil, "adopt", fork)
		require.Equal(t, want, c.files())
	}

	c.ok(nil, "switch", "--session", fork, "e2b")
	c.done(fork, "first")
	delete(want, "old")
	want["cloud"] = "-rw-r--r-- 1\n"
	var plan editors.AdoptResult
	c.ok(&plan, "adopt", "--dry-run", fork)
	require.Equal(t, []int{1, 1}, []int{plan.Carry.Added, plan.Carry.Removed}, "%+v", plan.Carry)
	adopt()

	c.ok(nil, "switch", "--session", fork, "daytona")
	c.done(fork, "second")
	want["cloud"] = "-rw-r--r-- 2\n"
	adopt()
	c.ok(nil, "switch", "--session", fork, "local")
	adopt()
}

// A checkpoint of a turn in a cloud has neither secrets nor ignored files. Restoring it in the folder does not remove them.
func TestRestoringWhatWasPicturedInACloudRemovesNothingThatStayed(t *testing.T) {
	t.Parallel()
	c := inClouds(t, rules(run("there", `echo 1 > cloud`, "There."), run("here", `echo 2 > here`, "Here.")))
	c.project()
	id := c.session()
	c.ok(nil, "switch", "--session", id, "e2b")
	c.done(id, "there")
	var list editors.CheckpointsResult
	c.ok(&list, "checkpoints", id)
	there := list.Checkpoints[len(list.Checkpoints)-1]
	require.Equal(t, "After turn 1", there.Summary)
	c.ok(nil, "switch", "--session", id, "local")
	want := c.files()
	c.done(id, "here")
	c.ok(nil, "restore", id, there.ID)
	require.Equal(t, want, c.files())
}
