// This file shows in the session's state what a running command does instead of printing.

package agent

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// QuietSignal tells that the command of a call is quiet since a time, or, with a zero time, that it prints again.
type QuietSignal struct {
	ItemID string    `json:"itemId"`
	Since  time.Time `json:"since,omitzero"`
	Asks   bool      `json:"asks,omitempty"` // it waits for input
}

func (s *session) listenForQuiet(ctx workflow.Context) { listen(ctx, SignalQuiet, s.quiet) }

// quiet sets the state, unless it says something else that the user can do something about.
func (s *session) quiet(ctx workflow.Context, in QuietSignal) {
	c := s.runningCall(in.ItemID)
	if c == nil || len(s.Approvals) > 0 || s.waiting > 0 {
		return
	}
	since := in.Since
	if now := workflow.Now(ctx); since.After(now) { // by the clock of another machine
		since = now
	}
	switch what := s.subject(c); {
	case in.Since.IsZero():
		s.setState(ctx, editors.StatusRunning, "Running "+what)
	case in.Asks:
		s.setStateSince(ctx, since, editors.StatusRunning, "The command waits for input: "+what, "The agent is about to be told; stop the command if it should not go on.")
	default:
		s.setStateSince(ctx, since, editors.StatusRunning, "The command prints nothing: "+what, "It may be at work all the same; stop it if it hangs.")
	}
}
