// This file tells workflows what was said beforehand about a session's calls, and keeps what was allowed for a workspace.

package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/policy/store"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/workspace"
)

// permissions reads what calls in a session's sandbox may do; nil if that has the hash known. The workspace's policy is that
// in the folder on this host, also of sandboxes with a copy of it: those the agent could change.
func (a *Activities) permissions(in agent.Sandbox, known string) *agent.Permissions {
	said := a.Policies.Policies(in.Folder)
	p := agent.Permissions{Root: a.rootOf(in), User: said.User, Workspace: said.Workspace, Broken: said.Broken, Notices: said.Notices}
	p.Notices = append(p.Notices, mcp.Ignored(in.Folder)...)
	rules, err := a.Policies.Rules(workspace.Resolve(in.Folder))
	if err != nil { // then nothing is allowed beforehand
		p.Notices = append(p.Notices, "What is allowed for this workspace is not known: "+err.Error()+".")
	}
	for _, r := range rules {
		if r.Backend == in.Backend.Kind {
			p.Rules = append(p.Rules, r.Rule)
		}
	}
	b, err := json.Marshal(p)
	if err != nil { // plain texts: they always marshal
		p.Broken = err.Error()
	}
	sum := sha256.Sum256(b)
	p.Hash = hex.EncodeToString(sum[:8])
	if p.Hash == known {
		return nil
	}
	return &p
}

// rootOf is the workspace's absolute path as commands see it, "" if it is not known.
func (a *Activities) rootOf(in agent.Sandbox) string {
	if in.Backend.Kind == editors.Local {
		return folderOf(in)
	}
	if b, ok := a.Backends[in.Backend.Kind].(sandbox.Elsewhere); ok {
		return b.Root(refOf(in))
	}
	return ""
}

// KeepRule remembers what was allowed for a workspace.
func (a *Activities) KeepRule(_ context.Context, in agent.KeepRuleInput) error {
	defer a.working()()
	err := a.Policies.Allow(workspace.Resolve(in.Folder), store.Rule{Rule: in.Rule, Backend: in.Backend.Kind, By: in.By, At: in.At})
	if errors.Is(err, store.ErrFull) {
		return temporal.NewNonRetryableApplicationError(err.Error(), agent.ErrTypeLimit, nil)
	}
	return err
}
