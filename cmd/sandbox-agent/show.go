// This file has the verb that prints a file of a checkpoint.

package main

import (
	"context"
	"encoding/base64"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func (a *app) showVerb() *cobra.Command {
	var p editors.ReadFileParams
	var dir string
	cmd := &cobra.Command{
		Use:   "show [flags] [SESSION] PATH",
		Short: "Print a file as it is in a checkpoint",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.showOfFolder(&p, &dir)(cmd, args)
			}
			if dir != "" {
				return usagef("a session has its own folder; leave --workspace out")
			}
			return a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
				p.SessionID, p.Path = args[0], args[1]
				return a.printFile(func() (editors.ReadFileResult, error) { return call(ctx, c, editors.ReadFile, p) }, &p.Offset)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&p.CheckpointID, "at", "", "checkpoint, or the beginning of its id (default: the file as it is now)")
	workspaceFlag(cmd, &dir)
	return cmd
}

// showOfFolder prints a file of a plain folder's checkpoint.
func (a *app) showOfFolder(p *editors.ReadFileParams, dir *string) func(*cobra.Command, []string) error {
	return a.does(func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		s, err := a.folderCheckpoints(*dir)
		if err != nil {
			return err
		}
		p.Path = args[0]
		return a.printFile(func() (editors.ReadFileResult, error) { return s.ReadFile(ctx, *p) }, &p.Offset)
	})
}

// printFile prints a file byte for byte, range by range; with --json each range as it comes.
func (a *app) printFile(read func() (editors.ReadFileResult, error), offset *int64) error {
	for {
		r, err := read()
		if err != nil {
			return err
		}
		if err := a.printRange(r); err != nil {
			return err
		}
		if r.End >= r.Total {
			return nil
		}
		*offset = r.End
	}
}

func (a *app) printRange(r editors.ReadFileResult) error {
	if a.json {
		return a.printJSON(r)
	}
	data := []byte(r.Data)
	if r.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(r.Data); err != nil {
			return editors.Errorf(editors.CodeInternal, "the file did not arrive whole: %w", err)
		}
	}
	_, err := a.stdout.Write(data)
	return err
}
