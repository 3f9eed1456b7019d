// This file measures what every command and every request costs.

package local

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func BenchmarkTrue(b *testing.B) {
	sb, _ := newSandbox(b)
	for n := 0; b.Loop(); n++ {
		id := strconv.Itoa(n)
		require.NoError(b, sb.Start(b.Context(), id, sandbox.Command{Argv: []string{"true"}}))
		require.Equal(b, 0, await(b, sb, id).ExitCode)
	}
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
