// This file is the verb ask: it asks the agent and follows the turn to its end.

package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
)

// askOptions are the flags of ask.
type askOptions struct {
	sessionFlags
	session string
	fresh   bool
	dry     bool
	attach  []string
}

// context returns what goes with the question.
func (o askOptions) context() ([]editors.Context, error) {
	var parts []editors.Context
	for _, name := range o.attach {
		file, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", name, err)
		}
		parts = append(parts, editors.Context{Kind: "image", URI: (&url.URL{Scheme: "file", Path: file}).String()})
	}
	return parts, nil
}

// sessionFlags are the flags by which a new session is made.
type sessionFlags struct {
	workspace string
	backend   string
	image     string
	model     string
	approve   string
}

func (o *sessionFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.workspace, "workspace", "w", "", "the folder to work in (default: the current one)")
	flags.StringVar(&o.backend, "backend", "", "where commands run: local, docker, e2b or daytona")
	flags.StringVar(&o.image, "image", "", "the backend's image, template or snapshot")
	flags.StringVarP(&o.model, "model", "m", "", "the model to use from now on")
	flags.StringVar(&o.approve, "approve", "", "when to ask for an approval: ask, auto, never or readOnly")
}

// params returns the params by which a session is made as the flags say.
func (o *sessionFlags) params(a *app) (editors.NewParams, error) {
	folder, err := a.folderURI(o.workspace)
	if err != nil {
		return editors.NewParams{}, err
	}
	p := editors.NewParams{WorkspaceFolder: folder, Model: o.model}
	if p.ApprovalMode, err = approvalMode(o.approve); err != nil {
		return p, err
	}
	if o.backend == "" && o.image != "" {
		return p, usagef("--image needs --backend")
	}
	if o.backend != "" {
		p.Backend = &editors.Backend{Kind: editors.BackendKind(o.backend), Image: o.image}
	}
	return p, nil
}

func approvalMode(text string) (editors.ApprovalMode, error) {
	switch mode := editors.ApprovalMode(text); mode {
	case "", editors.ApprovalAsk, editors.ApprovalAuto, editors.ApprovalNever, editors.ApprovalReadOnly:
		return mode, nil
	}
	return "", usagef("--approve takes ask, auto, never or readOnly, not %q", text)
}

func (a *app) askVerb() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask [flags] TEXT|-",
		Short: "Ask the agent and follow its turn; - reads the text from stdin",
		Long: "Ask the agent and follow its turn to the end. Without --session or --new the question goes to the latest session\n" +
			"of the folder, or to a new one if there is none. Ctrl-C interrupts the turn once and detaches on the second.\n" +
			"The exit status is 0 when the turn is done, 1 when it failed or was interrupted, 3 when it waits for an approval\n" +
			"that nobody here can give.",
		Example: "  sandbox-agent ask 'Why does the test fail?'\n  git diff | sandbox-agent ask --new -",
		Args:    cobra.MinimumNArgs(1),
		RunE:    a.does(func(ctx context.Context, args []string) error { return a.ask(ctx, o, args) }),
	}
	o.register(cmd)
	cmd.Flags().StringVarP(&o.session, "session", "s", "", "the session to ask")
	cmd.Flags().BoolVarP(&o.fresh, "new", "n", false, "ask a new session")
	cmd.Flags().StringArrayVar(&o.attach, "attach", nil, "an image to show to the agent, wherever it is; as often as you like")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "only show what the agent would see")
	cmd.MarkFlagsMutuallyExclusive("session", "new")
	cmd.MarkFlagsMutuallyExclusive("session", "backend")
	cmd.MarkFlagsMutuallyExclusive("session", "workspace")
	return cmd
}

func (a *app) ask(ctx context.Context, o askOptions, args []string) error {
	made, err := o.params(a)
	if err != nil {
		return err
	}
	text, err := a.text(args)
	if err != nil {
		return err
	}
	parts, err := o.context()
	if err != nil {
		return err
	}
	p, err := a.open(a)
	if err != nil {
		return err
	}
	defer p.Close()
	if o.dry {
		c := p.Connect(clientName, func(editors.EventMessage) {})
		defer c.Close()
		shown := contextOptions{session: o.session, fresh: o.fresh, model: o.model, parts: parts}
		return a.showContext(ctx, c, shown, made.WorkspaceFolder, text)
	}
	f := &follower{a: a, asker: newAsker(a)}
	f.connect(p)
	defer f.close()
	ctx = a.patient(ctx)
	asking, asked := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer asked()
	if f.session, err = a.target(asking, f, p, o, made); err != nil {
		return err
	}
	snapshot, err := f.attach(asking, nil)
	if err != nil {
		return err
	}
	f.last = snapshot.Seq
	answer, err := a.send(asking, f, editors.AskParams{SessionID: f.session, Text: text, Context: parts, Model: o.model})
	if err != nil {
		return err
	}
	signal.Notify(a.signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(a.signals)
	asked()
	if err := f.catchUp(ctx, answer, snapshot); err != nil {
		return err
	}
	a.status, err = f.run(ctx)
	return err
}

// catchUp takes what was there before the question, or, of one that was asked before, what has come of it since.
func (f *follower) catchUp(ctx context.Context, asked editors.AskResult, snapshot editors.AttachResult) error {
	if 0 < asked.Seq && asked.Seq <= snapshot.Seq {
		f.last = asked.Seq
		return f.resync(ctx)
	}
	for _, approval := range snapshot.PendingApprovals {
		if err := f.ask(approval); err != nil {
			return err
		}
	}
	return nil
}

// text returns the question: the arguments, or stdin for "-".
func (a *app) text(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		a.term.input = false // it gives the question and cannot give answers
		read, err := io.ReadAll(io.LimitReader(a.stdin, editors.MaxTextBytes+1))
		if err != nil {
			return "", fmt.Errorf("reading the question: %w", err)
		}
		text = string(read)
	}
	if len(text) > editors.MaxTextBytes {
		return "", editors.Errorf(editors.CodeLimit, "the question is longer than %d bytes", editors.MaxTextBytes).
			WithRemedy("Put it into a file in the workspace and name the file.")
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef("the question is empty")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// target finds the session to ask, or makes it.
func (a *app) target(ctx context.Context, f *follower, p product, o askOptions, made editors.NewParams) (string, error) {
	id, err := fullID(ctx, f.conn, o.session)
	if err != nil {
		return "", err
	}
	mode := editors.ApprovalMode("")
	look := func() error {
		found, err := latest(ctx, f.conn, p.HostID(), made.WorkspaceFolder, editors.BackendKind(o.backend))
		if err == nil && found != nil {
			id, mode = found.ID, found.ApprovalMode
			requestOf(ctx).found(id)
		}
		return err
	}
	if id == "" && !o.fresh {
		if err := look(); err != nil {
			return "", err
		}
		if id == "" { // somebody else may be making one
			defer p.HoldFirst(ctx)()
			if err := look(); err != nil {
				return "", err
			}
		}
	}
	if id == "" {
		result, err := call(ctx, f.conn, editors.New, made)
		return result.Session.ID, err
	}
	if made.ApprovalMode != "" && made.ApprovalMode != mode {
		settings := editors.ConfigureParams{SessionID: id, ApprovalMode: made.ApprovalMode}
		if _, err := call(ctx, f.conn, editors.Configure, settings); err != nil {
			return "", err
		}
	}
	return id, nil
}

// send asks, taking events meanwhile: the answer comes after those it caused.
func (a *app) send(ctx context.Context, f *follower, p editors.AskParams) (editors.AskResult, error) {
	type answer struct {
		editors.AskResult
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		result, err := call(ctx, f.conn, editors.Ask, p)
		answered <- answer{result, err}
	}()
	var before []editors.EventMessage
	for {
		select {
		case e := <-f.events:
			before = append(before, e)
		case asked := <-answered:
			if asked.err != nil {
				return editors.AskResult{}, asked.err
			}
			f.begin(a, asked.AskResult)
			for _, e := range before {
				if err := f.take(ctx, e); err != nil {
					return editors.AskResult{}, err
				}
			}
			return asked.AskResult, nil
		}
	}
}

// begin sets the follower on the turn that was asked for.
func (f *follower) begin(a *app, asked editors.AskResult) {
	f.turn, f.item, f.busy = asked.TurnID, asked.ItemID, true
	f.begun = !asked.Queued
	if a.json {
		f.print = jsonPrinter{a}
		return
	}
	f.print = newTextPrinter(a, asked.TurnID, asked.ItemID)
	if asked.Queued {
		reason := "The question waits for the running turn to end"
		if f.approvals {
			reason += ", which waits for an approval"
		}
		a.notice(reason + ".")
	}
}
