// This file is the verb configure.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) configureVerb() *cobra.Command {
	var p editors.ConfigureParams
	var approve string
	cmd := &cobra.Command{
		Use:   "configure [flags] SESSION",
		Short: "Change a session's model, reasoning effort or approvals",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) (err error) {
			if p.ApprovalMode, err = approvalMode(approve); err != nil {
				return err
			}
			if p == (editors.ConfigureParams{}) {
				return usagef("there is nothing to change; give --model, --effort or --approve")
			}
			p.SessionID = args[0]
			result, err := call(ctx, c, editors.Configure, p)
			if err != nil {
				return err
			}
			s := result.Session
			return a.result(result, func() { a.printf("%s: model %s, approvals %s\n", s.ID, plain(s.Model), s.ApprovalMode) })
		}),
	}
	cmd.Flags().StringVarP(&p.Model, "model", "m", "", "the model to use from now on")
	cmd.Flags().StringVar(&p.Effort, "effort", "", "the reasoning effort")
	cmd.Flags().StringVar(&approve, "approve", "", "when to ask for an approval: ask, auto, never or readOnly")
	return cmd
}
