// This file is the verb pause.

package main

import (
	"context"
	"fmt"

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
			now, err := describe(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printf("%s %s\n", args[0], paused(now)) })
		}),
	}
}

// paused says what a pause means for a session.
func paused(now editors.AttachResult) string {
	switch {
	case now.State.Status == editors.StatusRunning, now.State.Status == editors.StatusWaitingApproval:
		return fmt.Sprintf("is paused when turn %d has ended.", now.Session.TurnID)
	case now.Session.Backend.Kind == editors.Local:
		return "is paused; its files stay where they are."
	}
	return "is paused: its sandbox stops until you ask again, and its files stay."
}
