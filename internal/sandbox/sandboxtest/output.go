// These cases are about reading output: exact where it is kept, and bounded.

package sandboxtest

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

var outputCases = []testCase{
	{name: "ranges", run: readsRanges},
	{name: "limit", run: keepsHeadAndTail},
	{name: "limit while it runs", run: readsBehindTheLimit},
	{name: "following", run: followsOutput},
	{name: "waiting", run: waits},
	{name: "unknown", run: knowsNoSuchCommand},
	{name: "pieces of characters", run: keepsPieces},
	{name: "one long line", real: true, run: readsOneLongLine},
}

func readsRanges(e *env) {
	r := e.script("printf 0123456789; printf abc >&2")
	for _, c := range []struct {
		stream sandbox.Stream
		at     int64
		n      int
		want   string
		eof    bool
	}{
		{sandbox.Stdout, 0, 100, "0123456789", true},
		{sandbox.Stdout, 0, 10, "0123456789", true},
		{sandbox.Stdout, 0, 9, "012345678", false},
		{sandbox.Stdout, 3, 4, "3456", false},
		{sandbox.Stdout, 9, 1, "9", true},
		{sandbox.Stdout, 0, 0, "", false},
		{sandbox.Stdout, 10, 5, "", true},
		{sandbox.Stdout, 99, 5, "", true},
		{sandbox.Stderr, 1, 100, "bc", true},
		{sandbox.Stdout, 0, 1 << 30, "0123456789", true},
	} {
		chunk, err := e.box.Output(e.Context(), r.id, c.stream, c.at, c.n)
		require.NoError(e, err)
		require.Equal(e, c.want, string(chunk.Data), "%+v", c)
		require.Equal(e, c.eof, chunk.EOF, "%+v", c)
		require.Equal(e, c.at, chunk.Offset, "%+v", c)
		require.Equal(e, map[sandbox.Stream]int64{sandbox.Stdout: 10, sandbox.Stderr: 3}[c.stream], chunk.Total)
	}
	for _, c := range []struct {
		stream sandbox.Stream
		at     int64
		n      int
	}{{"other", 0, 1}, {sandbox.Stdout, -1, 1}, {sandbox.Stdout, 0, -1}, {"", 0, 1}} {
		_, err := e.box.Output(e.Context(), r.id, c.stream, c.at, c.n)
		e.class(sandbox.ClassInvalid, err, c)
	}
}

// numbers prints the numbers from 1000 to 9999, 5 bytes each.
const numbers = "i=1000; while [ $i -le 9999 ]; do echo $i; i=$((i+1)); done"

func keepsHeadAndTail(e *env) {
	const limit, total = 1000, 45_000
	r := e.run(sandbox.Command{Script: numbers, OutputCap: limit})
	require.Zero(e, r.ExitCode)
	require.EqualValues(e, total, r.Total.Stdout)
	head, err := e.box.Output(e.Context(), r.id, sandbox.Stdout, 0, 1<<20)
	require.NoError(e, err)
	require.Equal(e, limit/2, len(head.Data))
	require.True(e, strings.HasPrefix(string(head.Data), "1000\n1001\n") && strings.HasSuffix(string(head.Data), "1099\n"))
	require.False(e, head.EOF)
	tail, err := e.box.Output(e.Context(), r.id, sandbox.Stdout, limit/2, 1<<20)
	require.NoError(e, err)
	require.EqualValues(e, total-limit/2, tail.Offset, "what was dropped is skipped")
	require.True(e, tail.EOF)
	require.True(e, strings.HasPrefix(string(tail.Data), "9900\n") && strings.HasSuffix(string(tail.Data), "\n9999\n"))
	part, err := e.box.Output(e.Context(), r.id, sandbox.Stdout, total-100, 50)
	require.NoError(e, err)
	require.EqualValues(e, total-100, part.Offset)
	require.Equal(e, tail.Data[limit/2-100:limit/2-50], part.Data)
	middle, err := e.box.Output(e.Context(), r.id, sandbox.Stdout, total/2, 50)
	require.NoError(e, err)
	require.EqualValues(e, total-limit/2, middle.Offset)
}

func readsBehindTheLimit(e *env) {
	id := e.start(sandbox.Command{Script: numbers + "; read x; echo last", OutputCap: 1000, Stdin: true})
	e.awaitOutput(id, "9999\n")
	tail, err := e.box.Output(e.Context(), id, sandbox.Stdout, 600, 1<<20)
	require.NoError(e, err)
	require.EqualValues(e, 45_000, tail.Total)
	require.False(e, tail.EOF, "it still runs")
	require.NoError(e, e.box.Input(e.Context(), id, []byte("\n"), true))
	e.await(id)
	last, err := e.box.Output(e.Context(), id, sandbox.Stdout, 45_000, 100)
	require.NoError(e, err)
	require.Equal(e, "last\n", string(last.Data))
	require.True(e, last.EOF)
}

func followsOutput(e *env) {
	ctx := e.Context()
	id := e.start(sandbox.Command{Script: `while read x; do echo "got $x"; done`, Stdin: true})
	st, err := e.box.Wait(ctx, id, sandbox.Offsets{}, 0)
	require.NoError(e, err)
	require.Equal(e, sandbox.StateRunning, st.State)
	for _, word := range []string{"one", "two", "three"} {
		require.NoError(e, e.box.Input(ctx, id, []byte(word+"\n"), false))
		next, err := e.box.Wait(ctx, id, st.Total, patience)
		require.NoError(e, err)
		require.Greater(e, next.Total.Stdout, st.Total.Stdout)
		chunk, err := e.box.Output(ctx, id, sandbox.Stdout, st.Total.Stdout, 100)
		require.NoError(e, err)
		require.Equal(e, "got "+word+"\n", string(chunk.Data))
		require.False(e, chunk.EOF)
		st = next
	}
	require.NoError(e, e.box.Input(ctx, id, nil, true))
	require.Zero(e, e.await(id).ExitCode)
}

func waits(e *env) {
	id := e.start(sandbox.Command{Script: "read x; echo $x", Stdin: true})
	st, err := e.box.Wait(e.Context(), id, sandbox.Offsets{}, 10*time.Millisecond)
	require.NoError(e, err)
	require.Equal(e, sandbox.StateRunning, st.State, "the time passed")
	require.True(e, st.Ended.IsZero())
	_, err = e.box.Wait(e.Context(), id, sandbox.Offsets{}, -time.Second)
	require.NoError(e, err)
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	_, err = e.box.Wait(ctx, id, sandbox.Offsets{}, patience)
	e.class(sandbox.ClassCanceled, err)
	ctx, cancel = context.WithTimeout(e.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = e.box.Wait(ctx, id, sandbox.Offsets{}, patience)
	e.class(sandbox.ClassCanceled, err)

	done := make(chan sandbox.Status)
	go func() {
		st, _ := e.box.Wait(e.Context(), id, sandbox.Offsets{Stdout: 1 << 40, Stderr: 1 << 40}, patience)
		done <- st
	}()
	require.NoError(e, e.box.Input(e.Context(), id, []byte("x\n"), true))
	require.Equal(e, sandbox.StateExited, (<-done).State, "the end wakes who waits")
}

func knowsNoSuchCommand(e *env) {
	ctx, id := e.Context(), e.id()
	_, err := e.box.Wait(ctx, id, sandbox.Offsets{}, patience)
	e.class(sandbox.ClassNotFound, err, "wait")
	_, err = e.box.Output(ctx, id, sandbox.Stdout, 0, 1)
	e.class(sandbox.ClassNotFound, err, "output")
	e.class(sandbox.ClassNotFound, e.box.Input(ctx, id, nil, true), "input")
	e.class(sandbox.ClassNotFound, e.box.Resize(ctx, id, 1, 1), "resize")
	e.class(sandbox.ClassNotFound, e.box.Kill(ctx, id), "kill")
}

func keepsPieces(e *env) {
	id := e.start(sandbox.Command{Script: "printf '\\342\\202'; read x; printf '\\254'", Stdin: true})
	want := "\xe2\x82"
	if !e.caps.ByteExact {
		want = ""
	}
	e.awaitOutput(id, want)
	require.NoError(e, e.box.Input(e.Context(), id, []byte("\n"), true))
	e.await(id)
	require.Equal(e, "€", e.read(id, sandbox.Stdout))
}

func readsOneLongLine(e *env) {
	size := 4 << 20
	if full() {
		size = 50 << 20
	}
	r := e.run(sandbox.Command{Script: "head -c $N /dev/zero | tr '\\0' x", Env: []string{"N=" + itoa(size)}})
	require.EqualValues(e, size, r.Total.Stdout)
	require.Equal(e, size, len(r.out))
	require.Equal(e, size, strings.Count(r.out, "x"))
}
