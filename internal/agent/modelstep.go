// This file makes one model call and explains every try that fails.

package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

// Limits of one model call and its retries. Retries are made here, not by Temporal, so that the state can say why.
const (
	maxModelAttempts = 5
	maxLostAttempts  = 20 // the worker died during the call
	modelTimeout     = 15 * time.Minute
	modelHeartbeat   = 10 * time.Second
	firstBackoff     = time.Second
	maxBackoff       = 30 * time.Second
	maxRetryAfter    = 5 * time.Minute
	sealTimeout      = 30 * time.Second
)

// forgetsEmptyMessages is the change since which sessions keep no empty messages, so that they seal their items at other times.
const forgetsEmptyMessages = "forgets-empty-messages"

// modelStep calls the model once, with retries, and records what it answered. A conversation that is too long is compacted
// first.
func (s *session) modelStep(ctx workflow.Context) error {
	full, err := s.tryModel(ctx, false)
	if !full || err != nil {
		return err
	}
	if s.compact(ctx); s.Turn.Interrupt || ctx.Err() != nil {
		return nil
	}
	_, err = s.tryModel(ctx, true)
	return err
}

// tryModel is one model call; full means that it was not made, or refused, because the conversation is too long, which cannot
// be once it is compacted.
func (s *session) tryModel(ctx workflow.Context, compacted bool) (full bool, err error) {
	item := s.startItem(ctx, editors.Item{TurnID: s.Turn.ID, Kind: editors.AgentMessage, Status: editors.ItemInProgress})
	id, seq := item.ID, item.Seq
	s.setState(ctx, editors.StatusRunning, "Waiting for the model "+s.Session.Model+".")
	failures, lost := 0, 0
	for attempt := 1; ; attempt++ {
		res, err := s.callModel(ctx, id, seq, attempt, compacted)
		s.learn(res)
		switch {
		case errors.Is(err, errLost):
			if lost++; lost > maxLostAttempts {
				return false, s.failModel(ctx, id, ModelFailure{Message: "The worker stopped again and again during a model call.", Remedy: "Run `sandbox-agent doctor`."})
			}
			s.setState(ctx, editors.StatusRecovering, fmt.Sprintf("The worker stopped during the model call; asking again (try %d).", attempt+1))
			continue
		case err != nil:
			return false, s.abandonMessage(ctx, id, err)
		case res.Full, res.tooLong() && !compacted:
			s.endMessage(ctx, id, func(i *editors.Item) { i.Status = editors.ItemCompleted })
			return true, nil
		case res.Failure == nil:
			s.recordAnswer(ctx, id, attempt, res)
			return false, nil
		}
		failures++
		if !res.Failure.Retryable || failures >= maxModelAttempts || res.Failure.RetryAfter > maxRetryAfter {
			s.keepPartial(id, attempt, res.Message)
			return false, s.failModel(ctx, id, *res.Failure)
		}
		if err := s.backOff(ctx, failures, *res.Failure); err != nil {
			return false, s.abandonMessage(ctx, id, err)
		}
	}
}

// learn takes what a call says of the conversation, whatever else came of it: what the model was to see is in it, also when
// it did not answer.
func (s *session) learn(res ModelStepResult) {
	if res.Head == "" {
		return
	}
	s.Head, s.Pending = res.Head, nil
	s.Tokens, s.Session.ContextTokens, s.Session.ContextWindow = res.Tokens, res.Tokens, res.Window
	if res.tooLong() {
		s.learnTooLong(res)
	}
}

// tooLong tells whether the model refused the conversation because of its length.
func (r ModelStepResult) tooLong() bool { return r.Failure != nil && r.Failure.Kind == FailureTooLong }

func (s *session) callModel(ctx workflow.Context, itemID string, seq int64, attempt int, compacted bool) (ModelStepResult, error) {
	in := ModelStepInput{
		Sandbox: s.sandbox(), TurnID: s.Turn.ID, ItemID: itemID, ItemSeq: seq, Attempt: attempt,
		Head: s.Head, Pending: s.Pending, Model: s.Session.Model, Effort: s.Session.Effort, Permissions: s.Permissions.Hash,
		Tokens: s.Tokens, TooLong: s.tooLong(), Compact: s.CompactDue && !compacted, Compacted: compacted,
	}
	var res ModelStepResult
	opts := workflow.ActivityOptions{StartToCloseTimeout: modelTimeout, HeartbeatTimeout: modelHeartbeat}
	err := s.onHost(opts, ActivityModelStep, in).Do(ctx, &res)
	return res, err
}

func (s *session) backOff(ctx workflow.Context, failures int, f ModelFailure) error {
	wait := max(min(firstBackoff<<(failures-1), maxBackoff), f.RetryAfter)
	s.setState(ctx, editors.StatusRunning,
		fmt.Sprintf("Waiting for the model: retry %d of %d in %s: %s", failures+1, maxModelAttempts, wait.Round(time.Second), f.Message), f.Remedy)
	return workflow.Sleep(ctx, wait)
}

// recordAnswer turns a model's answer into items and the turn's next calls.
func (s *session) recordAnswer(ctx workflow.Context, id string, attempt int, res ModelStepResult) {
	s.recordConfinement(ctx, res.Confinement)
	s.recordPermissions(ctx, res.Permissions)
	s.recordOffer(ctx, res)
	res.Usage.ModelCalls = 1
	if res.Reasoning.Inline != "" {
		r := s.startItem(ctx, withText(editors.Item{TurnID: s.Turn.ID, Kind: editors.Reasoning, Status: editors.ItemCompleted, Attempt: attempt}, res.Reasoning))
		s.endItem(ctx, r.ID, func(*editors.Item) {})
	}
	s.endMessage(ctx, id, func(i *editors.Item) {
		*i = withText(*i, res.Message)
		i.Attempt, i.Status = attempt, editors.ItemCompleted
		if res.Interrupted {
			i.Status = editors.ItemInterrupted
		}
		if res.Incomplete != "" {
			i.Error = "The answer stops early: " + res.Incomplete
		}
	})
	s.spend(ctx, res.Usage)
	for _, c := range res.Calls {
		item := s.startItem(ctx, editors.Item{
			TurnID: s.Turn.ID, Kind: editors.ToolCall, Status: editors.ItemInProgress, Tool: c.Tool, Arguments: c.Arguments, Text: preview(c.Subject, 500), Refs: argumentRefs(c),
		})
		s.Turn.Calls = append(s.Turn.Calls, Call{CallRequest: c, ItemID: item.ID, ItemSeq: item.Seq})
	}
}

// endMessage completes the item of a model call. One that says nothing, as of a call that only asks for tools, that was stopped
// before its first word or that came to nothing because the conversation is too long, is kept by nobody from then on.
func (s *session) endMessage(ctx workflow.Context, id string, change func(*editors.Item)) {
	s.endItem(ctx, id, change)
	item := s.item(id)
	if item == nil || strings.TrimSpace(item.Text) != "" || item.Refs != nil || item.Error != "" {
		return
	}
	if workflow.GetVersion(ctx, forgetsEmptyMessages, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	s.Items = slices.DeleteFunc(slices.Clone(s.Items), func(i editors.Item) bool { return i.ID == id })
}

// recordConfinement remembers what keeps commands, and says so when nothing does.
func (s *session) recordConfinement(ctx workflow.Context, confinement string) {
	if confinement == "" || confinement == s.Confinement {
		return
	}
	s.Confinement = confinement
	if confinement == unconfined {
		s.notice(ctx, s.Turn.ID, "Commands are not confined here: they can do whatever you can.")
	}
}

func withText(i editors.Item, t Text) editors.Item {
	i.Text, i.TextBytes, i.Refs = t.Inline, t.Bytes, textRefs(t.Ref)
	if t.Ref == "" {
		i.TextBytes = 0
	}
	return i
}

func argumentRefs(c CallRequest) map[string]string {
	if c.Ref == "" {
		return nil
	}
	return map[string]string{"arguments": c.Ref}
}

// keepPartial keeps what the last try of a failed call had said.
func (s *session) keepPartial(id string, attempt int, t Text) {
	if item := s.item(id); item != nil {
		*item = withText(*item, t)
		item.Attempt = attempt
	}
}

// failModel ends the turn because of the model. What the user asked stays in the conversation, or pending: the next turn's
// call carries it.
func (s *session) failModel(ctx workflow.Context, id string, f ModelFailure) error {
	s.endItem(ctx, id, func(i *editors.Item) { i.Status, i.Error = editors.ItemFailed, f.Message })
	return &turnFailure{code: editors.CodeModelUnavailable, message: f.Message, remedy: f.Remedy}
}

// abandonMessage completes the item of a call that was cancelled before a worker took it, or that failed by itself.
func (s *session) abandonMessage(ctx workflow.Context, id string, err error) error {
	if temporal.IsCanceledError(err) {
		s.endMessage(ctx, id, func(i *editors.Item) { i.Status = editors.ItemInterrupted })
		return nil
	}
	return s.failModel(ctx, id, ModelFailure{Message: "The model call failed: " + cause(err), Remedy: remedyDoctor})
}
