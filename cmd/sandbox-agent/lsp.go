// This file is the verb lsp: the server for editors.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/core"
	"sandboxagent/server/lsp"
)

func (a *app) lspVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Speak to an editor on stdin and stdout (JSON-RPC with LSP framing)",
		Args:  cobra.NoArgs,
		RunE:  a.does(func(ctx context.Context, _ []string) error { return a.lsp(ctx) }),
	}
	// Flags that editors' LSP clients add by themselves.
	cmd.Flags().Bool("stdio", true, "")
	cmd.Flags().Int("clientProcessId", 0, "")
	for _, name := range []string{"stdio", "clientProcessId"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
	return cmd
}

func (a *app) lsp(ctx context.Context) error {
	a.json, a.warnings = false, a.stderr // stdout carries the protocol only
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, closeCore := a.lspOptions()
	defer closeCore()
	err := lsp.Serve(ctx, o, a.stdin, a.stdout)
	if err != nil {
		fmt.Fprintln(a.stderr, err)
	}
	a.status = lsp.Status(err)
	return nil
}

// lspOptions connects the server with the installation. A broken installation does not keep the server from answering:
// each command then says what is wrong.
func (a *app) lspOptions() (lsp.Options, func()) {
	p, err := a.open(a)
	if err != nil {
		a.printError(asKnown(err))
		o := lsp.Options{
			Connect:  func(string, func(editors.EventMessage)) lsp.Conn { return broken{} },
			Describe: func(context.Context) lsp.Description { return lsp.Description{DefaultBackend: editors.Local} },
			Broken:   asKnown(err),
		}
		a.examining = true
		if p, err = a.open(a); err != nil {
			return o, func() {}
		}
		o.Connect = p.Connect
		return o, p.Close
	}
	o := lsp.Options{
		Connect: p.Connect, Describe: p.Describe,
		Replying: core.Replying, Progress: core.WithProgress, Unsaved: core.WithUnsaved,
		Log: slog.Default(),
	}
	if r, ok := p.(*realCore); ok {
		o.RuntimeDir, o.Log, o.Buffers = r.paths.RuntimeDir, r.log, r.Buffers
	}
	return o, p.Close
}

// broken is the connection to an installation that could not be opened.
type broken struct{}

func (broken) Mux() *editors.Mux           { return &editors.Mux{} }
func (broken) SetFolders([]string)         {}
func (broken) SetUnsaved([]string, string) {}
func (broken) Close()                      {}
