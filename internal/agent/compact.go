// This file has a conversation compacted when it comes near what the model takes. The old one stays: forks begin with it.

package agent

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

func (s *session) validateCompact(editors.SessionParams) error { return s.open() }

// compactSoon has the conversation compacted before the next model call.
func (s *session) compactSoon(_ workflow.Context, _ editors.SessionParams) (SeqResult, error) {
	s.CompactDue = true
	return SeqResult{Seq: s.Seq}, nil
}

// learnTooLong remembers that the model has refused the conversation as too long.
func (s *session) learnTooLong(res ModelStepResult) {
	s.TooLong = &TooLong{Model: s.Session.Model, Tokens: res.Tokens}
}

// tooLong is how many tokens the session's model has refused as too many; 0: none that is known.
func (s *session) tooLong() int64 {
	if s.TooLong == nil || s.TooLong.Model != s.Session.Model {
		return 0
	}
	return s.TooLong.Tokens
}

// compact makes the conversation shorter. When that fails it stays as it is.
func (s *session) compact(ctx workflow.Context) {
	s.CompactDue = false
	s.setState(ctx, editors.StatusRunning, fmt.Sprintf("Compacting the conversation (%s)…", s.fullness()))
	in := CompactInput{
		Sandbox: s.sandbox(), Head: s.Head, Model: s.Session.Model, Tokens: s.Tokens, TooLong: s.tooLong(),
		Place: s.placeName(s.place(s.Session.Backend)),
	}
	opts := workflow.ActivityOptions{StartToCloseTimeout: modelTimeout, HeartbeatTimeout: modelHeartbeat}
	var res CompactResult
	failed := s.onHost(opts, ActivityCompact, in).Repeat(ctx, "Compacting the conversation", &res)
	if ctx.Err() != nil {
		return
	}
	if failed != nil {
		s.notice(ctx, s.Turn.ID, failed.sentence())
		return
	}
	s.spend(ctx, res.Usage)
	if res.How == "" {
		s.notice(ctx, s.Turn.ID, "The conversation is too short to compact.")
		return
	}
	s.Head, s.Tokens, s.Session.ContextTokens = res.Head, res.After, res.After
	text := fmt.Sprintf("Compacted the conversation from %s to %s tokens: %s.", thousands(res.Before), thousands(res.After), res.How)
	if res.Failed != "" {
		text += " A summary could not be made: " + res.Failed
	}
	s.notice(ctx, s.Turn.ID, text+" The history keeps all of it, and a fork from an earlier turn begins with it.")
}

// fullness is how full the model's window is, in words.
func (s *session) fullness() string {
	if s.Session.ContextWindow == 0 {
		return thousands(s.Tokens) + " tokens"
	}
	return fmt.Sprintf("%s of %s tokens", thousands(s.Tokens), thousands(s.Session.ContextWindow))
}

// spend counts what the session has spent.
func (s *session) spend(ctx workflow.Context, u editors.Usage) {
	if u == (editors.Usage{}) {
		return
	}
	if s.Turn != nil {
		s.Turn.Usage.Add(u)
	}
	s.spendAside(ctx, u)
}

// spendAside counts what was spent beside the turns.
func (s *session) spendAside(ctx workflow.Context, u editors.Usage) {
	s.Session.Usage.Add(u)
	usage := s.Session.Usage
	s.emit(ctx, editors.Event{Type: editors.UsageUpdated, Usage: &usage})
}
