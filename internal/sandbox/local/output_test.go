// This file tests that output is exact where it is kept and bounded where it is not.

package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

func TestMuchOutputIsBounded(t *testing.T) {
	b := newBackend(t)
	sb := open(t, b, "s1", t.TempDir())
	const total, limit = 200_000_000, 1 << 20
	// lines of 8 bytes that count from 1000000 to 9999999 again and again, so that every byte's place is known
	st, _ := run(t, sb, "a", sandbox.Command{Script: "for i in 1 2 3; do seq 1000000 9999999; done | head -c 200000000", OutputCap: limit})
	require.Equal(t, 0, st.ExitCode)
	require.Equal(t, int64(total), st.Total.Stdout)

	head, err := sb.Output(t.Context(), "a", sandbox.Stdout, 0, limit)
	require.NoError(t, err)
	require.Zero(t, head.Offset)
	require.Len(t, head.Data, limit/2)
	require.True(t, bytes.HasPrefix(head.Data, []byte("1000000\n1000001\n")))
	require.False(t, head.EOF)

	skip, err := sb.Output(t.Context(), "a", sandbox.Stdout, limit/2, limit)
	require.NoError(t, err)
	require.Equal(t, int64(total-limit/2), skip.Offset)
	require.Len(t, skip.Data, limit/2)
	require.True(t, skip.EOF)
	first := (total - limit/2) / 8
	for i := 0; i < len(skip.Data); i += 8 {
		n, err := strconv.Atoi(string(skip.Data[i : i+7]))
		require.NoError(t, err)
		require.Equal(t, 1_000_000+(first+i/8)%9_000_000, n)
	}
	tail, err := sb.Output(t.Context(), "a", sandbox.Stdout, total-100, 50)
	require.NoError(t, err)
	require.Equal(t, skip.Data[len(skip.Data)-100:len(skip.Data)-50], tail.Data)
	require.Equal(t, int64(total-100), tail.Offset)
	end, err := sb.Output(t.Context(), "a", sandbox.Stdout, total, 50)
	require.NoError(t, err)
	require.True(t, end.EOF)
	require.Empty(t, end.Data)

	var disk int64
	require.NoError(t, filepath.Walk(b.stateDir("s1"), func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			disk += info.Size()
		}
		return nil
	}))
	require.Less(t, disk, int64(2*limit))
	require.Less(t, residentBytes(t, helperOf(t, b, "s1")), int64(64<<20))
}

// residentBytes returns the memory of a process.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	for line := range strings.Lines(content(t, filepath.Join("/proc", strconv.Itoa(pid), "status"))) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return kb << 10
		}
	}
	require.Fail(t, "no VmRSS")
	return 0
}

func TestOneHugeLine(t *testing.T) {
	sb, _ := newSandbox(t)
	st, out := script(t, sb, "a", "head -c 50000000 /dev/zero | tr '\\0' x")
	require.Equal(t, int64(50_000_000), st.Total.Stdout)
	require.Equal(t, strings.Repeat("x", 50_000_000), out)
}

func TestWaitFollowsOutput(t *testing.T) {
	sb, _ := newSandbox(t)
	ctx := t.Context()
	require.NoError(t, sb.Start(ctx, "a", sandbox.Command{Script: "while read x; do echo \"got $x\"; done", Stdin: true}))
	st, err := sb.Wait(ctx, "a", sandbox.Offsets{}, 0)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateRunning, st.State)
	for _, word := range []string{"one", "two", "three"} {
		require.NoError(t, sb.Input(ctx, "a", []byte(word+"\n"), false))
		next, err := sb.Wait(ctx, "a", st.Total, patience)
		require.NoError(t, err)
		require.Greater(t, next.Total.Stdout, st.Total.Stdout)
		chunk, err := sb.Output(ctx, "a", sandbox.Stdout, st.Total.Stdout, 100)
		require.NoError(t, err)
		require.Equal(t, "got "+word+"\n", string(chunk.Data))
		require.False(t, chunk.EOF)
		st = next
	}
	require.NoError(t, sb.Input(ctx, "a", nil, true))
	require.Equal(t, 0, await(t, sb, "a").ExitCode)
	_, err = sb.Output(ctx, "a", "other", 0, 1)
	require.Equal(t, sandbox.ClassInvalid, class(err))
}
