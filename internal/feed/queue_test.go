// This file tests how frames are joined, dropped and numbered for one consumer.

package feed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func at(offset int64, data string) queued {
	f := frame("i", "text", data)
	f.Offset = offset
	return queued{"e", f}
}

func TestQueueJoinsAndDrops(t *testing.T) {
	var q queue
	q.push(at(0, "ab"))
	q.push(at(2, "cd"))
	q.push(at(9, "z"))
	first, ok := q.pop()
	require.True(t, ok)
	require.Equal(t, "abcd", string(first.frame.Data))
	_, _ = q.pop()
	_, ok = q.pop()
	require.False(t, ok)
	require.Zero(t, q.bytes)

	for _, size := range []int{20_000, 1000} {
		for i := range 2000 {
			q.push(at(int64(i*size), strings.Repeat("x", size)))
			require.LessOrEqual(t, q.bytes, queueBytes)
		}
	}
	for i := range int64(5000) {
		q.push(at(i*10, "y"))
	}
	require.LessOrEqual(t, len(q.frames), queueFrames)
}

func TestTrackerNumbersFrames(t *testing.T) {
	var tr tracker
	accept := func(q queued) string {
		f, ok := tr.accept(q)
		if !ok {
			return "-"
		}
		return fmt.Sprintf("%d@%d:%s", f.N, f.Offset, f.Data)
	}
	require.Equal(t, "0@0:ab", accept(at(0, "ab")))
	require.Equal(t, "1@2:cd", accept(at(2, "cd")))
	require.Equal(t, "-", accept(at(0, "abcd")), "known already")
	require.Equal(t, "2@4:ef", accept(at(0, "abcdef")), "the known part is cut")
	require.Equal(t, "4@10:z", accept(at(10, "z")), "a gap skips a number")

	other := at(0, "again")
	other.frame.Attempt = 2
	require.Equal(t, "0@0:again", accept(other))
	require.Equal(t, "-", accept(at(11, "late")), "of a lower attempt")

	restarted := at(0, "new hub")
	restarted.epoch = "f"
	require.Equal(t, "0@0:new hub", accept(restarted))

	late := at(500, "mid-item")
	late.frame.Item = "j"
	require.Equal(t, "1@500:mid-item", accept(late), "its beginning is lost")
	for i := range 3 * trackedKeys {
		q := at(0, "x")
		q.frame.Item, q.frame.Seq = fmt.Sprint(i), int64(i)
		tr.accept(q)
	}
	require.Len(t, tr.progress, trackedKeys)
}
