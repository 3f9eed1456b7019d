// This file runs commands in a sandbox for tests that are about something else.

package sandboxtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// Await waits for the end of a command.
func Await(t testing.TB, s sandbox.Sandbox, id string) sandbox.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after sandbox.Offsets
	for {
		st, err := s.Wait(ctx, id, after, time.Second)
		require.NoError(t, err, "the command does not end")
		if st.State != sandbox.StateRunning {
			return st
		}
		after = st.Total
	}
}

// Output returns what a command has printed on one stream.
func Output(t testing.TB, s sandbox.Sandbox, id string, stream sandbox.Stream) string {
	t.Helper()
	chunk, err := s.Output(t.Context(), id, stream, 0, 1<<20)
	require.NoError(t, err)
	return string(chunk.Data)
}

// Exec runs a script to its end and returns what it printed and how it ended.
func Exec(t testing.TB, s sandbox.Sandbox, script string) (string, sandbox.Status) {
	t.Helper()
	id := fmt.Sprint("c", time.Now().UnixNano())
	require.NoError(t, s.Start(t.Context(), id, sandbox.Command{Script: script}))
	st := Await(t, s, id)
	return Output(t, s, id, sandbox.Stdout) + Output(t, s, id, sandbox.Stderr), st
}

// Succeed runs a script that must succeed and returns what it printed.
func Succeed(t testing.TB, s sandbox.Sandbox, script string) string {
	t.Helper()
	out, st := Exec(t, s, script)
	require.Equal(t, sandbox.StateExited, st.State)
	require.Zero(t, st.ExitCode, "%s%s", out, st.Failure)
	return strings.TrimSpace(out)
}
