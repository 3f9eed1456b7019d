// This file stops, ends and removes sandboxes: at a pause, after a move, and with the session.

package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const (
	removeTime     = time.Minute     // of one try
	removePatience = 2 * time.Minute // at a session's end
	stopTime       = 2 * time.Minute
	asidePatience  = time.Minute // until what ran beside a session that ends has ended
	maxDoomed      = 50          // that could not be removed
)

// shutdown ends the session for good: its sandboxes go, the user's folder stays.
func (s *session) shutdown(ctx workflow.Context) error {
	if _, err := workflow.AwaitWithTimeout(ctx, asidePatience, func() bool { return s.asides == 0 }); err != nil {
		return err
	}
	s.leaveToParent(ctx)
	opts := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), StartToCloseTimeout: removeTime, ScheduleToCloseTimeout: removePatience,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 5},
	})
	var removals []workflow.Future
	for _, old := range slices.Concat(s.Former, s.Keeping, s.Doomed) {
		removals = append(removals, workflow.ExecuteActivity(opts, ActivityDestroySandbox, DestroyInput{Sandbox: old, Former: true}))
	}
	last := DestroyInput{Sandbox: s.sandbox()}
	if s.Session.ParentID != "" {
		last.Home = s.Home
	}
	removals = append(removals, workflow.ExecuteActivity(opts, ActivityDestroySandbox, last))
	for _, removal := range removals {
		if err := removal.Get(opts, nil); err != nil {
			s.remains = fmt.Sprintf("What it had could not all be removed yet: %s. The worker removes it by itself, an hour after it was made at the earliest, once that can be done.",
				strings.TrimSuffix(cause(err), "."))
		}
	}
	s.setState(ctx, editors.StatusDestroyed, first(s.remains, "Destroyed."))
	s.tellManagerClosed(ctx)
	s.gone = true
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// leaveToParent pictures a fork that is about to go, for its parent: what was changed there and never adopted can still be
// looked at and brought back. Where that cannot be done, the fork goes all the same.
func (s *session) leaveToParent(ctx workflow.Context) {
	if s.Session.ParentID == "" || s.ForkBase == "" {
		return
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), StartToCloseTimeout: removePatience, ScheduleToCloseTimeout: removePatience,
		HeartbeatTimeout: checkpointHeartbeat, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 2},
	})
	in := CheckpointInput{
		Sandbox: s.sandbox(), Summary: fmt.Sprintf("Fork %q when it was destroyed", preview(s.Session.Title, maxName)), Effect: s.Session.ID + "-end",
		Reason: "fork", KeepFor: s.Session.ParentID, Unless: s.taken(), Lacks: s.lacks(),
	}
	var out CheckpointOutput
	if err := workflow.ExecuteActivity(ctx, ActivityCheckpoint, in).Get(ctx, &out); err != nil || out.Failure != "" {
		workflow.GetLogger(ctx).Warn("a fork was not pictured before its end", "error", err, "reason", out.Failure)
	}
}

// doom gives a sandbox up: it is removed when there is time for it.
func (s *session) doom(ctx workflow.Context, old ...Sandbox) {
	s.Doomed = append(s.Doomed, old...)
	s.dropDoomed(ctx)
}

// dropDoomed removes, beside the main loop, the sandboxes that nobody needs any more. What cannot be removed is tried
// again after the next one.
func (s *session) dropDoomed(ctx workflow.Context) {
	if s.dropping || len(s.Doomed) == 0 || s.draining || s.destroying {
		return
	}
	s.dropping = true
	root, cancel := workflow.NewDisconnectedContext(ctx) // it outlives the operation that it follows
	workflow.Go(root, func(ctx workflow.Context) {
		s.aside(ctx, s.removeDoomed)
		s.dropping = false
		cancel()
	})
}

// removeDoomed removes what it can. What it cannot stays for the next time.
func (s *session) removeDoomed(ctx workflow.Context) {
	opts := workflow.ActivityOptions{StartToCloseTimeout: removeTime}
	for failed := 0; failed < len(s.Doomed); {
		old := s.Doomed[failed]
		f := s.besides(opts, ActivityDestroySandbox, DestroyInput{Sandbox: old, Former: true}).Repeat(ctx, "removing a former sandbox", nil)
		switch {
		case ctx.Err() != nil:
			return
		case f != nil:
			workflow.GetLogger(ctx).Warn("former sandbox not removed", "sandbox", old.ID(), "error", f.Message)
			failed++
		default:
			s.Doomed = slices.Delete(slices.Clone(s.Doomed), failed, failed+1)
		}
	}
	if drop := len(s.Doomed) - maxDoomed; drop > 0 { // the worker looks for what has no session any more
		s.Doomed = append([]Sandbox(nil), s.Doomed[drop:]...)
	}
}

// shouldStop tells whether the session pauses while it has sandboxes that cost something though nobody uses them.
func (s *session) shouldStop() bool {
	return s.Paused && !s.Stopped && s.Turn == nil && len(s.Ops) == 0 && len(s.Queue) == 0 && len(s.costly()) > 0
}

// costly are the session's sandboxes that cost something while nobody uses them.
func (s *session) costly() []Sandbox {
	return slices.DeleteFunc(append(slices.Concat(s.Former, s.Keeping), s.sandbox()), func(b Sandbox) bool { return b.Backend.Kind == editors.Local })
}

// stop stops the sandboxes of a session that pauses. The next turn starts its own again.
func (s *session) stop(ctx workflow.Context) {
	s.Stopped = true
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	s.cancelWork = cancel
	defer func() { s.cancelWork = nil }()
	if s.Session.Backend.Kind != editors.Local {
		s.leaveBackground(ctx)
	}
	for _, b := range s.costly() {
		f := s.besides(workflow.ActivityOptions{StartToCloseTimeout: stopTime}, ActivityStopSandbox, b).Repeat(ctx, "stopping the sandbox", nil)
		if ctx.Err() != nil {
			return
		}
		if f != nil {
			s.notice(ctx, s.Session.TurnID, fmt.Sprintf("A sandbox was not stopped, so it goes on to cost what it costs: %s.", f.Message))
		}
	}
	if s.Turn == nil && s.Paused {
		s.rest(ctx)
	}
}
