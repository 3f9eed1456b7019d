// This file runs one turn: model calls and tool calls in alternation, until the model answers without calling a tool.

package agent

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// openTurn makes turn id the running one.
func (s *session) openTurn(ctx workflow.Context, id int) {
	s.Turn = &Turn{ID: id}
	s.Session.TurnID = id
	s.Paused = false
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
	p := Pending{Kind: "user", Text: in.Text, Ref: in.TextRef, Context: in.Context, ContextRef: in.ContextRef}
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
	s.cancelTurn = cancel
	defer func() { cancel(); s.cancelTurn = nil }()
	for {
		if s.Turn.Interrupt || s.destroying {
			return s.endTurn(ctx, editors.TurnInterrupted, nil)
		}
		if s.shouldRoll(ctx) {
			return errRoll
		}
		more, err := s.step(tctx)
		var failed *turnFailure
		switch {
		case s.Turn.Interrupt || s.destroying:
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
	if s.Turn.Usage.ModelCalls >= maxModelCalls {
		return false, &turnFailure{code: editors.CodeLimit, message: fmt.Sprintf("The turn stopped after %d model calls.", maxModelCalls), remedy: "Ask the agent to go on if it should."}
	}
	s.Pending = append(s.Pending, s.Turn.Steers...)
	s.Turn.Steers = nil
	if err := s.modelStep(ctx); err != nil {
		return false, err
	}
	return len(s.Turn.Calls) > 0 || len(s.Turn.Steers) > 0, nil
}

// turnFailure ends a turn with a reason the user can act on.
type turnFailure struct {
	code    editors.Code
	message string
	remedy  string
}

// Error implements error.
func (f *turnFailure) Error() string { return f.message }

func (s *session) endTurn(ctx workflow.Context, status editors.TurnStatus, failed *turnFailure) error {
	turn := s.Turn
	s.settleCalls(ctx)
	s.withdrawApprovals(ctx, turn.ID)
	s.checkpointAfter(ctx, turn) // before anybody learns that the turn has ended: what is written from then on is the user's
	s.Pending = append(s.Pending, turn.Steers...)
	usage := turn.Usage
	end := editors.Event{Type: editors.TurnEnded, TurnID: turn.ID, Status: status, Usage: &usage}
	if failed != nil {
		end.Error = &editors.ErrorData{Code: failed.code, Remedy: failed.remedy}
		end.Message = failed.message
	}
	s.Turn = nil
	if len(s.Queue) == 0 {
		s.restAfter(ctx, failed) // first, so that who follows a turn to its end has seen why it ended
	}
	s.emit(ctx, end)
	s.nextQueued(ctx)
	s.list(ctx)
	if !s.destroying {
		s.seal(ctx)
	}
	return nil
}

// nextQueued starts the turn of the request that waits longest, if there is one.
func (s *session) nextQueued(ctx workflow.Context) {
	if len(s.Queue) == 0 || s.destroying {
		return
	}
	a := s.Queue[0]
	s.Queue = append([]Ask(nil), s.Queue[1:]...)
	s.openTurn(ctx, a.TurnID)
	s.emit(ctx, editors.Event{Type: editors.QueueChanged, Queued: s.queued()})
	s.admit(ctx, a)
}

func (s *session) restAfter(ctx workflow.Context, failed *turnFailure) {
	if failed != nil {
		s.setState(ctx, editors.StatusFailed, failed.message, failed.remedy)
		return
	}
	s.rest(ctx)
}

// rest sets the state of a session without a running turn.
func (s *session) rest(ctx workflow.Context) {
	if s.Paused {
		s.setState(ctx, editors.StatusPaused, "Paused; ask to go on.")
		return
	}
	s.setState(ctx, editors.StatusIdle, "")
}

// seal moves the oldest completed items out of the carried state into a segment in the blob store.
func (s *session) seal(ctx workflow.Context) {
	for len(s.Items) > sealAboveItems || len(s.Items) > keepLiveItems && size(s.Items) > sealAboveBytes {
		n := s.sealable()
		if n == 0 || !s.sealOldest(ctx, n) {
			return
		}
	}
}

// sealable counts the oldest items that are complete and fit into one segment.
func (s *session) sealable() int {
	n, bytes := 0, 0
	for n < len(s.Items)-keepLiveItems && s.Items[n].Status != editors.ItemInProgress {
		bytes += size(s.Items[n])
		if bytes > maxSealBytes && n > 0 {
			break
		}
		n++
	}
	return n
}

func (s *session) sealOldest(ctx workflow.Context, n int) bool {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), StartToCloseTimeout: sealTimeout,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3},
	})
	in := SealInput{Sandbox: s.sandbox(), Segment: Segment{Prev: s.Sealed, Items: s.Items[:n]}}
	var ref string
	if err := workflow.ExecuteActivity(actx, ActivitySeal, in).Get(actx, &ref); err != nil {
		workflow.GetLogger(ctx).Warn("items not sealed", "error", err)
		return false
	}
	s.Sealed = ref
	s.Items = append([]editors.Item(nil), s.Items[n:]...)
	return true
}
