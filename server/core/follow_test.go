// This file tests that attached connections see every event once and in order, whatever happens to bells and connections.

package core

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/feed"
)

// stubborn attaches, reads, and detaches at random, and always goes on where it was.
type stubborn struct {
	conn *Conn
	mu   sync.Mutex
	last int64
	seqs []int64
	bad  []string
	open map[string]int // attempt of the items that are open for this client
	n    map[string]int64
}

func (s *stubborn) take(m editors.EventMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rand.IntN(50) == 0 {
		time.Sleep(time.Millisecond) // a slow client
	}
	if m.Event.Type == editors.ItemDelta {
		s.takeDelta(m)
		return
	}
	if m.Seq != s.last+1 {
		s.bad = append(s.bad, fmt.Sprintf("%d after %d", m.Seq, s.last))
	}
	s.last = m.Seq
	s.seqs = append(s.seqs, m.Seq)
	switch m.Event.Type {
	case editors.ItemStarted:
		s.open[m.Event.Item.ID] = 0
	case editors.ItemEnded:
		delete(s.open, m.Event.Item.ID)
	}
}

func (s *stubborn) takeDelta(m editors.EventMessage) {
	e := m.Event
	attempt, open := s.open[e.ItemID]
	if !open {
		s.bad = append(s.bad, "delta of "+e.ItemID+", which is not open")
		return
	}
	if e.Attempt < attempt {
		s.bad = append(s.bad, fmt.Sprintf("attempt %d of %s after %d", e.Attempt, e.ItemID, attempt))
	}
	s.open[e.ItemID] = e.Attempt
	key := fmt.Sprintf("%s/%d", e.ItemID, e.Attempt)
	if before, known := s.n[key]; known && e.N <= before && e.N != 0 {
		s.bad = append(s.bad, fmt.Sprintf("n %d of %s after %d", e.N, key, before))
	}
	s.n[key] = e.N
}

func (s *stubborn) attach(t *testing.T, id string) {
	_, _ = s.conn.detach(t.Context(), editors.SessionParams{SessionID: id})
	s.mu.Lock()
	after := s.last
	s.mu.Unlock()
	ctx, replied := Replying(t.Context())
	result, err := s.conn.attach(ctx, editors.AttachParams{SessionID: id, AfterSeq: &after})
	if err != nil {
		return // Temporal fails now and then in this test
	}
	for _, m := range result.Events {
		s.take(m)
	}
	replied()
}

func TestEveryEventOnceAndInOrder(t *testing.T) {
	f := newFakeEngine()
	f.jitter = true
	core := testCore(t, f)
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	s := f.add("s1", core.HostID())
	s.keep, s.page = 10_000, 7

	var clients []*stubborn
	for i := range 4 {
		c := &stubborn{open: map[string]int{}, n: map[string]int64{}}
		c.conn = core.Connect(fmt.Sprintf("client %d", i), c.take)
		clients = append(clients, c)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, c := range clients {
		readers.Go(func() {
			for {
				c.attach(t, "s1")
				select {
				case <-done:
					return
				case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond):
				}
			}
		})
	}
	last := produce(s, f, hub)
	close(done)
	readers.Wait()
	for _, c := range clients {
		c.attach(t, "s1")
		core.ring("s1", last)
		require.Eventually(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.last == last }, 20*time.Second, 5*time.Millisecond)
		require.Empty(t, c.bad)
		require.Len(t, c.seqs, int(last))
	}
}

// produce makes a few hundred events with bells that are lost, doubled, early and late.
func produce(s *fakeSession, f *fakeEngine, hub *feed.Hub) (last int64) {
	for i := range 120 {
		id := fmt.Sprintf("i%d", i)
		seq := s.start(editors.Item{ID: id, Kind: editors.AgentMessage})
		for range rand.IntN(3) {
			hub.Ring("s1", seq+int64(rand.IntN(3))-1)
		}
		for attempt := range 1 + rand.IntN(2) {
			for range rand.IntN(6) {
				hub.Publish(feed.Frame{Session: "s1", Item: id, Seq: seq, Attempt: attempt, Stream: "text", Data: []byte("täxt ")})
			}
		}
		if rand.IntN(10) == 0 {
			f.mu.Lock()
			f.fail = append(f.fail, fmt.Errorf("a hiccup"))
			f.mu.Unlock()
		}
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
		last = s.complete(id)
	}
	return last
}

func TestDeltasShowWhatIsBeingMade(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	s := f.add("s1", core.HostID())
	rec := newRecorder()
	conn := core.Connect("test", rec.sink)
	_, err = run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	require.NoError(t, core.live.feed().WaitConnected(t.Context()))

	seq := s.start(editors.Item{ID: "a", Kind: editors.AgentMessage})
	hub.Ring("s1", seq)
	hub.Publish(feed.Frame{Session: "s1", Item: "a", Seq: seq, Attempt: 1, Stream: "text", Data: []byte("Hello ")})
	text := func(events []editors.EventMessage) (text string) {
		for _, m := range events {
			if m.Event.Type == editors.ItemDelta {
				text += m.Event.Data
			}
		}
		return text
	}
	rec.until(t, "the first delta", func(e []editors.EventMessage) bool { return text(e) == "Hello " })
	hub.Publish(feed.Frame{Session: "s1", Item: "a", Seq: seq, Attempt: 1, Stream: "text", Data: []byte("w\xc3")})
	hub.Publish(feed.Frame{Session: "s1", Item: "a", Seq: seq, Attempt: 1, Stream: "text", Data: []byte("\xb6rld")})
	events := rec.until(t, "whole runes", func(e []editors.EventMessage) bool { return text(e) == "Hello wörld" })
	require.Equal(t, editors.ItemStarted, events[0].Event.Type)

	late := newRecorder()
	second := core.Connect("late", late.sink)
	_, err = run[editors.AttachResult](t, second, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	late.until(t, "the text so far", func(e []editors.EventMessage) bool { return text(e) == "Hello wörld" })

	hub.Publish(feed.Frame{Session: "s1", Item: "a", Seq: seq, Attempt: 2, Stream: "text", Data: []byte("Again")})
	events = rec.until(t, "the next attempt", func(e []editors.EventMessage) bool { return strings.HasSuffix(text(e), "Again") })
	require.Equal(t, 2, events[len(events)-1].Event.Attempt)
	require.Zero(t, events[len(events)-1].Event.N)

	end := s.complete("a")
	hub.Ring("s1", end)
	rec.until(t, "the end", hasSeq(end))
}

func TestHeartbeatsStandInForTheFeed(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	s := f.add("s1", "another host")
	s.setStatus(editors.StatusRunning)
	rec := newRecorder()
	conn := core.Connect("test", rec.sink)
	_, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	<-f.followed
	seq := s.start(editors.Item{ID: "a", Kind: editors.ToolCall})
	f.mu.Lock()
	f.tails = []agent.HeartbeatTail{{ItemID: "a", Seq: seq, Attempt: 1, Stream: "stdout", Tail: "one "}}
	f.mu.Unlock()
	stdout := func(want string) func([]editors.EventMessage) bool {
		return func(events []editors.EventMessage) bool {
			got := ""
			for _, m := range events {
				if m.Event.Type == editors.ItemDelta {
					got += m.Event.Data
				}
			}
			return got == want
		}
	}
	rec.until(t, "the tail", stdout("one "))
	f.mu.Lock()
	f.tails[0].Offset, f.tails[0].Tail = 2, "e two"
	f.mu.Unlock()
	rec.until(t, "what is new of it", stdout("one two"))
}

func TestSlowClientCatchesUp(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	s := f.add("s1", core.HostID())
	s.keep = 100_000
	gate := make(chan struct{})
	slow, fast := newRecorder(), newRecorder()
	first := core.Connect("slow", func(m editors.EventMessage) { <-gate; slow.sink(m) })
	second := core.Connect("fast", fast.sink)
	for _, c := range []*Conn{first, second} {
		_, err := run[editors.AttachResult](t, c, "attach", editors.AttachParams{SessionID: "s1"})
		require.NoError(t, err)
	}
	var last int64
	for i := range 2 * maxLogEvents {
		last = s.start(editors.Item{ID: fmt.Sprintf("i%d", i)})
	}
	core.ring("s1", last)
	fast.until(t, "everything, though the other client is stuck", hasSeq(last))
	close(gate)
	events := slow.until(t, "everything in the end", hasSeq(last))
	for i, m := range events {
		require.Equal(t, int64(i+2), m.Seq)
	}
}

func TestClientThatWasAwayForeverIsBroughtUpToDate(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	s := f.add("s1", core.HostID())
	gate := make(chan struct{})
	rec := newRecorder()
	conn := core.Connect("slow", func(m editors.EventMessage) { <-gate; rec.sink(m) })
	s.do(func() { s.pend = []editors.Approval{{ID: "old", ItemID: "i0"}} })
	_, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	s.do(func() { s.pend = []editors.Approval{{ID: "new", ItemID: "i1"}} })
	var last int64
	for i := range 2 * maxLogEvents {
		last = s.start(editors.Item{ID: fmt.Sprintf("i%d", i)})
		if i%50 == 0 {
			core.ring("s1", last)
		}
	}
	s.do(func() { s.items = s.items[len(s.items)-3:] })
	core.ring("s1", last)
	require.Eventually(t, func() bool {
		w := core.watcher("s1")
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.events.last() == last && w.events.base > 10
	}, 10*time.Second, 5*time.Millisecond)
	close(gate)
	events := rec.until(t, "the present", hasSeq(last))
	before := int64(1)
	kinds := map[editors.EventType]int{}
	for _, m := range events {
		require.Greater(t, m.Seq, before)
		before = m.Seq
		kinds[m.Event.Type]++
	}
	require.Equal(t, 1, kinds[editors.ApprovalRequested])
	require.Equal(t, 1, kinds[editors.ApprovalResolved])
}

func TestAnswerComesAfterTheEventsItCaused(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", core.HostID())
	rec := newRecorder()
	conn := core.Connect("test", rec.sink)
	_, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	for i := range 20 {
		result, err := run[editors.AskResult](t, conn, "ask", editors.AskParams{SessionID: "s1", Text: fmt.Sprint(i)})
		require.NoError(t, err)
		require.True(t, hasSeq(result.Seq)(rec.all()), "the answer to request %d came before seq %d", i, result.Seq)
	}
}

func TestEventsWaitForTheAnswerToAttach(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	s := f.add("s1", core.HostID())
	rec := newRecorder()
	conn := core.Connect("test", rec.sink)
	ctx, replied := Replying(t.Context())
	result, err := conn.attach(ctx, editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	last := s.setStatus(editors.StatusRunning)
	core.ring("s1", last)
	require.Eventually(t, func() bool {
		w := core.watcher("s1")
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.events.last() == last
	}, 10*time.Second, time.Millisecond)
	require.Empty(t, rec.all())
	replied()
	events := rec.until(t, "the event", hasSeq(last))
	require.Equal(t, result.Seq+1, events[0].Seq)
}

func TestCursors(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	s := f.add("s1", core.HostID())
	s.keep = 10
	for range 40 {
		s.setStatus(editors.StatusRunning)
	}
	conn := core.Connect("test", func(editors.EventMessage) {})
	for _, c := range []struct {
		name   string
		after  int64
		events int
	}{
		{"too old", 3, -1},
		{"from the future", 4711, -1},
		{"the present", 41, 0},
		{"a little behind", 36, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1", AfterSeq: &c.after})
			require.NoError(t, err)
			require.Equal(t, int64(41), result.Seq)
			require.Len(t, result.Events, max(c.events, 0))
		})
	}
}
