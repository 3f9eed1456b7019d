// This file is the verb adopt.

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) adoptVerb() *cobra.Command {
	var onConflict string
	var p editors.AdoptParams
	cmd := &cobra.Command{
		Use:   "adopt [flags] FORK",
		Short: "Merge what a fork changed into the workspace it was forked from",
		Long: "Merge what a fork changed into the workspace of the session that it was forked from. What was changed there meanwhile\n" +
			"stays; where both changed the same lines nothing is done until --on-conflict decides. It can be undone.",
		Args: cobra.ExactArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			var err error
			if p.OnConflict, err = conflictRule(onConflict); err != nil {
				return err
			}
			p.SessionID = args[0]
			result, err := call(ctx, c, editors.Adopt, p)
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printAdopted(p, result) })
		}),
	}
	dryRunFlag(cmd, &p.DryRun)
	onConflictFlag(cmd, &onConflict)
	return cmd
}

func (a *app) printAdopted(p editors.AdoptParams, r editors.AdoptResult) {
	if p.DryRun {
		a.printCarry(r.Carry, true)
		return
	}
	a.printf("%s has the changes of %s.\n", r.SessionID, p.SessionID)
	a.printCarry(r.Carry, true)
	a.tellTheirs(r.SessionID, r.Carry)
	if r.Undo != "" && r.Carry.Changes() > 0 {
		a.notice(fmt.Sprintf("To undo: sandbox-agent restore %s %s", r.SessionID, brief(r.Undo)))
	}
}
