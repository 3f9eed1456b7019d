// This file is the verb new.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) newVerb() *cobra.Command {
	var o sessionFlags
	var title string
	cmd := &cobra.Command{
		Use:   "new [flags]",
		Short: "Create a session and print its id",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, c lsp.Conn, _ []string) error {
			params, err := o.params(a)
			if err != nil {
				return err
			}
			params.Title = title
			made, err := call(ctx, c, editors.New, params)
			if err != nil {
				return err
			}
			return a.result(made, func() { a.printf("%s\n", made.Session.ID) })
		}),
	}
	o.register(cmd)
	cmd.Flags().StringVar(&title, "title", "", "its title")
	return cmd
}
