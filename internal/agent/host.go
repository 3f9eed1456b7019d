// This file gives work to a session's host, and says so when nobody there takes it.

package agent

import (
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const (
	takenWithin = 3 * time.Second // a running worker takes work at once
	pingPause   = time.Hour       // between questions to a host that is away
)

// onHost runs an activity on the session's host, once, and waits for a worker there as long as it takes. errLost means that
// a worker had taken it and then died or stopped.
func (s *session) onHost(ctx workflow.Context, opts workflow.ActivityOptions, name string, in, out any) error {
	opts.TaskQueue, opts.WaitForCancellation = HostQueue(s.Session.HostID), true
	opts.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	opts.ScheduleToStartTimeout = takenWithin
	for {
		actx := workflow.WithActivityOptions(ctx, opts)
		err := workflow.ExecuteActivity(actx, name, in).Get(actx, out)
		if !notTaken(err) {
			return lostOr(err)
		}
		if err := s.awaitHost(ctx); err != nil {
			return err
		}
	}
}

// awaitHost waits until a worker of the session's host takes work, and says meanwhile that there is none.
func (s *session) awaitHost(ctx workflow.Context) error {
	before := s.Session.State
	s.setState(ctx, editors.StatusRecovering, "No worker of this session's host is running; waiting for one.",
		"Start it on that machine: sandbox-agent worker start, or sandbox-worker with the same Temporal settings.")
	for {
		actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: HostQueue(s.Session.HostID), ScheduleToStartTimeout: pingPause, StartToCloseTimeout: time.Minute,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		err := workflow.ExecuteActivity(actx, ActivityPing).Get(actx, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !notTaken(err) {
			s.setState(ctx, before.Status, before.Reason, before.Remedy)
			return nil
		}
	}
}

// notTaken tells whether no worker took the activity in time, so that it has certainly not begun.
func notTaken(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// errLost says that a worker died or stopped during an activity.
var errLost = errors.New("the worker stopped")

// lostOr turns the errors of an activity whose worker died or stopped into errLost.
func lostOr(err error) error {
	var timeout *temporal.TimeoutError
	var app *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout):
		return errLost
	case errors.As(err, &app) && app.Type() == ErrTypeWorkerStopped:
		return errLost
	}
	return err
}
