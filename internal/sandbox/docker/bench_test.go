// This file measures what containers cost: their making, every command, and moving files in and out.

package docker

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func BenchmarkCreateAndStart(b *testing.B) {
	backend := newBackend(b)
	for n := 0; b.Loop(); n++ {
		s := open(b, backend, sandbox.Spec{ID: strconv.Itoa(n)})
		b.StopTimer()
		require.NoError(b, backend.Destroy(b.Context(), s.Ref()))
		b.StartTimer()
	}
}

func BenchmarkOpenAgain(b *testing.B) {
	backend := newBackend(b)
	open(b, backend, sandbox.Spec{})
	for b.Loop() {
		require.NoError(b, open(b, backend, sandbox.Spec{}).Close())
	}
}

func BenchmarkTrue(b *testing.B) {
	s := open(b, newBackend(b), sandbox.Spec{})
	for n := 0; b.Loop(); n++ {
		id := strconv.Itoa(n)
		require.NoError(b, s.Start(b.Context(), id, sandbox.Command{Argv: []string{"true"}}))
		require.Zero(b, await(b, s, id).ExitCode)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	s := open(b, newBackend(b), sandbox.Spec{})
	for b.Loop() {
		require.NoError(b, s.Health(b.Context()))
	}
}

func BenchmarkApplyOneFile(b *testing.B) {
	s := open(b, newBackend(b), sandbox.Spec{})
	content := make([]byte, 4<<10)
	for n := 0; b.Loop(); n++ {
		edit := sandbox.Edit{Path: "f", Before: "*", Content: strconv.AppendInt(content, int64(n), 10)}
		require.NoError(b, s.Apply(b.Context(), strconv.Itoa(n), []sandbox.Edit{edit}))
	}
}

func BenchmarkTransfer(b *testing.B) {
	for _, c := range []struct{ files, size int }{{10_000, 4 << 10}, {1, 200 << 20}} {
		dir := b.TempDir()
		for n := range c.files {
			require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), bytes.Repeat([]byte{byte(n)}, c.size), 0o644))
		}
		backend := newBackend(b)
		ref := open(b, backend, sandbox.Spec{ID: "made", Workspace: dir}).Ref()
		name := fmt.Sprintf("%dx%dkB", c.files, c.size>>10)
		b.Run("copy/"+name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				s := open(b, backend, sandbox.Spec{ID: strconv.Itoa(n), Workspace: dir})
				b.StopTimer()
				require.NoError(b, backend.Destroy(b.Context(), s.Ref()))
				b.StartTimer()
			}
		})
		var archive bytes.Buffer
		require.NoError(b, backend.Export(b.Context(), ref, &archive))
		b.Run("export/"+name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, backend.Export(b.Context(), ref, io.Discard))
			}
		})
		b.Run("import/"+name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, backend.Import(b.Context(), ref, bytes.NewReader(archive.Bytes())))
			}
		})
	}
}
