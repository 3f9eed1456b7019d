// This file is the verb destroy.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) destroyVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "destroy SESSION",
		Short: "End a session, its processes and its sandbox, of a fork also its own folder; never yours",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			result, err := call(ctx, c, editors.Destroy, editors.SessionParams{SessionID: args[0]})
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printDestroyed(args[0], result) })
		}),
	}
}

func (a *app) printDestroyed(session string, r editors.DestroyResult) {
	if r.Remains == "" {
		a.printf("%s is destroyed.\n", session)
		return
	}
	a.printf("%s is ended. %s\n", session, r.Remains)
	a.notice("To see what is left: sandbox-agent doctor")
}
