// This file tests that a command's tree ends with it though the command attacks its supervisor.

package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestStoppedSupervisorDoesNotSaveTheTree(t *testing.T) {
	sb, _ := newSandbox(t)
	mark := marker(t)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: "setsid sleep " + mark + " & kill -STOP $PPID; sleep " + mark}))
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 2 })
	require.NoError(t, sb.Kill(t.Context(), "a"))
	require.Empty(t, processes("sleep\x00"+mark))
}

func TestKilledSupervisor(t *testing.T) {
	sb, _ := newSandbox(t)
	mark := marker(t)
	require.NoError(t, sb.Start(t.Context(), "a", sandbox.Command{Script: "setsid sleep " + mark + " & kill -KILL $PPID; sleep " + mark}))
	require.Equal(t, sandbox.StateLost, await(t, sb, "a").State)
	eventually(t, func() bool { return len(processes("sleep\x00"+mark)) == 0 })
	_, out := script(t, sb, "b", "echo still here")
	require.Equal(t, "still here\n", out)
}
