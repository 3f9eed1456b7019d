package tools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestWhatACommandLeftIsToldUnlessItIsAboutToEnd(t *testing.T) {
	for _, c := range []struct {
		result Result
		status sandbox.Status
		told   string
	}{
		{Result{}, sandbox.Status{}, ""},
		{Result{}, sandbox.Status{Left: 1}, "It left a process running.\n"},
		{Result{}, sandbox.Status{Left: 3}, "It left 3 processes running.\n"},
		{Result{}, sandbox.Status{Left: 3, Killed: true}, ""},
		{Result{}, sandbox.Status{Left: 3, TimedOut: true}, ""},
		{Result{StoppedBy: "terminal"}, sandbox.Status{Left: 1}, ""},
	} {
		require.Equal(t, c.told, leftText(c.result, c.status), "%+v %+v", c.result, c.status)
	}
}
