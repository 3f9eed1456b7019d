package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileThatOnlyTheContainerHasIsMentioned(t *testing.T) {
	t.Parallel()
	i := inContainers(t, rules(run("make it", `printf 'made here\n' > made.txt`, "Made."), say("hello", "Hello.")))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "--backend", "docker", "make it")
	require.Zero(t, s.wait(), s.describe())
	s = i.start("ask", "--workspace", i.work, "hello @made.txt and @nobody")
	require.Zero(t, s.wait(), s.describe())
	requests := i.requested()
	sent := lastUserOf(t, requests[len(requests)-1])
	require.Contains(t, sent, `[file \"made.txt\"]`)
	require.Contains(t, sent, `made here`)
	require.NotContains(t, sent, `[file \"nobody\"`)
}
