// This file judges calls by what was said beforehand: the approval mode, the policies, and what was allowed for always.

package agent

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/internal/policy"
)

// Permissions are what the worker of a session's host knows about what its calls may do. Their size is bounded by what
// package policy/store reads: two policies of 32 KiB, and 16 KiB of rules.
type Permissions struct {
	Hash      string        `json:"hash,omitempty"` // of all the rest
	Root      string        `json:"root,omitempty"` // the workspace's absolute path as commands see it, "" if not known
	User      policy.Policy `json:"user,omitzero"`
	Workspace policy.Policy `json:"workspace,omitzero"` // can only restrict
	Broken    string        `json:"broken,omitempty"`   // why a policy cannot be read
	Rules     []policy.Rule `json:"rules,omitempty"`    // allowed for the workspace on this kind of backend
	Notices   []string      `json:"notices,omitempty"`  // what the user should know, a sentence each
}

// recordPermissions takes over what a worker has read anew; nil if it is as it was. Within a turn the workspace's policy can
// only become stricter, since the agent itself can change that file.
func (s *session) recordPermissions(ctx workflow.Context, p *Permissions) {
	if p == nil {
		return
	}
	before := s.Permissions
	s.Permissions = *p
	if s.Turn.Began == nil && s.Turn.Usage.ModelCalls > 0 {
		s.Turn.Began = &before.Workspace
	}
	for _, text := range p.Notices {
		if !slices.Contains(before.Notices, text) {
			s.notice(ctx, s.Turn.ID, text)
		}
	}
	if before.Hash != "" && p.Broken == "" && before.Broken == "" && !same(before.Workspace, p.Workspace) {
		s.notice(ctx, s.Turn.ID, fmt.Sprintf("The workspace's policy was changed: it now asks about %s and denies %s. What it restricted before holds until the turn ends.",
			count(len(p.Workspace.Ask), "pattern"), count(len(p.Workspace.Deny), "pattern")))
	}
}

func same(a, b policy.Policy) bool { return slices.Equal(a.Ask, b.Ask) && slices.Equal(a.Deny, b.Deny) }

// policy is what the user and the workspace say about the running turn's calls.
func (s *session) policy() policy.Policy {
	p, _ := policy.Merge(s.Permissions.User, s.Permissions.Workspace)
	if s.Turn.Began != nil {
		p, _ = policy.Merge(p, *s.Turn.Began)
	}
	p.Broken = s.Permissions.Broken
	return p
}

// judge says what is to be done with a call of the running turn now.
func (s *session) judge(c *Call) policy.Verdict {
	call := c.judged()
	call.Root = s.Permissions.Root
	return s.policy().Judge(s.Session.ApprovalMode, call, s.confined(), slices.Concat(s.Permissions.Rules, s.Rules))
}

// judged is the call as the policy sees it.
func (c *Call) judged() policy.Call {
	return policy.Call{Name: c.Tool, Arguments: c.Arguments, Cut: c.Ref != "", Network: c.Network, External: c.External.judged()}
}

// confined tells whether commands are known to be kept to the workspace.
func (s *session) confined() bool { return s.Confinement != "" && s.Confinement != unconfined }
