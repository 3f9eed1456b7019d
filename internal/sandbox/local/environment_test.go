// This file tests what of the worker's environment a command sees.

package local

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnvironment(t *testing.T) {
	for _, name := range []string{"CANARY_TOKEN", "OPENAI_API_KEY", "AWS_PROFILE", "TEMPORAL_ADDRESS", "XDG_SECRET_THING", "SOMETHING_ELSE", "GITHUB_TOKEN"} {
		t.Setenv(name, "canary-4711")
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("CI", "true")
	sb, _ := newSandbox(t)
	_, out := script(t, sb, "a", `env; cat /proc/$PPID/environ; tr '\0' ' ' < /proc/$PPID/cmdline; p=$(awk '/^PPid/{print $2}' /proc/$PPID/status); cat /proc/$p/environ; cat /proc/$p/cmdline`)
	require.NotContains(t, out, "canary-4711")
	require.Contains(t, out, "serve\x00--state")
	for _, want := range []string{"GOFLAGS=-mod=mod\n", "PAGER=cat\n", "GIT_TERMINAL_PROMPT=0\n", "TERM=dumb\n", "HOME="} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "\nCI=")
}
