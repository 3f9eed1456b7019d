// This file gives work to a host, and says so when nobody there takes it.

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
	repeatTries = 5               // of what may be repeated, when workers die meanwhile
)

// Work is an activity for a worker of one host.
type Work struct {
	HostID  string
	Name    string
	Input   any
	Options workflow.ActivityOptions // its timeouts
	// Away, unless nil, is called with true when it turns out that no worker of the host is there, with false when one is.
	Away func(ctx workflow.Context, away bool)
}

// Do runs the activity once, and waits for a worker as long as it takes. errLost means that a worker had taken it and then
// died or stopped.
func (w Work) Do(ctx workflow.Context, out any) error {
	opts := w.Options
	opts.TaskQueue, opts.WaitForCancellation = HostQueue(w.HostID), true
	opts.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	opts.ScheduleToStartTimeout = takenWithin
	for {
		actx := workflow.WithActivityOptions(ctx, opts)
		err := workflow.ExecuteActivity(actx, w.Name, w.Input).Get(actx, out)
		if !notTaken(err) {
			return lostOr(err)
		}
		if err := w.awaitHost(ctx); err != nil {
			return err
		}
	}
}

// Repeat runs an activity that may be repeated, a bounded number of times while workers die under it. What keeps it from
// being done is a Failure; what says what it does, as in "carrying the files".
func (w Work) Repeat(ctx workflow.Context, what string, out any) *Failure {
	var err error
	for range repeatTries {
		if err = w.Do(ctx, out); !errors.Is(err, errLost) || ctx.Err() != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return &Failure{Code: editors.CodeCancelled, Message: what + " was cancelled"}
	case errors.Is(err, errLost):
		return &Failure{Code: editors.CodeWorkerUnavailable, Message: what + " failed: the worker stopped again and again meanwhile", Remedy: remedyDoctor}
	case err != nil:
		return &Failure{Code: codeOf(err), Message: what + " failed: " + cause(err), Remedy: remedyDoctor}
	}
	return nil
}

const remedyDoctor = "Run `sandbox-agent doctor`; the worker's log has the detail."

// codeOf is the code that an activity's error carries, if it carries one.
func codeOf(err error) editors.Code {
	if errors.Is(err, errLost) {
		return editors.CodeWorkerUnavailable
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		for _, code := range editors.Codes() {
			if string(code) == app.Type() {
				return code
			}
		}
	}
	return editors.CodeInternal
}

// awaitHost waits until a worker of the host takes work.
func (w Work) awaitHost(ctx workflow.Context) error {
	if w.Away != nil {
		w.Away(ctx, true)
		defer w.Away(ctx, false)
	}
	for {
		actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: HostQueue(w.HostID), ScheduleToStartTimeout: pingPause, StartToCloseTimeout: time.Minute,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		err := workflow.ExecuteActivity(actx, ActivityPing).Get(actx, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !notTaken(err) {
			return nil
		}
	}
}

// onHost is the work of an activity on the session's host. The state says so when no worker is there.
func (s *session) onHost(opts workflow.ActivityOptions, name string, in any) Work {
	return Work{HostID: s.Session.HostID, Name: name, Input: in, Options: opts, Away: s.hostAway}
}

// besides is the same beside what the session does, whose state stays.
func (s *session) besides(opts workflow.ActivityOptions, name string, in any) Work {
	w := s.onHost(opts, name, in)
	w.Away = nil
	return w
}

const reasonAway = "No worker of this session's host is running; waiting for one."

// hostAway shows that no worker of the session's host is there, until none of what waits for one does any more.
func (s *session) hostAway(ctx workflow.Context, away bool) {
	if away {
		if s.waiting++; s.waiting == 1 {
			s.beforeWait = s.Session.State
			s.setState(ctx, editors.StatusRecovering, reasonAway,
				"Start it on that machine: sandbox-agent worker start, or sandbox-worker with the same Temporal settings.")
		}
		return
	}
	s.waiting--
	if s.waiting == 0 && s.Session.State.Reason == reasonAway {
		s.setState(ctx, s.beforeWait.Status, s.beforeWait.Reason, s.beforeWait.Remedy)
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
