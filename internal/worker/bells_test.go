package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABellRingsWhenItsOwnWorkflowIsDurable(t *testing.T) {
	var rung []int64
	b := newBells(func(_ string, seq int64) { rung = append(rung, seq) })
	b.hint("a", 1)
	b.hint("a", 3)
	b.hint("a", 2)
	b.completed("session/b")
	b.completed("session-manager/me")
	require.Empty(t, rung)
	b.completed("session/a")
	require.Equal(t, []int64{3}, rung)
	b.completed("session/a")
	require.Equal(t, []int64{3}, rung, "once")
	b.hint("a", 4)
	b.completed("")
	require.Equal(t, []int64{3, 4}, rung, "an unnamed completion rings everybody")
}
