// This file is AgentWorkflow itself: it takes turns until the session is destroyed, and continues as new in between.

package agent

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// When a run continues as new: earlier than the server suggests (4,096 events, 4 MB), between two steps of a turn.
const (
	rollEvents    = 3000
	rollBytes     = 2_500_000
	idleRoll      = 10 * time.Minute
	idleRollAbove = 60 // events
)

// Workflows holds what the workflow code may tell the process it runs in.
type Workflows struct {
	// Ring hints that a session has events up to seq. It may be called before they are durable. May be nil.
	Ring func(sessionID string, seq int64)
}

// errRoll ends a run that must continue as new.
var errRoll = errors.New("continue as new")

// session is a running AgentWorkflow: its State and what only this run knows.
type session struct {
	State
	ring       func(string, int64)
	draining   bool // about to continue as new: updates are turned away and come again
	destroying bool
	gone       bool
	remains    string              // what of a session that is gone could not be removed, in a sentence
	cancelWork workflow.CancelFunc // of the turn or the operation that runs
	listed     editors.Session     // as last told to Temporal's visibility

	waiting    int // how many activities wait for a worker of the host
	beforeWait editors.State
	asides     int      // what runs beside the main loop
	picturing  int      // checkpoints being taken of the workspace as it is, which nothing may change meanwhile
	dropping   bool     // Doomed is being worked on
	watching   int      // commands whose end is waited for
	titling    bool     // a title is being made
	ensuring   bool     // the turn's sandbox is being looked for, or made again
	looking    bool     // somebody looks for the sandbox, or makes it again: one at a time
	unready    *Failure // why it is not there
}

// Agent is AgentWorkflow.
func (w *Workflows) Agent(ctx workflow.Context, in Input) error {
	s := &session{State: in.State, ring: w.Ring}
	if s.Schema != stateSchema {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("this worker understands session state %d, not %d", stateSchema, s.Schema), ErrTypeInvalid, nil)
	}
	if len(s.Events) == 0 {
		s.sessionUpdated(ctx)
	}
	if err := s.register(ctx); err != nil {
		return fmt.Errorf("register handlers: %w", err)
	}
	s.list(ctx)
	if s.Starting {
		s.pictureStart(ctx)
	}
	s.dropDoomed(ctx)
	s.makeTitle(ctx)
	for _, b := range s.Background {
		s.watchCommand(ctx, b.ItemID)
	}
	for {
		switch err := s.next(ctx); {
		case errors.Is(err, errRoll):
			return s.roll(ctx)
		case err != nil:
			return err
		case s.destroying:
			return s.shutdown(ctx)
		}
	}
}

// next waits for work and does it: one turn, one operation, or one continue-as-new.
func (s *session) next(ctx workflow.Context) error {
	idle, err := workflow.AwaitWithTimeout(ctx, idleRoll, func() bool {
		return s.Turn != nil || len(s.Ops) > 0 || s.destroying || s.shouldRoll(ctx) || s.shouldStop()
	})
	if err != nil {
		return err
	}
	switch {
	case s.destroying:
		return nil
	case s.shouldRoll(ctx), !idle && workflow.GetInfo(ctx).GetCurrentHistoryLength() > idleRollAbove:
		return errRoll
	case s.Turn != nil:
		return s.runTurn(ctx)
	case len(s.Ops) > 0:
		return s.runOp(ctx)
	case s.shouldStop():
		s.stop(ctx)
	}
	return nil
}

func (s *session) shouldRoll(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > rollEvents || info.GetCurrentHistorySize() > rollBytes
}

func (s *session) roll(ctx workflow.Context) error {
	s.draining = true
	if err := workflow.Await(ctx, func() bool { return s.asides == 0 && workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	s.drainSignals(ctx)
	s.trimEvents(maxEventBytes / 2)
	return workflow.NewContinueAsNewError(ctx, WorkflowName, Input{State: s.State})
}

// aside runs f beside the main loop, in a context that ends when the run or the session is about to.
func (s *session) aside(ctx workflow.Context, f func(workflow.Context)) {
	s.asides++
	ended := false
	actx, cancel := workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Await(ctx, func() bool { return ended || s.draining || s.destroying })
		cancel()
	})
	f(actx)
	ended = true
	s.asides--
}

// cause returns the innermost message of an activity's error, without Temporal's wrapping.
func cause(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.Is(err, errLost) || errors.As(err, &timeout) {
		return "no worker did it in time"
	}
	return err.Error()
}
