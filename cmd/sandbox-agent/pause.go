// This file is the verb pause.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) pauseVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "pause SESSION",
		Short: "Keep a session for later; its sandbox is stopped, its files stay",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			result, err := call(ctx, c, editors.Pause, editors.SessionParams{SessionID: args[0]})
			if err != nil {
				return err
			}
			return a.result(result, func() {
				a.printf("%s is paused: its sandbox stops until you ask again, and its files stay.\n", args[0])
			})
		}),
	}
}
