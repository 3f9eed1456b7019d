// This file is the verb queue.

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) queueVerb() *cobra.Command {
	var remove, edit string
	cmd := &cobra.Command{
		Use:   "queue [flags] SESSION [TEXT]",
		Short: "List, edit or remove the questions that wait for the running turn",
		Args:  cobra.MinimumNArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			params := editors.QueueParams{SessionID: args[0], Op: "list", Text: strings.Join(args[1:], " ")}
			switch {
			case remove != "":
				params.Op, params.ItemID = "remove", remove
			case edit != "":
				params.Op, params.ItemID = "edit", edit
			}
			if (params.Op == "edit") != (params.Text != "") {
				return usagef("a TEXT goes with --edit, and --edit needs one")
			}
			result, err := call(ctx, c, editors.Queue, params)
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printQueue(result) })
		}),
	}
	cmd.Flags().StringVar(&remove, "remove", "", "take this question back")
	cmd.Flags().StringVar(&edit, "edit", "", "replace the text of this question by TEXT")
	cmd.MarkFlagsMutuallyExclusive("remove", "edit")
	return cmd
}

func (a *app) printQueue(result editors.QueueResult) {
	if len(result.Queued) == 0 {
		a.notice("Nothing waits.")
	}
	for _, q := range result.Queued {
		a.printf("%s  %s\n", q.ItemID, oneLine(q.Text, 120))
	}
}
