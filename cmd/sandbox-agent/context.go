// This file is the verb context.

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// contextOptions say which session would be asked.
type contextOptions struct {
	workspace, session, model string
	fresh                     bool
	parts                     []editors.Context
}

func (a *app) contextVerb() *cobra.Command {
	var o contextOptions
	cmd := &cobra.Command{
		Use:   "context [flags] [TEXT|-]",
		Short: "Show what the agent would see if you asked now, and about how many tokens that is",
		Long: "Show what the agent would see if you asked TEXT now: every part, and about how many tokens it has. Without --session or\n" +
			"--new it is about the latest session of the folder, or a new one if there is none. Nothing is asked or changed.",
		RunE: a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
			folder, err := a.folderURI(o.workspace)
			if err != nil {
				return err
			}
			text := ""
			if len(args) > 0 {
				if text, err = a.text(args); err != nil {
					return err
				}
			}
			return a.showContext(ctx, c, o, folder, text)
		}),
	}
	cmd.Flags().StringVarP(&o.workspace, "workspace", "w", "", "the folder, if not the current one")
	cmd.Flags().StringVarP(&o.session, "session", "s", "", "the session that would be asked")
	cmd.Flags().BoolVarP(&o.fresh, "new", "n", false, "what a new session would see")
	cmd.Flags().StringVarP(&o.model, "model", "m", "", "the model that would be used")
	cmd.MarkFlagsMutuallyExclusive("session", "new")
	cmd.MarkFlagsMutuallyExclusive("session", "workspace")
	return cmd
}

func (a *app) showContext(ctx context.Context, c lsp.Conn, o contextOptions, folder, text string) error {
	id, err := fullID(ctx, c, o.session)
	if err != nil {
		return err
	}
	p := editors.ContextParams{SessionID: id, New: o.fresh, Text: text, Context: o.parts, Model: o.model}
	if id == "" {
		p.WorkspaceFolder = folder
	}
	result, err := call(a.patient(ctx), c, editors.ShowContext, p)
	if err != nil {
		return err
	}
	return a.result(result, func() { a.printContext(result) })
}

func (a *app) printContext(r editors.ContextResult) {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOKENS\tWHAT\tNAME")
	for _, part := range r.Parts {
		what := part.Kind
		if part.Kind == "systemPrompt" {
			what = "system prompt"
		}
		about := []string{line(part.Name)}
		if part.Detail != "" {
			about = append(about, "("+line(part.Detail)+")")
		}
		if part.Problem != "" {
			about = append(about, "! "+line(part.Problem))
		}
		fmt.Fprintln(table, strconv.FormatInt(part.Tokens, 10)+"\t"+what+"\t"+strings.Join(about, " "))
	}
	_ = table.Flush() // as with all printing for people, a reader that is gone misses the rest
	session := "a new session"
	if r.SessionID != "" {
		session = "session " + r.SessionID
	}
	a.printf("About %d of %d tokens of the model %s, in %s.\n", r.Tokens, r.Window, line(r.Model), session)
}
