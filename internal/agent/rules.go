// This file remembers what a person has allowed for always, in the session or in its workspace.

package agent

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

const (
	maxRules     = 200 // allowed for the session
	maxRuleBytes = 16 << 10
	keepTime     = 10 * time.Second
)

// checkAlways refuses to remember what may not be allowed for always.
func (s *session) checkAlways(a editors.Approval, in editors.AnswerApprovalParams) error {
	if in.Decision != editors.DecisionAllowAlways {
		return nil
	}
	switch in.Scope {
	case "", editors.ScopeSession, editors.ScopeWorkspace:
	default:
		return refuse(ErrTypeInvalid, "scope is %q; it must be session or workspace.", in.Scope)
	}
	if !slices.Contains(a.Options, string(editors.DecisionAllowAlways)) {
		return refuse(ErrTypeInvalid, "This can be allowed once, but not for always.")
	}
	pattern := cmp.Or(in.Pattern, a.Pattern)
	if pattern != a.Pattern {
		if err := policy.CheckPattern(a.Tool, pattern); err != nil {
			return refuse(ErrTypeInvalid, "The pattern cannot be allowed: %v.", err)
		}
	}
	bytes := len(pattern)
	for _, r := range s.Rules {
		bytes += len(r.Pattern)
	}
	if len(s.Rules) >= maxRules || bytes > maxRuleBytes {
		return refuse(ErrTypeLimit, "No more can be allowed for always in this session; remove some of it with `sandbox-agent rules`, or allow it once.")
	}
	return nil
}

func ruleOf(a editors.Approval) policy.Rule { return policy.Rule{Tool: a.Tool, Pattern: a.Pattern} }

// allowAlways remembers what was allowed, at once and in the session; see keepRule.
func (s *session) allowAlways(a editors.Approval) {
	rule := ruleOf(a)
	if a.Scope == editors.ScopeWorkspace {
		s.Permissions.Rules = append(slices.Clone(s.Permissions.Rules), rule)
		s.Permissions.Hash += "+" // no longer what the worker has read
		return
	}
	if !slices.Contains(s.Rules, rule) {
		s.Rules = append(slices.Clone(s.Rules), rule)
	}
}

// keepRule has the worker remember what was allowed for the workspace. What cannot be kept there is allowed for the session,
// and told.
func (s *session) keepRule(ctx workflow.Context, a editors.Approval) {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(s.Session.HostID), ScheduleToStartTimeout: takenWithin, StartToCloseTimeout: keepTime,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: repeatTries},
	})
	in := KeepRuleInput{Sandbox: s.sandbox(), Rule: ruleOf(a), By: a.DecidedBy, At: workflow.Now(ctx)}
	if err := workflow.ExecuteActivity(actx, ActivityKeepRule, in).Get(ctx, nil); err != nil {
		a.Scope = editors.ScopeSession
		s.allowAlways(a)
		s.notice(ctx, a.TurnID, "What you allowed could not be kept for the workspace, so it is allowed for this session: "+cause(err)+".")
	}
}

func (s *session) validateForget(in editors.RulesParams) error {
	if s.answered(in.RequestID) || slices.ContainsFunc(s.Rules, func(r policy.Rule) bool { return r.Pattern == in.Pattern }) {
		return s.open()
	}
	return refuse(ErrTypeNotFound, "This session does not allow the pattern %q.", preview(in.Pattern, keptOfText))
}

// forgetRule takes back what was allowed for always in the session.
func (s *session) forgetRule(_ workflow.Context, in editors.RulesParams) (editors.RulesResult, error) {
	out := editors.RulesResult{Rules: []editors.Rule{}}
	if s.recall(in.RequestID, &out) {
		return out, nil
	}
	var left []policy.Rule
	for _, r := range s.Rules {
		if r.Pattern != in.Pattern {
			left = append(left, r)
			continue
		}
		out.Rules = append(out.Rules, editors.Rule{Scope: editors.ScopeSession, Tool: r.Tool, Pattern: r.Pattern})
	}
	s.Rules, out.Seq = left, s.Seq
	s.remember(in.RequestID, out)
	return out, nil
}
