// This file is the verb doctor.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) doctorVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and tell what to do about what is wrong",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, c lsp.Conn, _ []string) error {
			found, err := call(ctx, c, editors.Doctor, editors.Empty{})
			if err != nil {
				return err
			}
			for _, check := range found.Checks {
				if check.Status == "error" {
					a.status = statusFailed
				}
			}
			return a.result(found, func() { a.printChecks(found.Checks) })
		}),
	}
}

func (a *app) printChecks(checks []editors.Check) {
	for _, check := range checks {
		mark := a.term.green("✓")
		switch check.Status {
		case "warning":
			mark = a.term.yellow("!")
		case "error":
			mark = a.term.red("✗")
		}
		a.printf("%s %s: %s\n", mark, a.term.bold(plain(check.Name)), plain(check.Detail))
		if check.Remedy != "" {
			a.printf("    %s\n", plain(check.Remedy))
		}
	}
}
