// This file is the verb approve.

package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	show, deny, always, workspace bool
	feedback, pattern             string
}

// check refuses flags that say nothing without another.
func (o approveOptions) check() error {
	switch {
	case !o.always && (o.pattern != "" || o.workspace):
		return usagef("--pattern and --workspace say what is allowed from now on and where; add --always")
	case o.feedback != "" && !o.deny:
		return usagef("--feedback tells the agent why something is denied; add --deny")
	}
	return nil
}

func (o approveOptions) params(session string) editors.AnswerApprovalParams {
	p := editors.AnswerApprovalParams{SessionID: session, Decision: editors.DecisionAllow}
	switch {
	case o.deny:
		p.Decision, p.Feedback = editors.DecisionDeny, o.feedback
	case o.always:
		p.Decision, p.Pattern, p.Scope = editors.DecisionAllowAlways, o.pattern, editors.ScopeSession
		if o.workspace {
			p.Scope = editors.ScopeWorkspace
		}
	}
	return p
}

func (a *app) approveVerb() *cobra.Command {
	var o approveOptions
	cmd := &cobra.Command{
		Use:   "approve [flags] SESSION [APPROVAL]",
		Short: "Answer an approval; without APPROVAL the only one that is pending",
		Args:  cobra.RangeArgs(1, 2),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if o.show {
				return a.showApprovals(ctx, c, args)
			}
			return a.approve(ctx, c, o, args)
		}),
	}
	cmd.Flags().BoolVar(&o.show, "show", false, "show what is pending, with what --always would allow, and answer nothing")
	cmd.Flags().BoolVar(&o.deny, "deny", false, "deny it")
	cmd.Flags().BoolVar(&o.always, "always", false, "allow it, and what its pattern stands for from now on")
	cmd.Flags().StringVar(&o.pattern, "pattern", "", "with --always: allow this instead of the pattern that is offered")
	cmd.Flags().BoolVar(&o.workspace, "workspace", false, "with --always: in all sessions of the folder, not only in this one")
	cmd.Flags().StringVar(&o.feedback, "feedback", "", "with --deny: tell the agent why, or what to do instead")
	cmd.MarkFlagsMutuallyExclusive("show", "deny", "always")
	return cmd
}

func (a *app) approve(ctx context.Context, c lsp.Conn, o approveOptions, args []string) error {
	params := o.params(args[0])
	if len(args) == 2 {
		params.ApprovalID = args[1]
	} else {
		now, err := describe(ctx, c, args[0])
		if err != nil {
			return err
		}
		if len(now.PendingApprovals) != 1 {
			return whichApproval(args[0], now.PendingApprovals)
		}
		params.ApprovalID = now.PendingApprovals[0].ID
	}
	result, err := call(ctx, c, editors.AnswerApproval, params)
	if err != nil {
		return err
	}
	return a.result(result, func() { a.printAnswer(result) })
}

func (a *app) printAnswer(r editors.AnswerApprovalResult) {
	already := ""
	if r.Already {
		already = " already"
	}
	a.printf("%s was%s answered by %s: %s\n", r.ApprovalID, already, line(r.DecidedBy), r.Decision)
	switch r.Scope {
	case editors.ScopeSession:
		a.printf("From now on this session runs without asking: %s\n", line(r.Pattern))
	case editors.ScopeWorkspace:
		a.printf("From now on all sessions of this folder run without asking: %s\n", line(r.Pattern))
	}
}

// showApprovals prints what is pending, or of it the one that is named.
func (a *app) showApprovals(ctx context.Context, c lsp.Conn, args []string) error {
	now, err := describe(ctx, c, args[0])
	if err != nil {
		return err
	}
	pending := []editors.Approval{}
	for _, p := range now.PendingApprovals {
		if len(args) < 2 || p.ID == args[1] {
			pending = append(pending, p)
		}
	}
	if len(args) == 2 && len(pending) == 0 {
		return editors.Errorf(editors.CodeNotFound, "no approval %s is pending in session %s", args[1], args[0])
	}
	return a.result(map[string]any{"pendingApprovals": pending}, func() {
		for _, p := range pending {
			a.printf("%s  %s: %s\n    %s\n", p.ID, line(p.Tool), block(p.Subject, "      "), line(p.Reason))
			a.printProposal(now.Items, p.ItemID)
			if p.Pattern != "" {
				a.printf("    --always allows: %s\n", line(p.Pattern))
			}
		}
		if len(pending) == 0 {
			a.notice("Nothing is pending.")
		}
	})
}

// printProposal prints what the call that waits would change in files.
func (a *app) printProposal(items []editors.Item, id string) {
	i := slices.IndexFunc(items, func(item editors.Item) bool { return item.ID == id })
	if i < 0 || items[i].Proposal() == "" {
		return
	}
	for _, line := range a.term.diff(items[i].Proposal()) {
		a.printf("      %s\n", line)
	}
}

// whichApproval says that there is not exactly one approval to answer.
func whichApproval(session string, pending []editors.Approval) error {
	if len(pending) == 0 {
		return editors.Errorf(editors.CodeNotFound, "no approval is pending in session %s", session)
	}
	var choices []string
	for _, p := range pending {
		choices = append(choices, p.ID+" ("+line(p.Tool)+": "+oneLine(p.Subject, 60)+")")
	}
	return editors.Errorf(editors.CodeInvalidParams, "%d approvals are pending", len(pending)).
		WithRemedy("Name one: " + strings.Join(choices, ", "))
}
