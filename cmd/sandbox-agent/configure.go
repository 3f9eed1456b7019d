// This file is the verb configure.

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) configureVerb() *cobra.Command {
	var p editors.ConfigureParams
	var approve, budget string
	cmd := &cobra.Command{
		Use:   "configure [flags] SESSION",
		Short: "Change a session's model, reasoning effort, approvals or budget",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) (err error) {
			if p.ApprovalMode, err = approvalMode(approve); err != nil {
				return err
			}
			if p.Budget, err = parseBudget(budget); err != nil {
				return err
			}
			if p == (editors.ConfigureParams{}) {
				return usagef("there is nothing to change; give --model, --effort, --approve or --budget")
			}
			p.SessionID = args[0]
			result, err := call(ctx, c, editors.Configure, p)
			if err != nil {
				return err
			}
			s := result.Session
			return a.result(result, func() { a.printf("%s: model %s, approvals %s%s\n", s.ID, plain(s.Model), s.ApprovalMode, budgetOf(s)) })
		}),
	}
	cmd.Flags().StringVarP(&p.Model, "model", "m", "", "the model to use from now on")
	cmd.Flags().StringVar(&p.Effort, "effort", "", "the reasoning effort")
	cmd.Flags().StringVar(&approve, "approve", "", "when to ask for an approval: ask, auto, never or readOnly")
	cmd.Flags().StringVar(&budget, "budget", "",
		"what may be spent before it is asked whether to go on, e.g. turn-cost=2,cost=20: "+strings.Join(budgetNames(), ", ")+"; none: no bounds")
	return cmd
}
