// This file is the verb history.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) historyVerb() *cobra.Command {
	var p editors.HistoryParams
	cmd := &cobra.Command{
		Use:   "history [flags] SESSION",
		Short: "Print a session's latest items",
		Args:  cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			p.SessionID = args[0]
			page, err := call(ctx, c, editors.History, p)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(page)
			}
			return a.printHistory(page)
		}),
	}
	cmd.Flags().StringVar(&p.Before, "before", "", "only what is older; see where a former page began")
	cmd.Flags().IntVar(&p.Limit, "limit", 0, "at most so many items")
	return cmd
}

func (a *app) printHistory(page editors.HistoryResult) error {
	if page.Before != "" {
		a.notice("There are older ones: --before " + page.Before)
	}
	printer := newTextPrinter(a, 0, "")
	for _, item := range page.Items {
		e := editors.Event{Type: editors.ItemEnded, Item: &item}
		if err := printer.event(editors.EventMessage{Event: e}); err != nil {
			return err
		}
	}
	return nil
}
