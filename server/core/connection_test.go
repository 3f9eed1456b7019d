// This file tests that clients learn when their session cannot be followed or its turn has no worker, and when that is over,
// and that this changes nothing of what else they are told.

package core

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/config"
	"sandboxagent/internal/temporal"
)

// attached is a session on this host's engine and a client that is attached to it.
func attached(t *testing.T, f *fakeEngine, status editors.Status) (*Core, *fakeSession, *recorder) {
	t.Helper()
	core := testCore(t, f)
	s := f.add("s1", "far")
	s.setStatus(status)
	rec := newRecorder()
	_, err := run[editors.AttachResult](t, core.Connect("test", rec.sink), "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	<-f.followed
	return core, s, rec
}

func (f *fakeEngine) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// connections are the changes of the connection among events.
func connections(events []editors.EventMessage) (changes []editors.EventMessage) {
	for _, m := range events {
		if m.Event.Type == editors.ConnectionChanged {
			changes = append(changes, m)
		}
	}
	return changes
}

func told(n int) func([]editors.EventMessage) bool {
	return func(events []editors.EventMessage) bool { return len(connections(events)) >= n }
}

// requireLasting checks that durable events came once and in order, and that the others carry the seq of the last one.
func requireLasting(t *testing.T, events []editors.EventMessage, after int64) {
	t.Helper()
	for _, m := range events {
		if m.Event.Type.Durable() {
			after++
		}
		require.Equal(t, after, m.Seq, "%+v", m.Event)
	}
}

func TestAnUnreachableTemporalIsTold(t *testing.T) {
	f := newFakeEngine()
	core, s, rec := attached(t, f, editors.StatusIdle)
	before := time.Now()
	f.set(func() { f.down = true })
	missed := s.setStatus(editors.StatusRunning)
	core.ring("s1", missed)
	lost := connections(rec.until(t, "that it is gone", told(1)))[0]
	require.Less(t, time.Since(before), blip+3*time.Second)
	require.False(t, lost.Event.Connected)
	require.Contains(t, lost.Event.Reason, "Temporal does not answer at")
	require.Contains(t, lost.Event.Remedy, "Start that Temporal server")
	require.WithinRange(t, lost.Event.Since, before.Add(-time.Second), before.Add(time.Second))
	require.Nil(t, lost.Event.State)

	f.set(func() { f.down = false })
	events := rec.until(t, "that it is back, and what was missed", func(e []editors.EventMessage) bool { return told(2)(e) && hasSeq(missed)(e) })
	back := connections(events)[1]
	require.True(t, back.Event.Connected)
	require.Empty(t, back.Event.Reason)
	require.Equal(t, editors.StatusRunning, back.Event.State.Status)
	last := s.setStatus(editors.StatusIdle)
	core.ring("s1", last)
	requireLasting(t, rec.until(t, "what comes then", hasSeq(last)), 2)
}

func TestABlipIsNotTold(t *testing.T) {
	f := newFakeEngine()
	core, s, rec := attached(t, f, editors.StatusIdle)
	f.set(func() { f.fail = []error{errors.New("a hiccup")} })
	last := s.setStatus(editors.StatusRunning)
	core.ring("s1", last)
	require.Empty(t, connections(rec.until(t, "the event", hasSeq(last))))
}

func TestAWorkerThatDoesNotAnswerIsTold(t *testing.T) {
	f := newFakeEngine()
	core, s, rec := attached(t, f, editors.StatusRunning)
	f.set(func() { f.silent, f.pollers = true, 0 })
	core.watcher("s1").kick()
	lost := connections(rec.until(t, "that nobody answers", told(1)))[0].Event
	require.Contains(t, lost.Reason, "no worker is polling")
	require.Equal(t, remedyWorker, lost.Remedy)
	f.set(func() { f.silent, f.pollers = false, 1 })
	rec.until(t, "that somebody does", told(2))
	last := s.setStatus(editors.StatusIdle)
	core.ring("s1", last)
	events := rec.until(t, "the event", hasSeq(last))
	require.Len(t, connections(events), 2, "each is told once")
	requireLasting(t, events, 2)
}

func TestATurnWithoutItsWorkerIsTold(t *testing.T) {
	f := newFakeEngine()
	core, _, rec := attached(t, f, editors.StatusRunning)
	f.set(func() { f.queues = map[string]int{agent.HostQueue("far"): 0} })
	w := core.watcher("s1")
	w.kick()
	require.Never(t, func() bool { return told(1)(rec.all()) }, 200*time.Millisecond, 50*time.Millisecond, "something came lately")
	w.mu.Lock()
	w.heard = w.heard.Add(-standstill)
	w.mu.Unlock()
	w.kick()
	lost := connections(rec.until(t, "that nobody takes it", told(1)))[0].Event
	require.Contains(t, lost.Reason, "no worker is polling")
	require.NotEmpty(t, lost.Remedy)
	f.set(func() { f.queues = nil })
	w.kick()
	back := connections(rec.until(t, "that somebody does", told(2)))[1].Event
	require.Equal(t, editors.StatusRunning, back.State.Status)
}

func TestASessionThatNobodyWorksOnMayRest(t *testing.T) {
	f := newFakeEngine()
	f.queues = map[string]int{agent.HostQueue("far"): 0}
	core, s, rec := attached(t, f, editors.StatusIdle)
	w := core.watcher("s1")
	w.mu.Lock()
	w.heard = w.heard.Add(-time.Hour)
	w.mu.Unlock()
	last := s.setStatus(editors.StatusPaused)
	core.ring("s1", last)
	require.Empty(t, connections(rec.until(t, "the event", hasSeq(last))))
}

func TestAClientThatComesWhileTheWorkerIsMissingLearnsWhenItIsBack(t *testing.T) {
	f := newFakeEngine()
	f.queues = map[string]int{agent.HostQueue("far"): 0}
	core, _, rec := attached(t, f, editors.StatusRunning)
	lost := connections(rec.until(t, "what is missing", told(1)))[0].Event
	require.Contains(t, lost.Reason, "no worker is polling")
	f.set(func() { f.queues = nil })
	core.watcher("s1").kick()
	back := connections(rec.until(t, "that it is back", told(2)))[1].Event
	require.Equal(t, editors.StatusRunning, back.State.Status, "not what the answer to attach said")
}

func TestWhatIsOverBeforeAClientHearsOfItIsNotTold(t *testing.T) {
	w := newWatcher("s1", nil, nil, func(string, ...any) {})
	a := newAttachment(w, func() {})
	a.join(0, nil)
	a.begin()
	missing := editors.Errorf(editors.CodeWorkerUnavailable, "nobody is there")
	began := time.Unix(1000, 0).UTC()
	w.lose(missing, began)
	w.regain()
	_, ok, err := a.next()
	require.NoError(t, err)
	require.False(t, ok)

	w.lose(missing, began)
	w.lose(missing, began.Add(time.Hour))
	m, ok, err := a.next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, began, m.Event.Since)
	a.delivered(m)
	_, ok, _ = a.next()
	require.False(t, ok, "the same is not told twice")
	w.lose(editors.Errorf(editors.CodeTemporalUnavailable, "nothing is there"), began.Add(time.Hour))
	m, _, _ = a.next()
	require.Equal(t, "nothing is there", m.Event.Reason)
	require.Equal(t, began, m.Event.Since, "it is still the same trouble")
}

func TestWhatHelpsWhereTheWorkerOfThisHostDoesNotRun(t *testing.T) {
	c := New(Options{Paths: testPaths(t), Config: config.Default(), Autostart: true})
	t.Cleanup(c.Close)
	running := editors.Session{State: editors.State{Status: editors.StatusRunning}}
	require.Contains(t, c.obstacle(t.Context(), running).Message, "is started again")
	require.Equal(t, "The next question starts it.", c.obstacle(t.Context(), editors.Session{}).Remedy)
	require.NoError(t, os.WriteFile(c.stoppedFile(), nil, 0o600))
	require.Equal(t, remedyStart, c.obstacle(t.Context(), running).Remedy, "its user wants it so")
}

func TestWhileAWorkerIsNotTriedAgainItIsToldWhyAndUntilWhen(t *testing.T) {
	newCore, lives := installation(t, "fail")
	core := newCore()
	core.link.dial = func(context.Context, temporal.Profile) (engine, error) { return newFakeEngine(), nil }
	unasked := context.WithValue(t.Context(), quietKey{}, quietUnlessStopped)
	for _, status := range []editors.Status{editors.StatusRunning, editors.StatusRecovering, editors.StatusSwitching} {
		at := func() *editors.Error {
			return core.obstacle(t.Context(), editors.Session{State: editors.State{Status: status}})
		}
		require.Contains(t, at().Message, "has ended and is started again")
		_, err := core.link.engine(unasked)
		require.ErrorContains(t, err, "while it was starting")
		failed := core.link.failed.Load().at
		e := at()
		require.Contains(t, e.Message, "could not be started again: the worker ended")
		require.Contains(t, e.Message, "the moon is in the wrong phase")
		require.Contains(t, e.Remedy, "It is tried once more at "+failed.Add(time.Minute).Format("15:04:05")+". Read its log: ")
		core.link.failed.Store(&startFailure{failed.Add(-startAgain), e}) // a minute later
	}
	idle := core.obstacle(t.Context(), editors.Session{State: editors.State{Status: editors.StatusIdle}})
	require.Equal(t, "The next question starts it.", idle.Remedy)

	t.Setenv(fakeWorkerEnv, "work")
	_, err := core.link.engine(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, lives())
	require.Nil(t, core.link.unstarted(), "if that dies it is started at once")
}

func TestWhoFindsNobodyDoesNotWaitForWhoConnects(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	_, err := core.link.engine(t.Context())
	require.NoError(t, err)
	<-core.link.turn // somebody connects
	core.link.lost()
	require.True(t, core.link.suspect.Load())
	core.link.turn <- struct{}{}
	_, err = core.link.engine(t.Context())
	require.NoError(t, err)
	require.False(t, core.link.suspect.Load(), "it was looked again")
}
