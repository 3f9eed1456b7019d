// This file is the verb fork.

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// forkOptions are the flags of fork.
type forkOptions struct {
	workspace string
	backend   string
	image     string
	into      string
	title     string
	turn      int
}

func (a *app) forkVerb() *cobra.Command {
	var o forkOptions
	cmd := &cobra.Command{
		Use:   "fork [flags] [SESSION] [TITLE]",
		Short: "Go on from a turn of a session in a new one, and print its id",
		Long: "Go on from the end of a turn of a session in a new one that has a workspace of its own: a folder, or another sandbox.\n" +
			"The session itself is not disturbed. Without SESSION it is the latest one of the folder; without --turn the fork begins\n" +
			"with what is there now, or with the end of the last turn while another one runs. See also: sandbox-agent adopt",
		Args: cobra.ArbitraryArgs,
		RunE: a.withProduct(func(ctx context.Context, p product, c lsp.Conn, args []string) error {
			return a.fork(ctx, p, c, o, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.workspace, "workspace", "w", "", "the `folder` whose latest session is meant (default: the current one)")
	flags.StringVar(&o.backend, "backend", "", "where the fork runs (default: as the session)")
	flags.StringVar(&o.image, "image", "", "the backend's image, template or snapshot")
	flags.StringVar(&o.into, "into", "", "--backend local: the `folder` to work in, which is made or empty (default: one among those of forks)")
	flags.StringVar(&o.title, "title", "", "the fork's title")
	flags.IntVar(&o.turn, "turn", 0, "the turn after which the fork begins (default: now)")
	return cmd
}

func (o *forkOptions) params(a *app, args []string) (editors.ForkParams, error) {
	p := editors.ForkParams{Title: o.title, TurnID: o.turn}
	if len(args) > 1 {
		if o.title != "" {
			return p, usagef("the title is given twice")
		}
		p.Title = strings.Join(args[1:], " ")
	}
	switch {
	case o.turn < 0:
		return p, usagef("--turn must not be negative")
	case o.backend == "" && o.image != "":
		return p, usagef("--image needs --backend")
	case o.into != "" && o.backend != string(editors.Local):
		return p, usagef("--into needs --backend local")
	case len(args) > 0 && o.workspace != "":
		return p, usagef("a session has its own folder; leave --workspace out")
	case o.backend != "":
		p.Backend = &editors.Backend{Kind: editors.BackendKind(o.backend), Image: o.image}
	}
	if o.into == "" {
		return p, nil
	}
	var err error
	p.Backend.WorkspaceRoot, err = a.absolute(o.into)
	return p, err
}

func (a *app) fork(ctx context.Context, p product, c lsp.Conn, o forkOptions, args []string) error {
	params, err := o.params(a, args)
	if err != nil {
		return err
	}
	if params.SessionID, err = a.sessionArg(ctx, c, p.HostID(), o.workspace, args); err != nil {
		return err
	}
	result, err := call(ctx, c, editors.Fork, params)
	if err != nil {
		return err
	}
	return a.result(result, func() { a.printFork(result) })
}

func (a *app) printFork(r editors.SessionResult) {
	s := r.Session
	a.printf("%s\n", s.ID)
	from := "the beginning"
	if s.ForkedAtTurn > 0 {
		from = fmt.Sprintf("turn %d", s.ForkedAtTurn)
	}
	a.notice(fmt.Sprintf("%q goes on from %s of %s, in %s.", oneLine(s.Title, 60), from, s.ParentID, s.Backend.Kind))
	if r.Notice != "" {
		a.notice(r.Notice)
	}
	if s.Backend.Kind == editors.Local {
		a.notice(fmt.Sprintf("To open its folder in an editor: code %s", quoted(workDir(s))))
	}
	a.notice("To bring its changes back: sandbox-agent adopt " + s.ID)
}

// quoted writes a word for a shell.
func quoted(word string) string {
	special := func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`$\\&;|<>()*?[]#~!{}", r) }
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
