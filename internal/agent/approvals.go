// This file turns calls that need a person's answer into durable questions, and settles them.

package agent

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

const maxDecided = 50 // kept to tell late answers who decided

const unconfined = "none" // State.Confinement of commands that nothing keeps

// askApprovals judges every call that was not judged yet: it may run, is refused, or waits for an answer.
func (s *session) askApprovals(ctx workflow.Context) {
	for i := range s.Turn.Calls {
		c := &s.Turn.Calls[i]
		if c.Done || c.Allowed || c.ApprovalID != "" {
			continue
		}
		call := c.judged()
		if c.Ref == "" && policy.Match(s.Rules, call) {
			c.Allowed = true
			continue
		}
		switch v := policy.Judge(s.Session.ApprovalMode, call, s.confined()); v.Decision {
		case policy.Allow:
			c.Allowed = true
		case policy.Deny:
			s.endCall(ctx, c, RunToolResult{Status: editors.ItemDenied, Error: v.Reason}, "This call is not allowed: "+v.Reason)
		default:
			s.requestApproval(ctx, c, v)
		}
	}
	s.showApprovals(ctx)
}

// confined tells whether commands are known to be kept to the workspace.
func (s *session) confined() bool { return s.Confinement != "" && s.Confinement != unconfined }

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
	if len(s.Approvals) > 0 {
		s.setState(ctx, editors.StatusWaitingApproval, "Waiting for you to approve: "+preview(s.Approvals[0].Subject, 120))
	}
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
	if s.approval(in.ApprovalID) >= 0 || s.decided(in.ApprovalID) != nil {
		return nil
	}
	return refuse(ErrTypeNotFound, "There is no approval %s.", in.ApprovalID)
}

// answer settles an approval. The first answer counts; later ones are told who gave it.
func (s *session) answer(ctx workflow.Context, in editors.AnswerApprovalParams) (editors.AnswerApprovalResult, error) {
	if d := s.decided(in.ApprovalID); d != nil {
		return editors.AnswerApprovalResult{ApprovalID: d.ID, Decision: d.Decision, DecidedBy: d.DecidedBy, Already: true, Seq: s.Seq}, nil
	}
	i := s.approval(in.ApprovalID)
	if i < 0 {
		return editors.AnswerApprovalResult{}, refuse(ErrTypeNotFound, "There is no approval %s.", in.ApprovalID)
	}
	a := s.Approvals[i]
	a.Decision, a.DecidedBy, a.Feedback = in.Decision, in.By, preview(in.Feedback, MaxInlineText)
	if in.Decision == editors.DecisionAllowAlways {
		pattern := a.Pattern
		if in.Pattern != "" {
			pattern = in.Pattern
		}
		s.Rules = append(s.Rules, policy.Rule{Tool: a.Tool, Pattern: pattern})
	}
	s.settle(ctx, a)
	s.applyDecision(ctx, a)
	if s.Turn != nil {
		s.showApprovals(ctx)
		s.showRunning(ctx)
	}
	return editors.AnswerApprovalResult{ApprovalID: a.ID, Decision: a.Decision, DecidedBy: a.DecidedBy, Seq: s.Seq}, nil
}

// settle moves an approval from the pending ones to the decided ones and tells everybody.
func (s *session) settle(ctx workflow.Context, a editors.Approval) {
	if i := s.approval(a.ID); i >= 0 {
		s.Approvals = append(append([]editors.Approval(nil), s.Approvals[:i]...), s.Approvals[i+1:]...)
	}
	s.Decided = append(s.Decided, a)
	if len(s.Decided) > maxDecided {
		s.Decided = append([]editors.Approval(nil), s.Decided[len(s.Decided)-maxDecided:]...)
	}
	s.emit(ctx, editors.Event{Type: editors.ApprovalResolved, Approval: &a})
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
		text := "The user denied this call."
		if a.Feedback != "" {
			text += " They said: " + a.Feedback
		}
		s.endCall(ctx, c, RunToolResult{Status: editors.ItemDenied, Error: "Denied by " + a.DecidedBy + "."}, text)
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
