// This file turns calls that need a person's answer into durable questions, and settles them.

package agent

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

const (
	maxDecided = 50  // kept to tell late answers who decided
	keptOfText = 200 // bytes of each text of those
	maxBy      = 100 // bytes of the name of who answers
)

const unconfined = "none" // State.Confinement of commands that nothing keeps

// decidedByMode is who decided what was settled because the session's approval mode was changed.
const decidedByMode = "mode"

// askApprovals judges every call that was not judged yet: it may run, is refused, or waits for an answer.
func (s *session) askApprovals(ctx workflow.Context) {
	for i := range s.Turn.Calls {
		c := &s.Turn.Calls[i]
		if !c.Done && !c.Allowed && c.ApprovalID == "" {
			s.permit(ctx, c, s.judge(c))
		}
	}
	s.showApprovals(ctx)
}

// permit does what a verdict says.
func (s *session) permit(ctx workflow.Context, c *Call, v policy.Verdict) {
	c.Allowed = v.Decision == policy.Allow
	switch v.Decision {
	case policy.Allow:
	case policy.Deny:
		s.endCall(ctx, c, RunToolResult{Status: editors.ItemDenied, Error: v.Reason}, "This call is not allowed: "+v.Reason)
	default:
		s.requestApproval(ctx, c, v)
	}
}

// rejudge judges again what has not begun and was not answered by a person, because by has changed what is allowed.
func (s *session) rejudge(ctx workflow.Context, by string) {
	if s.Turn == nil {
		return
	}
	for i := range s.Turn.Calls {
		c := &s.Turn.Calls[i]
		switch {
		case c.Done, c.Attempt > 0:
		case c.ApprovalID != "" && !c.Allowed:
			s.resolve(ctx, c, s.judge(c), by)
		case c.ApprovalID == "" && c.Allowed:
			s.permit(ctx, c, s.judge(c))
		}
	}
	s.showTurn(ctx)
}

// resolve settles the question about a call if there is no need to ask any more.
func (s *session) resolve(ctx workflow.Context, c *Call, v policy.Verdict, by string) {
	i := s.approval(c.ApprovalID)
	if i < 0 || v.Decision == policy.Ask {
		return
	}
	a := s.Approvals[i]
	a.Decision, a.DecidedBy = editors.DecisionAllow, by
	if v.Decision == policy.Deny {
		a.Decision = editors.DecisionDeny
	}
	c.ApprovalID = ""
	s.settle(ctx, a)
	s.permit(ctx, c, v)
}

// showTurn sets the state to what the turn waits for.
func (s *session) showTurn(ctx workflow.Context) {
	if s.Turn != nil {
		s.showApprovals(ctx)
		s.showRunning(ctx)
	}
}

func (s *session) requestApproval(ctx workflow.Context, c *Call, v policy.Verdict) {
	a := editors.Approval{
		ID: fmt.Sprintf("a%d", s.NextApproval), ItemID: c.ItemID, TurnID: s.Turn.ID, Tool: c.Tool, Subject: c.Subject, Reason: v.Reason,
		Options: []string{string(editors.DecisionAllow), string(editors.DecisionDeny)}, Pattern: v.Pattern, At: workflow.Now(ctx),
	}
	if v.Pattern != "" {
		a.Options = []string{string(editors.DecisionAllow), string(editors.DecisionAllowAlways), string(editors.DecisionDeny)}
	}
	s.NextApproval++
	c.ApprovalID = a.ID
	s.Approvals = append(s.Approvals, a)
	s.emit(ctx, editors.Event{Type: editors.ApprovalRequested, Approval: &a})
}

func (s *session) showApprovals(ctx workflow.Context) {
	if len(s.Approvals) == 0 {
		return
	}
	more := ""
	if n := len(s.Approvals) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	s.setState(ctx, editors.StatusWaitingApproval, "Waiting for you to approve: "+preview(s.Approvals[0].Subject, 120)+more)
}

func (s *session) approval(id string) int {
	for i, a := range s.Approvals {
		if a.ID == id {
			return i
		}
	}
	return -1
}

func (s *session) decided(id string) *editors.Approval {
	for i := range s.Decided {
		if s.Decided[i].ID == id {
			return &s.Decided[i]
		}
	}
	return nil
}

func (s *session) validateAnswer(in editors.AnswerApprovalParams) error {
	switch in.Decision {
	case editors.DecisionAllow, editors.DecisionAllowAlways, editors.DecisionDeny:
	default:
		return refuse(ErrTypeInvalid, "decision is %q; it must be allow, allowAlways or deny.", in.Decision)
	}
	if s.answered(in.RequestID) || s.decided(in.ApprovalID) != nil {
		return nil
	}
	i := s.approval(in.ApprovalID)
	if i < 0 {
		return refuse(ErrTypeNotFound, "There is no approval %s, or it was settled long ago.", in.ApprovalID)
	}
	if err := s.open(); err != nil {
		return err
	}
	if len(in.Feedback) > MaxInlineText || !utf8.ValidString(in.Feedback) {
		return refuse(ErrTypeLimit, "The feedback must be text of at most %d bytes; say the rest in a message.", MaxInlineText)
	}
	return s.checkAlways(s.Approvals[i], in)
}

// answer settles an approval. The first answer counts; later ones are told who gave it.
func (s *session) answer(ctx workflow.Context, in editors.AnswerApprovalParams) (editors.AnswerApprovalResult, error) {
	var out editors.AnswerApprovalResult
	if s.recall(in.RequestID, &out) {
		return out, nil
	}
	if d := s.decided(in.ApprovalID); d != nil {
		return s.answerOf(*d, true), nil
	}
	i := s.approval(in.ApprovalID)
	if i < 0 {
		return out, refuse(ErrTypeNotFound, "There is no approval %s, or it was settled long ago.", in.ApprovalID)
	}
	a := s.Approvals[i]
	a.Decision, a.DecidedBy, a.Feedback = in.Decision, preview(in.By, maxBy), in.Feedback
	if in.Decision == editors.DecisionAllowAlways {
		a.Pattern, a.Scope = cmp.Or(in.Pattern, a.Pattern), cmp.Or(in.Scope, editors.ScopeSession)
		s.allowAlways(a)
	}
	s.settle(ctx, a)
	s.applyDecision(ctx, a)
	if in.Decision == editors.DecisionAllowAlways {
		s.rejudge(ctx, a.DecidedBy)
	}
	s.showTurn(ctx)
	out = s.answerOf(a, false)
	s.remember(in.RequestID, out)
	if a.Scope == editors.ScopeWorkspace {
		s.keepRule(ctx, a)
		out.Seq = s.Seq
	}
	return out, nil
}

// answerOf tells how an approval was settled.
func (s *session) answerOf(a editors.Approval, already bool) editors.AnswerApprovalResult {
	out := editors.AnswerApprovalResult{ApprovalID: a.ID, Decision: a.Decision, DecidedBy: a.DecidedBy, Already: already, Seq: s.Seq}
	if a.Scope != "" {
		out.Scope, out.Pattern = a.Scope, a.Pattern
	}
	return out
}

// settle moves an approval from the pending ones to the decided ones and tells everybody.
func (s *session) settle(ctx workflow.Context, a editors.Approval) {
	if i := s.approval(a.ID); i >= 0 {
		s.Approvals = append(append([]editors.Approval(nil), s.Approvals[:i]...), s.Approvals[i+1:]...)
	}
	s.keepDecided(a)
	s.emit(ctx, editors.Event{Type: editors.ApprovalResolved, Approval: &a})
}

// keepDecided keeps of an approval what late answers are told.
func (s *State) keepDecided(a editors.Approval) {
	a.Subject, a.Pattern = preview(a.Subject, keptOfText), preview(a.Pattern, keptOfText)
	a.Reason, a.Feedback, a.Options = "", "", nil
	s.Decided = append(s.Decided, a)
	if drop := len(s.Decided) - maxDecided; drop > 0 {
		s.Decided = append([]editors.Approval(nil), s.Decided[drop:]...)
	}
}

func (s *session) applyDecision(ctx workflow.Context, a editors.Approval) {
	if s.Turn == nil {
		return
	}
	for i := range s.Turn.Calls {
		c := &s.Turn.Calls[i]
		if c.ApprovalID != a.ID || c.Done {
			continue
		}
		if a.Decision != editors.DecisionDeny {
			c.Allowed = true
			continue
		}
		told, shown := "The user denied this call.", "Denied by "+a.DecidedBy+"."
		if a.Feedback != "" {
			told, shown = told+" They said: "+a.Feedback, shown+" "+preview(a.Feedback, keptOfText)
		}
		s.endCall(ctx, c, RunToolResult{Status: editors.ItemDenied, Error: shown}, told)
	}
}

// withdrawApprovals ends the questions of a turn that has ended.
func (s *session) withdrawApprovals(ctx workflow.Context, turn int) {
	for _, a := range append([]editors.Approval(nil), s.Approvals...) {
		if a.TurnID == turn {
			a.Decision, a.DecidedBy = editors.DecisionWithdrawn, "the end of the turn"
			s.settle(ctx, a)
		}
	}
}
