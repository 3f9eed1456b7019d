// This file is the verb title.

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) titleVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "title SESSION TITLE",
		Short: "Rename a session",
		Args:  cobra.MinimumNArgs(2),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			result, err := call(ctx, c, editors.Title, editors.TitleParams{SessionID: args[0], Title: strings.Join(args[1:], " ")})
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printf("%s is now titled %q.\n", args[0], plain(result.Session.Title)) })
		}),
	}
}
