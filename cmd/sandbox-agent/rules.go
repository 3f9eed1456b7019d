// This file is the verb rules.

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) rulesVerb() *cobra.Command {
	var dir, remove string
	cmd := &cobra.Command{
		Use:   "rules [flags] [SESSION]",
		Short: "List what was allowed for always in a folder, and in a session, or take it back",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			p := editors.RulesParams{Op: "list"}
			if remove != "" {
				p.Op, p.Pattern = "remove", remove
			}
			var err error
			if len(args) > 0 {
				p.SessionID = args[0]
			} else if p.WorkspaceFolder, err = a.folderURI(dir); err != nil {
				return err
			}
			result, err := call(ctx, c, editors.Rules, p)
			if err != nil {
				return err
			}
			return a.result(result, func() { a.printRules(p.Op, result.Rules) })
		}),
	}
	cmd.Flags().StringVarP(&dir, "workspace", "w", "", "the folder, if not the current one")
	cmd.Flags().StringVar(&remove, "remove", "", "ask again about this pattern, written exactly as it is listed")
	return cmd
}

func (a *app) printRules(op string, rules []editors.Rule) {
	if op == "remove" {
		for _, r := range rules {
			a.printf("Asked about again in %s: %s\n", where(r), oneLine(r.Pattern, 500))
		}
		return
	}
	if len(rules) == 0 {
		a.notice("Nothing was allowed for always.")
		return
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHERE\tBY\tSINCE\tPATTERN")
	for _, r := range rules {
		at := "-"
		if r.At != nil {
			at = since(*r.At, time.Now())
		}
		by := "-"
		if r.By != "" {
			by = oneLine(r.By, 24)
		}
		fmt.Fprintln(table, strings.Join([]string{where(r), by, at, oneLine(r.Pattern, 500)}, "\t"))
	}
	_ = table.Flush() // as with all printing for people, a reader that is gone misses the rest
}

// where says where a rule holds.
func where(r editors.Rule) string {
	if r.Scope == editors.ScopeSession {
		return "this session"
	}
	return "this folder, " + string(r.Backend)
}
