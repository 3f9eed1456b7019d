// These cases are about much output: bounded memory and disk, the right tail, every range readable.

package sandboxtest

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var bulkCases = []testCase{
	{name: "much output", real: true, run: boundsMuchOutput},
	{name: "garbage", real: true, run: boundsGarbage},
}

// bulk is how much the cases let commands print.
func bulk() int64 {
	if full() {
		return 1_000_000_000
	}
	return 100_000_000
}

func boundsMuchOutput(e *env) {
	const limit = 1 << 20
	total := bulk()
	heap := liveHeap()
	// lines of 8 bytes that count from 1000000 to 9999999 again and again, so that every byte's place is known
	id := e.start(sandbox.Command{Script: "while seq 1000000 9999999; do :; done 2>/dev/null | head -c $N", Env: []string{"N=" + strconv.FormatInt(total, 10)}, OutputCap: limit})
	st := e.await(id)
	require.Zero(e, st.ExitCode)
	require.Equal(e, total, st.Total.Stdout)
	head, err := e.box.Output(e.Context(), id, sandbox.Stdout, 0, limit)
	require.NoError(e, err)
	require.Len(e, head.Data, limit/2)
	require.True(e, bytes.HasPrefix(head.Data, []byte("1000000\n1000001\n")))
	tail, err := e.box.Output(e.Context(), id, sandbox.Stdout, limit/2, limit)
	require.NoError(e, err)
	require.Equal(e, total-limit/2, tail.Offset)
	require.Len(e, tail.Data, limit/2)
	require.True(e, tail.EOF)
	requireCounting(e, tail)
	for _, at := range []int64{total - 8, total - limit/2 + 8, total - limit/4} {
		at -= at % 8
		part, err := e.box.Output(e.Context(), id, sandbox.Stdout, at, 8)
		require.NoError(e, err)
		require.Equal(e, at, part.Offset)
		require.Len(e, part.Data, 8)
		requireCounting(e, part)
	}
	require.Less(e, liveHeap()-heap, int64(16<<20), "the caller's memory is bounded")
	e.requireUsage(64<<20, 4*limit)
}

// requireCounting checks that every whole line of a chunk is the one that belongs at its place.
func requireCounting(e *env, c sandbox.Chunk) {
	e.Helper()
	data, at := c.Data, c.Offset
	if skip := (8 - at%8) % 8; skip > 0 {
		data, at = data[skip:], at+skip
	}
	for ; len(data) >= 8; data, at = data[8:], at+8 {
		n, err := strconv.ParseInt(string(data[:7]), 10, 64)
		require.NoError(e, err)
		require.Equal(e, 1_000_000+(at/8)%9_000_000, n)
	}
}

// liveHeap is how much memory of this process is in use.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// requireUsage bounds what the sandbox takes, where the test can tell.
func (e *env) requireUsage(memory, disk int64) {
	e.Helper()
	if e.Usage == nil {
		return
	}
	usage := e.Usage(e.T, e.box.Ref())
	require.Less(e, usage.Memory, memory, "the helper's memory is bounded")
	require.Less(e, usage.Disk, disk, "the disk is bounded")
	e.Logf("helper: %d MiB of memory, %d KiB of disk", usage.Memory>>20, usage.Disk>>10)
}

func boundsGarbage(e *env) {
	const limit = 256 << 10
	n := bulk() / 10
	r := e.run(sandbox.Command{
		Script: "head -c $N /dev/urandom; head -c $N /dev/urandom >&2; printf '\\377\\000\\376' ; printf '\\303' >&2",
		Env:    []string{"N=" + strconv.FormatInt(n, 10)}, OutputCap: limit,
	})
	require.Zero(e, r.ExitCode)
	require.Equal(e, sandbox.Offsets{Stdout: n + 3, Stderr: n + 1}, r.Total)
	require.Len(e, r.out, limit)
	require.Len(e, r.err, limit)
	if e.caps.ByteExact {
		require.Equal(e, "\xff\x00\xfe", r.out[limit-3:])
		require.Equal(e, "\xc3", r.err[limit-1:])
	}
	e.requireUsage(64<<20, 4*limit)
}
