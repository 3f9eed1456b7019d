//go:build linux

// This file tests that sandboxes stay awake as long as they are needed, and no longer.

package daytona

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
)

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, patience, 5*time.Millisecond, what)
}

// timed makes a server and a backend that go by the same clock.
func timed(t *testing.T, change ...func(*Options)) (*daytonatest.Server, *Backend, *cloudtest.ManualClock) {
	t.Helper()
	clock := cloudtest.NewClock()
	s := daytonatest.New(t, daytonatest.Options{Clock: clock})
	b := newBackend(t, s, append(change, func(o *Options) { o.clock, o.sleep = clock, (&cloudtest.Waits{}).Sleep })...)
	return s, b, clock
}

// pass lets time pass for as long as the sandbox is looked after.
func pass(t *testing.T, b *Backend, clock *cloudtest.ManualClock, d time.Duration) {
	t.Helper()
	tick := b.opts.Timeout / 3
	for ; d > 0; d -= tick {
		eventually(t, "that somebody looks after the sandbox", func() bool { return clock.Waits(tick) })
		clock.Advance(tick)
	}
	eventually(t, "that somebody looks after the sandbox", func() bool { return clock.Waits(tick) })
}

// lapse lets time pass until nobody looks after the sandbox any more and its own time is over. A connection that is left
// would keep it awake.
func lapse(t *testing.T, s *daytonatest.Server, clock *cloudtest.ManualClock) {
	t.Helper()
	eventually(t, "that the sandbox is stopped", func() bool {
		clock.Advance(10 * time.Second)
		return !s.Sandboxes()[0].Running
	})
}

func TestATurnKeepsItsSandboxAwake(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t)
	box := open(t, b, "s")
	succeed(t, box, "echo kept > file")
	release := b.Keep(box.Ref())
	pass(t, b, clock, time.Hour)
	require.True(t, s.Sandboxes()[0].Running, "the model thinks for four times as long as an idle sandbox lives")
	require.GreaterOrEqual(t, s.Requests("last-activity"), 10)
	require.True(t, b.boxes.Known("s").Connected())
	release()
	release()
	lapse(t, s, clock)
	require.False(t, b.boxes.Known("s").Connected())
	asked := s.Requests("last-activity")
	clock.Advance(24 * time.Hour)
	require.Equal(t, asked, s.Requests("last-activity"), "nobody asks for an idle sandbox")
	require.Zero(t, s.Requests("start"))
	require.Equal(t, "kept", succeed(t, box, "cat file"), "using it starts it")
	require.Equal(t, 1, s.Created())
}

func TestKeepingIsBounded(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t, func(o *Options) { o.Unattended = 30 * time.Minute })
	box := open(t, b, "s")
	defer b.Keep(box.Ref())() // by somebody who forgot
	pass(t, b, clock, 25*time.Minute)
	require.True(t, s.Sandboxes()[0].Running)
	lapse(t, s, clock)
}

func TestACommandKeepsItsSandboxAwake(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t)
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "echo once >> count; while [ ! -e go ]; do sleep 0.05; done; echo done"}))
	pass(t, b, clock, time.Hour)
	require.True(t, s.Sandboxes()[0].Running)
	succeed(t, box, "touch go")
	require.Zero(t, await(t, box, "long").ExitCode)
	lapse(t, s, clock)
	require.Equal(t, "done\n", output(t, box, "long"))
	require.Equal(t, "once", succeed(t, box, "cat count"))
}

// A command that nobody waits for any more ends with its sandbox, and its outcome is told as unknown.
func TestAForgottenCommand(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t, func(o *Options) { o.Unattended = 30 * time.Minute })
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "sleep 600"}))
	lapse(t, s, clock)
	require.Equal(t, sandbox.StateLost, await(t, box, "long").State)
}

func TestACallKeepsItsSandboxAwake(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t, func(o *Options) { o.Unattended = time.Minute })
	box := open(t, b, "s")
	require.NoError(t, box.Start(t.Context(), "long", sandbox.Command{Script: "while [ ! -e go ]; do sleep 0.05; done; echo done"}))
	waited := make(chan error, 1)
	go func() {
		_, err := box.Wait(t.Context(), "long", sandbox.Offsets{}, time.Hour)
		waited <- err
	}()
	eventually(t, "that it is waited for", func() bool { return b.boxes.Known("s").keeper.Calls() == 1 })
	pass(t, b, clock, time.Hour)
	require.True(t, s.Sandboxes()[0].Running)
	succeed(t, box, "touch go")
	require.NoError(t, <-waited)
}

func TestKeepingFailsNowAndThen(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t)
	box := open(t, b, "s")
	defer b.Keep(box.Ref())()
	s.Inject(cloudtest.Fault{Op: "last-activity", Status: 500, Times: cloud.Tries})
	pass(t, b, clock, time.Hour)
	require.Zero(t, s.Pending())
	require.True(t, s.Sandboxes()[0].Running, "the next look makes up for it")
}

// Somebody who stops a sandbox elsewhere is not worked against.
func TestKeepingDoesNotStart(t *testing.T) {
	t.Parallel()
	s, b, clock := timed(t)
	box := open(t, b, "s")
	defer b.Keep(box.Ref())()
	pass(t, b, clock, 10*time.Minute)
	require.NoError(t, s.Stop(s.Sandboxes()[0].ID))
	eventually(t, "that the connection is known to be broken", func() bool { return !b.boxes.Known("s").Connected() })
	for range 10 {
		clock.Advance(time.Minute)
	}
	require.False(t, s.Sandboxes()[0].Running)
	require.Zero(t, s.Requests("start"))
}
