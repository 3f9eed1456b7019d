// This file is the verb attach: it follows a session that is there already.

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

// attachOptions are the flags of attach.
type attachOptions struct {
	workspace string
	after     int64
	untilIdle bool
}

func (a *app) attachVerb() *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:   "attach [flags] [SESSION]",
		Short: "Show a session and follow it; without SESSION the latest one of the folder",
		Long: "Show a session and follow it. With --json its events are printed from the first one that is still kept, or from\n" +
			"the one after --after. Ctrl-C interrupts a running turn once and detaches on the second, or when no turn runs.",
		Args: cobra.MaximumNArgs(1),
		RunE: a.does(func(ctx context.Context, args []string) error { return a.attach(ctx, o, args) }),
	}
	cmd.Flags().StringVarP(&o.workspace, "workspace", "w", "", "the folder whose latest session is meant (default: the current one)")
	cmd.Flags().Int64Var(&o.after, "after", -1, "show what came after this seq")
	cmd.Flags().BoolVar(&o.untilIdle, "until-idle", false, "end when no turn runs")
	return cmd
}

func (a *app) attach(ctx context.Context, o attachOptions, args []string) error {
	p, err := a.open(a)
	if err != nil {
		return err
	}
	defer p.Close()
	f := &follower{a: a, asker: newAsker(a), untilIdle: o.untilIdle, observing: !o.untilIdle}
	f.connect(p)
	defer f.close()
	ctx = a.patient(ctx)
	if f.session, err = a.sessionArg(ctx, f.conn, p.HostID(), o.workspace, args); err != nil {
		return err
	}
	f.print = printer(jsonPrinter{a})
	after := &o.after
	if !a.json {
		f.print = newTextPrinter(a, 0, "")
		if o.after < 0 {
			after = nil
		}
	}
	o.after = max(o.after, 0)
	signal.Notify(a.signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(a.signals)
	snapshot, err := f.attach(ctx, after)
	if err != nil {
		return err
	}
	if err := f.show(ctx, snapshot); err != nil {
		return err
	}
	a.status, err = f.run(ctx)
	return err
}

// sessionArg returns the session that was named, else the latest one of the folder.
func (a *app) sessionArg(ctx context.Context, c lsp.Conn, hostID, workspace string, args []string) (string, error) {
	if len(args) > 0 {
		return fullID(ctx, c, args[0])
	}
	folder, err := a.folderURI(workspace)
	if err != nil {
		return "", err
	}
	found, err := latest(ctx, c, hostID, folder, "")
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", editors.Errorf(editors.CodeNotFound, "there is no session of %s", folderPath(folder)).
			WithRemedy("Ask something there, or name a session; see: sandbox-agent sessions")
	}
	requestOf(ctx).found(found.ID)
	return found.ID, nil
}

// show prints what an attach answered.
func (f *follower) show(ctx context.Context, r editors.AttachResult) error {
	for _, item := range r.Items {
		if err := f.print.event(f.asEvent(item)); err != nil {
			return err
		}
	}
	if err := f.takePast(ctx, r); err != nil {
		return err
	}
	f.last = max(f.last, r.Seq)
	f.state(r.State)
	if !f.done && !f.busy && f.a.term.output && !f.a.json {
		f.a.notice("Following; Ctrl-C to leave.")
	}
	return nil
}

// asEvent makes of an item of a snapshot the event it would have been.
func (f *follower) asEvent(item editors.Item) editors.EventMessage {
	e := editors.Event{Type: editors.ItemEnded, Item: &item}
	if item.Status == editors.ItemInProgress {
		e.Type = editors.ItemStarted
	}
	return editors.EventMessage{SessionID: f.session, Seq: item.Seq, At: item.At, Event: e}
}
