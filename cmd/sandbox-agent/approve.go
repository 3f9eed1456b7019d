// This file is the verb approve.

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	deny, always bool
	feedback     string
}

func (o approveOptions) decision() editors.Decision {
	switch {
	case o.deny:
		return editors.DecisionDeny
	case o.always:
		return editors.DecisionAllowAlways
	default:
		return editors.DecisionAllow
	}
}

func (a *app) approveVerb() *cobra.Command {
	var o approveOptions
	cmd := &cobra.Command{
		Use:   "approve [flags] SESSION [APPROVAL]",
		Short: "Answer an approval; without APPROVAL the only one that is pending",
		Args:  cobra.RangeArgs(1, 2),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			return a.approve(ctx, c, o, args)
		}),
	}
	cmd.Flags().BoolVar(&o.deny, "deny", false, "deny it")
	cmd.Flags().BoolVar(&o.always, "always", false, "allow it, and what is like it from now on")
	cmd.Flags().StringVar(&o.feedback, "feedback", "", "tell the agent why, or what to do instead")
	cmd.MarkFlagsMutuallyExclusive("deny", "always")
	return cmd
}

func (a *app) approve(ctx context.Context, c lsp.Conn, o approveOptions, args []string) error {
	params := editors.AnswerApprovalParams{SessionID: args[0], Decision: o.decision(), Feedback: o.feedback}
	var pending []editors.Approval
	if len(args) < 2 || o.always {
		now, err := describe(ctx, c, args[0])
		if err != nil {
			return err
		}
		pending = now.PendingApprovals
	}
	if len(args) == 2 {
		params.ApprovalID = args[1]
	} else if len(pending) != 1 {
		return whichApproval(args[0], pending)
	} else {
		params.ApprovalID = pending[0].ID
	}
	for _, p := range pending {
		if o.always && p.ID == params.ApprovalID {
			params.Pattern = p.Pattern
		}
	}
	result, err := call(ctx, c, editors.AnswerApproval, params)
	if err != nil {
		return err
	}
	return a.result(result, func() {
		already := ""
		if result.Already {
			already = " already"
		}
		a.printf("%s was%s answered by %s: %s\n", result.ApprovalID, already, plain(result.DecidedBy), result.Decision)
	})
}

// whichApproval says that there is not exactly one approval to answer.
func whichApproval(session string, pending []editors.Approval) error {
	if len(pending) == 0 {
		return editors.Errorf(editors.CodeNotFound, "no approval is pending in session %s", session)
	}
	var choices []string
	for _, p := range pending {
		choices = append(choices, p.ID+" ("+p.Tool+": "+oneLine(p.Subject, 60)+")")
	}
	return editors.Errorf(editors.CodeInvalidParams, "%d approvals are pending", len(pending)).
		WithRemedy("Name one: " + strings.Join(choices, ", "))
}
