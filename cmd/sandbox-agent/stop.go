// This file is the verb stop.

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) stopVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "stop SESSION [ITEM]",
		Short: "Stop one command, of the running turn or in the background; the turn goes on",
		Args:  cobra.RangeArgs(1, 2),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			params := editors.StopParams{SessionID: args[0]}
			if len(args) > 1 {
				params.ItemID = args[1]
			} else {
				item, err := onlyCommand(ctx, c, args[0])
				if err != nil {
					return err
				}
				params.ItemID = item
			}
			result, err := call(ctx, c, editors.Stop, params)
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printf("%s: %s\n", result.ItemID, result.How) })
		}),
	}
}

// onlyCommand returns the item of the one command that runs, or says which ones do.
func onlyCommand(ctx context.Context, c lsp.Conn, sessionID string) (string, error) {
	now, err := describe(ctx, c, sessionID)
	if err != nil {
		return "", err
	}
	var ids, told []string
	for _, item := range now.Items {
		if item.Kind == editors.ToolCall && item.Status == editors.ItemInProgress {
			ids, told = append(ids, item.ID), append(told, item.ID+" ("+oneLine(subject(item), 60)+")")
		}
	}
	for _, b := range now.Background {
		ids, told = append(ids, b.ItemID), append(told, b.ItemID+" ("+oneLine(b.Command, 60)+")")
	}
	switch len(ids) {
	case 0:
		return "", editors.Errorf(editors.CodeConflict, "no command of this session runs")
	case 1:
		return ids[0], nil
	}
	return "", usagef("%d commands run; name one: %s", len(ids), strings.Join(told, ", "))
}
