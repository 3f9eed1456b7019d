// This file is the verb preview.

package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) previewVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "preview SESSION PORT",
		Short: "Tell where a server that runs in a session's sandbox can be reached",
		Args:  cobra.ExactArgs(2),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			port, err := strconv.Atoi(args[1])
			if err != nil {
				return usagef("%q is no port", args[1])
			}
			at, err := call(ctx, c, editors.Preview, editors.PreviewParams{SessionID: args[0], Port: port})
			if err != nil {
				return err
			}
			return a.result(at, func() { a.printAddress(at) })
		}),
	}
}

// printAddress prints where a server is, and how a request gets in where the address alone does not do.
func (a *app) printAddress(at editors.PreviewResult) {
	a.printf("%s\n", at.URL)
	if len(at.Headers) > 0 {
		a.printf("Every request needs:\n")
	}
	for _, h := range at.Headers {
		a.printf("  %s: %s\n", h.Name, h.Value)
	}
	if at.Until != nil {
		a.printf("Good until %s, for whoever has it.\n", at.Until.Local().Format(time.TimeOnly))
	}
}
