// This file is the verb compact.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) compactVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "compact SESSION",
		Short: "Shorten what the model is told of the conversation so far; history and forks keep all of it",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			result, err := call(ctx, c, editors.Compact, editors.SessionParams{SessionID: args[0]})
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printf("%s: the conversation is compacted before the next call of the model.\n", args[0]) })
		}),
	}
}
