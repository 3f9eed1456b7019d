// This file is the verb interrupt.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) interruptVerb() *cobra.Command {
	var turn int
	cmd := &cobra.Command{
		Use:   "interrupt [flags] SESSION",
		Short: "End the running turn and all its processes",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			if turn == 0 {
				now, err := describe(ctx, c, args[0])
				if err != nil {
					return err
				}
				turn = now.Session.TurnID
			}
			result, err := call(ctx, c, editors.Interrupt, editors.InterruptParams{SessionID: args[0], TurnID: turn})
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printf("Turn %d is %s.\n", result.TurnID, result.Status) })
		}),
	}
	cmd.Flags().IntVar(&turn, "turn", 0, "only if this turn is running (default: whichever is)")
	return cmd
}
