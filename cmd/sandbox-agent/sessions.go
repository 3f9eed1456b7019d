// This file is the verb sessions.

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

func (a *app) sessionsVerb() *cobra.Command {
	var p editors.SessionsParams
	var workspace string
	cmd := &cobra.Command{
		Use:   "sessions [flags]",
		Short: "List the sessions, newest first, forks below what they were forked from",
		Args:  cobra.NoArgs,
		RunE: a.with(func(ctx context.Context, c lsp.Conn, _ []string) error {
			if workspace != "" {
				folder, err := a.folderURI(workspace)
				if err != nil {
					return err
				}
				p.WorkspaceFolder = folder
			}
			list, err := call(ctx, c, editors.Sessions, p)
			if err != nil {
				return err
			}
			return a.result(list, func() { a.printSessions(list) })
		}),
	}
	cmd.Flags().StringVarP(&workspace, "workspace", "w", "", "only those of this folder")
	cmd.Flags().StringVar(&p.Search, "search", "", "only those with this in their title")
	cmd.Flags().StringVar(&p.Cursor, "cursor", "", "go on where a former list ended")
	cmd.Flags().IntVar(&p.Limit, "limit", 0, "at most so many")
	return cmd
}

func (a *app) printSessions(list editors.SessionsResult) {
	if len(list.Sessions) == 0 {
		a.notice("There are no sessions.")
		return
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tTITLE\tSTATE\tBACKEND\tMODEL\tUPDATED\tFOLDER")
	for _, s := range family(list.Sessions) {
		row := []string{
			s.ID, s.branch + oneLine(s.Title, 40), string(s.State.Status), string(s.Backend.Kind), oneLine(s.Model, 24),
			since(s.UpdatedAt, time.Now()), oneLine(workDir(s.Session), 60),
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush() // as with all printing for people, a reader that is gone misses the rest
	if list.NextCursor != "" {
		a.notice("There are more: --cursor " + list.NextCursor)
	}
}

// since says how long ago something was.
func since(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "-"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	default:
		return t.Local().Format(time.DateOnly)
	}
}
