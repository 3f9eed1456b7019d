// This file is the verb switch.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// switchOptions are the flags of switch.
type switchOptions struct {
	session    string
	workspace  string
	image      string
	into       string
	onConflict string
	dryRun     bool
	yes        bool
}

func (a *app) switchVerb() *cobra.Command {
	var o switchOptions
	cmd := &cobra.Command{
		Use:   "switch [flags] BACKEND",
		Short: "Move a session to another sandbox; its files go along",
		Long: "Move a session to another sandbox: local, docker, e2b or daytona. Its files go along; programs that run and packages\n" +
			"that were installed do not. While a turn runs, the switch waits for its end. Back in the folder, the agent's changes are\n" +
			"merged with what you changed meanwhile; where both changed the same lines nothing is done until --on-conflict decides.",
		Example: "  sandbox-agent switch docker\n  sandbox-agent switch --dry-run local\n  sandbox-agent switch --on-conflict mine local",
		Args:    cobra.ExactArgs(1),
		RunE: a.withProduct(func(ctx context.Context, p product, c lsp.Conn, args []string) error {
			return a.switchTo(ctx, p, c, o, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.session, "session", "s", "", "the session (default: the latest one of the folder)")
	flags.StringVarP(&o.workspace, "workspace", "w", "", "the `folder` whose latest session is meant (default: the current one)")
	flags.StringVar(&o.image, "image", "", "the backend's image, template or snapshot")
	flags.StringVar(&o.into, "into", "", "local: the `folder` to work in, which is made if it is not there (default: the session's own)")
	flags.BoolVar(&o.yes, "yes", false, "bring the files into --into even if it has files of its own")
	dryRunFlag(cmd, &o.dryRun)
	onConflictFlag(cmd, &o.onConflict)
	cmd.MarkFlagsMutuallyExclusive("session", "workspace")
	return cmd
}

func dryRunFlag(cmd *cobra.Command, dryRun *bool) {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "only tell what would happen")
}

func onConflictFlag(cmd *cobra.Command, onConflict *string) {
	cmd.Flags().StringVar(onConflict, "on-conflict", "",
		"what becomes of what both sides changed: fail (default: nothing is done), mine (what is there stays) or theirs (what comes replaces it)")
}

func conflictRule(text string) (editors.OnConflict, error) {
	switch rule := editors.OnConflict(text); rule {
	case "", editors.ConflictFail, editors.ConflictMine, editors.ConflictTheirs:
		return rule, nil
	}
	return "", usagef("--on-conflict takes fail, mine or theirs, not %q", text)
}

// params returns what the flags ask for, still without a session.
func (o *switchOptions) params(a *app, backend string) (editors.SwitchParams, error) {
	p := editors.SwitchParams{
		Backend: editors.Backend{Kind: editors.BackendKind(backend), Image: o.image}, DryRun: o.dryRun, IntoNonEmpty: o.yes,
	}
	kinds := []editors.BackendKind{editors.Local, editors.Docker, editors.E2B, editors.Daytona}
	if !slices.Contains(kinds, p.Backend.Kind) {
		return p, usagef("BACKEND is local, docker, e2b or daytona, not %q", backend)
	}
	switch local := p.Backend.Kind == editors.Local; {
	case o.into != "" && !local:
		return p, usagef("--into is for the backend local")
	case o.image != "" && local:
		return p, usagef("--image is not for the backend local")
	case o.yes && o.into == "":
		return p, usagef("--yes needs --into")
	}
	if o.into != "" {
		var err error
		if p.Backend.WorkspaceRoot, err = a.absolute(o.into); err != nil {
			return p, err
		}
	}
	var err error
	p.OnConflict, err = conflictRule(o.onConflict)
	return p, err
}

func (a *app) switchTo(ctx context.Context, p product, c lsp.Conn, o switchOptions, backend string) error {
	params, err := o.params(a, backend)
	if err != nil {
		return err
	}
	var named []string
	if o.session != "" {
		named = []string{o.session}
	}
	if params.SessionID, err = a.sessionArg(ctx, c, p.HostID(), o.workspace, named); err != nil {
		return err
	}
	before, err := describe(ctx, c, params.SessionID)
	if err != nil {
		return err
	}
	result, err := call(ctx, c, editors.Switch, params)
	if err != nil {
		return err
	}
	return a.result(result, func() { a.printSwitch(before.Session, params, result) })
}

func (a *app) printSwitch(before editors.Session, p editors.SwitchParams, r editors.SwitchResult) {
	switch {
	case p.DryRun:
		a.printf("%s would run in %s.\n", before.ID, place(r.Backend))
		a.printCarry(r.Carry, true)
		return
	case r.Queued:
		a.printf("%s will run in %s when turn %d has ended.\n", before.ID, place(p.Backend), r.AfterTurnID)
		return
	}
	a.printf("%s runs in %s now.\n", before.ID, place(r.Backend))
	a.printCarry(r.Carry, false)
	a.tellTheirs(before.ID, r.Carry)
	if r.Undo != "" && r.Carry.Changes() > 0 {
		a.notice(fmt.Sprintf("To undo what came: sandbox-agent restore %s %s", before.ID, brief(r.Undo)))
	}
	a.notice("To go back: " + wayBack(before))
}

// wayBack is the command by which a session returns to where it was.
func wayBack(before editors.Session) string {
	words := []string{"sandbox-agent switch --session", before.ID}
	if before.Backend.Image != "" {
		words = append(words, "--image", before.Backend.Image)
	}
	if before.Backend.WorkspaceRoot != "" {
		words = append(words, "--into", before.Backend.WorkspaceRoot)
	}
	return strings.Join(append(words, string(before.Backend.Kind)), " ")
}

// place names where a session runs.
func place(b editors.Backend) string {
	switch {
	case b.WorkspaceRoot != "":
		return name(b.WorkspaceRoot)
	case b.Image != "":
		return fmt.Sprintf("%s (%s)", b.Kind, name(b.Image))
	}
	return string(b.Kind)
}
