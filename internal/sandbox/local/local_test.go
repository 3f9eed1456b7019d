// This file sets the tests up: the test binary is the helper too.

package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper"
	"sandboxagent/internal/sandbox"
)

func TestMain(m *testing.M) {
	if helper.Invoked(os.Args) {
		os.Exit(helper.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// newBackend makes a backend whose sandboxes are destroyed at the end of the test.
func newBackend(t testing.TB) *Backend {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := New(Options{StateDir: filepath.Join(t.TempDir(), "state"), HelperBinary: self, HostID: "host"})
	require.NoError(t, err)
	return b
}

func open(t testing.TB, b *Backend, id, workspace string) sandbox.Sandbox {
	t.Helper()
	sb, err := b.Open(t.Context(), sandbox.Spec{ID: id, Workspace: workspace})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = sb.Close()
		require.NoError(t, b.Destroy(context.Background(), sb.Ref()))
	})
	return sb
}

func newSandbox(t testing.TB) (sandbox.Sandbox, string) {
	t.Helper()
	ws := t.TempDir()
	return open(t, newBackend(t), "s1", ws), ws
}

// run starts a command, waits for its end and returns status and standard output.
func run(t testing.TB, sb sandbox.Sandbox, id string, cmd sandbox.Command) (sandbox.Status, string) {
	t.Helper()
	require.NoError(t, sb.Start(t.Context(), id, cmd))
	st := await(t, sb, id)
	return st, read(t, sb, id, sandbox.Stdout)
}

func await(t testing.TB, sb sandbox.Sandbox, id string) sandbox.Status {
	t.Helper()
	end := time.Now().Add(30 * time.Second)
	var after sandbox.Offsets
	for time.Now().Before(end) {
		st, err := sb.Wait(t.Context(), id, after, time.Second)
		require.NoError(t, err)
		if st.State != sandbox.StateRunning {
			return st
		}
		after = st.Total
	}
	require.Fail(t, "the command does not end", id)
	return sandbox.Status{}
}

func read(t testing.TB, sb sandbox.Sandbox, id string, s sandbox.Stream) string {
	t.Helper()
	var out []byte
	var at int64
	for {
		c, err := sb.Output(t.Context(), id, s, at, 1<<20)
		require.NoError(t, err)
		out = append(out, c.Data...)
		at = c.Offset + int64(len(c.Data))
		if c.EOF || len(c.Data) == 0 {
			return string(out)
		}
	}
}

func TestBasics(t *testing.T) {
	sb, ws := newSandbox(t)
	st, out := run(t, sb, "a", sandbox.Command{Script: "echo hi; pwd; exit 3"})
	require.Equal(t, 3, st.ExitCode)
	require.Equal(t, "hi\n"+ws+"\n", out)
}

func BenchmarkTrue(b *testing.B) {
	sb, _ := newSandbox(b)
	n := 0
	for b.Loop() {
		n++
		id := time.Now().Format(time.RFC3339Nano)
		require.NoError(b, sb.Start(b.Context(), id, sandbox.Command{Argv: []string{"true"}}))
		st := await(b, sb, id)
		require.Equal(b, 0, st.ExitCode)
	}
}

func BenchmarkPing(b *testing.B) {
	sb, _ := newSandbox(b)
	for b.Loop() {
		require.NoError(b, sb.Health(b.Context()))
	}
}
