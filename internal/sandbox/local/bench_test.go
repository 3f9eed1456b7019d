// This file measures what every command and every request costs.

package local

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

func BenchmarkTrue(b *testing.B) {
	for _, way := range append([]confine.Method{confine.Nothing}, ways...) {
		b.Run(string(way), func(b *testing.B) {
			sb := open(b, backendOf(b, way), "s1", b.TempDir())
			for n := 0; b.Loop(); n++ {
				id := strconv.Itoa(n)
				require.NoError(b, sb.Start(b.Context(), id, sandbox.Command{Argv: []string{"true"}}))
				require.Equal(b, 0, await(b, sb, id).ExitCode)
			}
		})
	}
}

// BenchmarkOpen is what a session waits for once: making the sandbox and starting its helper, and its end.
func BenchmarkOpen(b *testing.B) {
	for _, way := range append([]confine.Method{confine.Nothing}, ways...) {
		b.Run(string(way), func(b *testing.B) {
			backend, ws := backendOf(b, way), b.TempDir()
			for n := 0; b.Loop(); n++ {
				sb, err := backend.Open(b.Context(), sandbox.Spec{ID: strconv.Itoa(n), Workspace: ws})
				require.NoError(b, err)
				require.NoError(b, sb.Close())
				require.NoError(b, backend.Destroy(b.Context(), sb.Ref()))
			}
		})
	}
}

// backendOf makes a backend that confines in one way, or not at all.
func backendOf(b *testing.B, way confine.Method) *Backend {
	b.Helper()
	if way == confine.Nothing {
		return newBackendWith(b, confine.LevelNone)
	}
	return newBackendWith(b, confine.DefaultLevel, way)
}

// BenchmarkFloor is what this machine needs to run the same program without any of this.
func BenchmarkFloor(b *testing.B) {
	for b.Loop() {
		require.NoError(b, exec.Command("true").Run())
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	sb, _ := newSandbox(b)
	for b.Loop() {
		require.NoError(b, sb.Health(b.Context()))
	}
}

func BenchmarkApplyOneFile(b *testing.B) {
	sb, _ := newSandbox(b)
	content := make([]byte, 4<<10)
	for n := 0; b.Loop(); n++ {
		require.NoError(b, sb.Apply(b.Context(), strconv.Itoa(n), []sandbox.Edit{{Path: "f", Before: "*", Content: strconv.AppendInt(content, int64(n), 10)}}))
	}
}
