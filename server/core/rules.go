// This file lists and takes back what was allowed for always, and examines the policies.

package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/policy"
	"sandboxagent/internal/policy/store"
	"sandboxagent/internal/workspace"
)

func (c *Core) policies() store.Store {
	return store.Store{PolicyFile: c.opts.Paths.PolicyFile, RuleDir: c.opts.Paths.RuleDir}
}

// rules works on the rules of a session, which its workflow keeps, and on those of its workspace, which this host keeps.
func (c *Conn) rules(ctx context.Context, p editors.RulesParams) (editors.RulesResult, error) {
	if err := checkRules(p); err != nil {
		return editors.RulesResult{}, err
	}
	folder, err := c.ruledFolder(ctx, p)
	if err != nil {
		return editors.RulesResult{}, err
	}
	if p.Op == "remove" {
		return c.removeRules(ctx, p, folder)
	}
	out := editors.RulesResult{Rules: []editors.Rule{}}
	if p.SessionID != "" && p.Scope != editors.ScopeWorkspace {
		var rules []policy.Rule
		if err := c.core.query(ctx, "reading what is allowed", agent.WorkflowID(p.SessionID), agent.QueryRules, nil, &rules); err != nil {
			return out, err
		}
		for _, r := range rules {
			out.Rules = append(out.Rules, editors.Rule{Scope: editors.ScopeSession, Tool: r.Tool, Pattern: r.Pattern})
		}
	}
	if folder != "" {
		rules, err := c.core.policies().Rules(folder)
		if err != nil {
			return out, unreadableRules(err)
		}
		out.Rules = append(out.Rules, listed(rules)...)
	}
	return out, nil
}

func checkRules(p editors.RulesParams) error {
	switch {
	case p.Op == "remove" && p.Pattern == "":
		return editors.Errorf(editors.CodeInvalidParams, "no pattern says what to remove").WithRemedy("Pass one exactly as it is listed.")
	case p.Scope == editors.ScopeSession && p.SessionID == "":
		return noSession()
	}
	return nil
}

// ruledFolder is the folder whose workspace's rules are asked for, "" if none are, or if they are on another host.
func (c *Conn) ruledFolder(ctx context.Context, p editors.RulesParams) (string, error) {
	uri := p.WorkspaceFolder
	switch {
	case p.Scope == editors.ScopeSession:
		return "", nil
	case p.SessionID != "":
		v, err := c.core.view(ctx, p.SessionID, nil)
		if err != nil {
			return "", err
		}
		if v.Session.HostID != c.core.HostID() {
			return "", nil
		}
		uri = v.Session.WorkspaceFolder
	default:
		var err error
		if uri, err = c.folder(uri); err != nil {
			return "", err
		}
	}
	path, err := folderPath(uri)
	return workspace.Resolve(path), err
}

// removeRules takes a pattern back wherever it is allowed.
func (c *Conn) removeRules(ctx context.Context, p editors.RulesParams, folder string) (editors.RulesResult, error) {
	out := editors.RulesResult{Rules: []editors.Rule{}}
	if p.SessionID != "" && p.Scope != editors.ScopeWorkspace {
		p.RequestID = newRequestID(p.RequestID)
		gone, err := change(ctx, c, "taking back what is allowed", p.SessionID, agent.UpdateForget, p.RequestID, p,
			func(r editors.RulesResult) int64 { return r.Seq })
		if err != nil && (folder == "" || editors.CodeOf(err) != editors.CodeNotFound) {
			return out, err
		}
		out.Rules, out.Seq = append(out.Rules, gone.Rules...), gone.Seq
	}
	if folder != "" {
		gone, err := c.core.policies().Forget(folder, p.Pattern)
		if err != nil {
			return out, unreadableRules(err)
		}
		out.Rules = append(out.Rules, listed(gone)...)
	}
	if len(out.Rules) == 0 {
		return out, editors.Errorf(editors.CodeNotFound, "the pattern %q is not allowed here", p.Pattern).
			WithRemedy("List what is: sandbox-agent rules, for a session with its id.")
	}
	return out, nil
}

func listed(rules []store.Rule) []editors.Rule {
	out := make([]editors.Rule, len(rules))
	for i, r := range rules {
		out[i] = editors.Rule{Scope: editors.ScopeWorkspace, Tool: r.Tool, Pattern: r.Pattern, Backend: r.Backend, By: r.By, At: &r.At}
	}
	return out
}

func unreadableRules(err error) error {
	return editors.Errorf(editors.CodeInternal, "what is allowed for the workspace cannot be read or changed: %w", err).
		WithRemedy("Correct that file, or remove it to allow nothing.")
}

// checkPolicies examines the user's policy and those of the open folders.
func (c *Conn) checkPolicies(context.Context) []editors.Check {
	file := c.core.opts.Paths.PolicyFile
	p, err := c.core.policies().User()
	checks := []editors.Check{checkPolicy("policy", file, p, err)}
	c.mu.Lock()
	folders := append([]string(nil), c.folders...)
	c.mu.Unlock()
	for _, uri := range folders {
		dir, err := folderPath(uri)
		if err != nil {
			continue
		}
		name := filepath.Join(dir, store.WorkspaceFile)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		p, err := store.Workspace(dir)
		check := checkPolicy("workspace policy", name, p, err)
		if _, notices := policy.Merge(policy.Policy{}, p); len(notices) > 0 {
			check.Status, check.Detail, check.Remedy = checkWarning, name+": "+notices[0], "Move what it allows to "+file+"."
		}
		checks = append(checks, check)
	}
	return checks
}

func checkPolicy(name, file string, p policy.Policy, err error) editors.Check {
	switch {
	case err != nil:
		return check(name, checkError, "Correct the file; until then everything but reading is asked about.", "%v", err)
	case len(p.Allow)+len(p.Ask)+len(p.Deny) == 0:
		return check(name, checkOK, "", "%s says nothing about commands", file)
	}
	return check(name, checkOK, "", "%s allows %s, asks about %s and denies %s", file, patterns(len(p.Allow)), patterns(len(p.Ask)), patterns(len(p.Deny)))
}

func patterns(n int) string {
	if n == 1 {
		return "1 pattern"
	}
	return fmt.Sprintf("%d patterns", n)
}
