// This file tests what is kept of items and who gets what, without any connection.

package feed

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func frame(item, stream, data string) Frame {
	return Frame{Session: "s", Item: item, Seq: 1, Attempt: 1, Stream: stream, Data: []byte(data)}
}

func drain(ts *topics, s *sub) []message {
	var all []message
	for {
		out, _ := ts.collect(s, nil, batchBytes)
		if len(out) == 0 {
			return all
		}
		all = append(all, out...)
	}
}

func text(messages []message) string {
	var b strings.Builder
	for _, m := range messages {
		b.Write(m.body)
	}
	return b.String()
}

func TestDeltasAreJoinedForThoseWhoAreBehind(t *testing.T) {
	ts := newTopics()
	s := ts.subscribe("s", 1, func() {})
	for range 1000 {
		ts.publish(frame("i", "text", "word "))
	}
	got := drain(ts, s)
	require.Len(t, got, 1)
	require.Equal(t, strings.Repeat("word ", 1000), text(got))
	ts.publish(frame("i", "text", "more"))
	got = drain(ts, s)
	require.Len(t, got, 1)
	require.Equal(t, "more", text(got))
	require.EqualValues(t, 5000, got[0].header.Offset)
}

func TestStreamsOfOneItemStayInOrder(t *testing.T) {
	ts := newTopics()
	s := ts.subscribe("s", 1, func() {})
	for i := range 10 {
		ts.publish(frame("i", "stdout", fmt.Sprintf("o%d", i)))
		ts.publish(frame("i", "stderr", fmt.Sprintf("e%d", i)))
	}
	got := drain(ts, s)
	require.Len(t, got, 20)
	require.Equal(t, "o0e0o1e1o2e2o3e3o4e4o5e5o6e6o7e7o8e8o9e9", text(got))
	require.EqualValues(t, 18, got[18].header.Offset)
}

func TestTheOldestBytesGoFirst(t *testing.T) {
	for _, piece := range []int{3, 1000, 8 << 10, 40 << 10, 200 << 10} {
		ts := newTopics()
		s := ts.subscribe("s", 1, func() {})
		all := strings.Repeat("äöü€😀 ", 300<<10/12)
		for rest := all; len(rest) > 0; {
			n := min(piece, len(rest))
			for !utf8.ValidString(rest[:n]) {
				n--
			}
			if n == 0 {
				n = min(utf8.UTFMax, len(rest))
			}
			ts.publish(frame("i", "text", rest[:n]))
			rest = rest[n:]
			require.LessOrEqual(t, ts.bytes, int64(RingBytes))
		}
		got := drain(ts, s)
		kept := text(got)
		require.Greater(t, len(kept), RingBytes/2)
		require.LessOrEqual(t, len(kept), RingBytes)
		require.True(t, strings.HasSuffix(all, kept))
		require.EqualValues(t, len(all)-len(kept), got[0].header.Offset)
		for _, m := range got {
			require.LessOrEqual(t, len(m.body), maxFrameData)
			if piece != 3 {
				require.True(t, utf8.Valid(m.body), "no rune is split")
			}
		}
	}
}

func TestManyTinyDeltasOfTwoStreamsAreBounded(t *testing.T) {
	ts := newTopics()
	for range 100_000 {
		ts.publish(frame("i", "stdout", "o"))
		ts.publish(frame("i", "stderr", "e"))
	}
	require.LessOrEqual(t, len(ts.sessions["s"].items[0].segments), maxSegments)
	s := ts.subscribe("s", 1, func() {})
	require.Len(t, drain(ts, s), maxSegments)
}

func TestLateSubscribersGetWhatIsThere(t *testing.T) {
	ts := newTopics()
	ts.publish(frame("i", "text", "begin"))
	ts.ring("s", 7)
	s := ts.subscribe("s", 1, func() {})
	got := drain(ts, s)
	require.Len(t, got, 2)
	require.Equal(t, byte(kindBell), got[0].kind)
	require.EqualValues(t, 7, got[0].header.Seq)
	require.Equal(t, "begin", string(got[1].body))
}

func TestCompletedItems(t *testing.T) {
	ts := newTopics()
	s := ts.subscribe("s", 1, func() {})
	ts.publish(frame("i", "text", "all"))
	ts.forget("s", "i")
	ts.publish(frame("i", "text", " straggler"))
	late := ts.subscribe("s", 2, func() {})
	require.Empty(t, drain(ts, late))
	require.Equal(t, "all", text(drain(ts, s)))
	require.Zero(t, ts.bytes)
	require.Empty(t, ts.sessions["s"].items)
	ts.publish(frame("i", "text", " straggler"))
	require.Empty(t, drain(ts, s))
	retry := frame("i", "text", "again")
	retry.Attempt = 2
	ts.publish(retry)
	require.Equal(t, "again", text(drain(ts, s)))
	ts.forget("s", "unknown")
	ts.forget("unknown", "i")
}

func TestTheLastReaderReleasesAnItem(t *testing.T) {
	ts := newTopics()
	s := ts.subscribe("s", 1, func() {})
	ts.publish(frame("i", "text", "all"))
	ts.forget("s", "i")
	require.NotZero(t, ts.bytes)
	ts.unsubscribe(s)
	require.Zero(t, ts.bytes)
	ts.publish(frame("j", "text", "nobody listens"))
	ts.forget("s", "j")
	require.Zero(t, ts.bytes)
}

func TestHigherAttemptsVoidLowerOnes(t *testing.T) {
	ts := newTopics()
	s := ts.subscribe("s", 1, func() {})
	ts.publish(frame("i", "text", "first"))
	second := frame("i", "text", "second")
	second.Attempt = 2
	ts.publish(second)
	ts.publish(frame("i", "text", "late"))
	got := drain(ts, s)
	require.Len(t, got, 1)
	require.Equal(t, "second", text(got))
	require.Equal(t, 2, got[0].header.Attempt)
	require.Zero(t, got[0].header.Offset)
}

func TestMemoryIsBoundedWithoutForget(t *testing.T) {
	ts := newTopics()
	s := ts.subscribe("s 1", 1, func() {})
	data := bytes.Repeat([]byte("x"), RingBytes)
	for i := range 3 * maxItems {
		ts.publish(Frame{Session: fmt.Sprint("s ", i%5000), Item: fmt.Sprint("i", i), Stream: "text", Data: data})
	}
	require.LessOrEqual(t, ts.bytes, int64(maxBytes))
	require.Len(t, ts.places, ts.recent.Len())
	for i := range 2 * maxTopics {
		ts.ring(fmt.Sprint("bell ", i), 1)
	}
	require.LessOrEqual(t, len(ts.sessions), maxTopics+maxItems)
	require.LessOrEqual(t, len(s.cursor), maxItems)
}

// TestAnyReaderSeesTheTextOrKnowsWhatItLost publishes and reads at random.
func TestAnyReaderSeesTheTextOrKnowsWhatItLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ts := newTopics()
	items := []string{"a", "b", "c"}
	said := map[string][]byte{}
	type reader struct {
		sub   *sub
		heard map[string]int64
	}
	var readers []*reader
	for step := range 20_000 {
		switch n := rng.IntN(100); {
		case n < 1 && len(readers) < 8:
			readers = append(readers, &reader{ts.subscribe("s", uint64(step+1), func() {}), map[string]int64{}})
		case n < 30 && len(readers) > 0:
			r := readers[rng.IntN(len(readers))]
			out, _ := ts.collect(r.sub, nil, 1+rng.IntN(64<<10))
			for _, m := range out {
				key := m.header.Item + "/" + m.header.Stream
				require.GreaterOrEqual(t, m.header.Offset, r.heard[key])
				end := m.header.Offset + int64(len(m.body))
				require.True(t, bytes.Equal(said[key][m.header.Offset:end], m.body))
				r.heard[key] = end
			}
		default:
			f := frame(items[rng.IntN(3)], []string{"stdout", "stderr"}[rng.IntN(2)], strings.Repeat(fmt.Sprint(step), 1+rng.IntN(200)))
			said[f.Item+"/"+f.Stream] = append(said[f.Item+"/"+f.Stream], f.Data...)
			ts.publish(f)
		}
	}
	for _, r := range readers {
		drain(ts, r.sub)
	}
}
