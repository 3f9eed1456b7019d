// This file runs one turn: model calls and tool calls in alternation, until the model answers without calling a tool.

package agent

import (
	"errors"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// openTurn makes turn id the running one.
func (s *session) openTurn(ctx workflow.Context, id int) {
	s.Turn = &Turn{ID: id, StartedAt: workflow.Now(ctx)}
	s.Session.TurnID = id
	s.Paused, s.Stopped = false, false
	s.emit(ctx, editors.Event{Type: editors.TurnStarted, TurnID: id})
	s.setState(ctx, editors.StatusRunning, "Starting the turn.")
}

// admit hands a request to the running turn.
func (s *session) admit(ctx workflow.Context, a Ask) {
	if a.Model != "" && a.Model != s.Session.Model {
		s.Session.Model = a.Model
		s.sessionUpdated(ctx)
	}
	if s.Session.TitleSource == editors.TitleDefault {
		s.titleFrom(ctx, a.Text)
	}
	s.Pending = append(s.Pending, userEntry(a.AskInput))
	s.endItem(ctx, a.ItemID, func(i *editors.Item) { i.Status, i.Queued = editors.ItemCompleted, false })
}

func userEntry(in AskInput) Pending {
	p := Pending{Kind: "user", Text: in.Text, Ref: in.TextRef, Context: in.Context, ContextRef: in.ContextRef, Added: in.Added}
	if p.Ref != "" {
		p.Text = ""
	}
	return p
}

// titleFrom names a session after its first request until somebody names it better.
func (s *session) titleFrom(ctx workflow.Context, text string) {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	title := []rune(CleanTitle(line))
	if len(title) > 60 {
		title = append(title[:59], '…')
	}
	if len(title) == 0 {
		return
	}
	s.Session.Title, s.Session.TitleSource = string(title), editors.TitleGenerated
	s.sessionUpdated(ctx)
}

// runTurn takes the running turn as far as it goes: to its end, or to a continue-as-new between two steps.
func (s *session) runTurn(ctx workflow.Context) error {
	tctx, cancel := workflow.WithCancel(ctx)
	s.cancelWork = cancel
	defer func() { cancel(); s.cancelWork = nil }()
	s.ensureSandbox(tctx)
	for {
		if s.Turn.Interrupt || s.destroying {
			return s.endTurn(ctx, editors.TurnInterrupted, nil)
		}
		if s.shouldRoll(ctx) && !s.ensuring {
			return errRoll
		}
		more, err := s.step(tctx)
		var failed *turnFailure
		switch {
		case s.Turn.Interrupt || s.destroying:
			return s.endTurn(ctx, editors.TurnInterrupted, nil)
		case errors.Is(err, errStopped):
			return s.endTurn(ctx, editors.TurnInterrupted, nil)
		case errors.As(err, &failed):
			return s.endTurn(ctx, editors.TurnFailed, failed)
		case err != nil:
			return err
		case !more:
			return s.endTurn(ctx, editors.TurnCompleted, nil)
		}
		s.seal(ctx)
	}
}

// step does one model call, or the tool calls of the last one, and tells whether the turn goes on.
func (s *session) step(ctx workflow.Context) (bool, error) {
	if len(s.Turn.Calls) > 0 {
		return true, s.toolStep(ctx)
	}
	if err := s.keepBudget(ctx); err != nil {
		return false, err
	}
	s.Pending = append(s.Pending, s.Turn.Steers...)
	s.Turn.Steers = nil
	if err := s.modelStep(ctx); err != nil {
		return false, err
	}
	steered := slices.ContainsFunc(s.Turn.Steers, func(p Pending) bool { return !p.Note })
	return len(s.Turn.Calls) > 0 || steered, nil
}

// turnFailure ends a turn with a reason the user can act on.
type turnFailure struct {
	code    editors.Code
	message string
	remedy  string
}

// Error implements error.
func (f *turnFailure) Error() string { return f.message }
