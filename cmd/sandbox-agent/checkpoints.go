// This file holds the verbs on checkpoints: of a session, or of a plain folder, for which nothing needs to run.

package main

import (
	"context"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/server/lsp"
)

const shortCheckpoint = 12 // characters of an id that people see

func (a *app) checkpointVerb() *cobra.Command {
	var p editors.CheckpointParams
	var dir string
	cmd := &cobra.Command{
		Use:   "checkpoint [flags] [SESSION]",
		Short: "Take a checkpoint of a session's workspace, or of a folder",
		Args:  cobra.MaximumNArgs(1),
		RunE: onCheckpoints(a, &dir, 0, editors.TakeCheckpoint, commands.Subject.Take, func(session string, _ []string) editors.CheckpointParams {
			p.SessionID = session
			return p
		}, (*app).printCheckpoint),
	}
	cmd.Flags().StringVar(&p.Summary, "summary", "", "what it is for")
	workspaceFlag(cmd, &dir)
	return cmd
}

func (a *app) checkpointsVerb() *cobra.Command {
	var dir string
	var verify bool
	list := a.besides(&dir, onCheckpoints(a, &dir, 0, editors.Checkpoints, commands.Subject.List, func(session string, _ []string) editors.SessionParams {
		return editors.SessionParams{SessionID: session}
	}, (*app).printCheckpoints))
	cmd := &cobra.Command{
		Use:   "checkpoints [flags] [SESSION]",
		Short: "List the checkpoints of a session, or of a folder",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !verify:
				return list(cmd, args)
			case len(args) > 0 || dir != "":
				return usagef("--verify looks at all checkpoints of this host; leave the session and --workspace out")
			}
			return a.does(a.verifyCheckpoints)(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "read every checkpoint of this host, and tell which are damaged or missing")
	workspaceFlag(cmd, &dir)
	return cmd
}

func (a *app) diffVerb() *cobra.Command {
	var p editors.DiffParams
	var dir string
	cmd := &cobra.Command{
		Use:   "diff [flags] [SESSION]",
		Short: "Show what changed since a checkpoint, or between two",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.besides(&dir, onCheckpoints(a, &dir, 0, editors.Diff, commands.Subject.Diff, func(session string, _ []string) editors.DiffParams {
			p.SessionID = session
			return p
		}, (*app).printDiff)),
	}
	cmd.Flags().StringVar(&p.From, "from", "", "checkpoint, or the beginning of its id (default: the oldest)")
	cmd.Flags().StringVar(&p.To, "to", "", "checkpoint (default: the files as they are now)")
	cmd.Flags().StringArrayVar(&p.Paths, "path", nil, "only this path and what is below it; may be repeated")
	workspaceFlag(cmd, &dir)
	return cmd
}

func (a *app) restoreVerb() *cobra.Command {
	var p editors.RestoreParams
	var dir string
	cmd := &cobra.Command{
		Use:   "restore [flags] [SESSION] CHECKPOINT",
		Short: "Bring files back to a checkpoint; prints how to undo it",
		Args:  cobra.RangeArgs(1, 2),
		RunE: onCheckpoints(a, &dir, 1, editors.Restore, commands.Subject.Restore, func(session string, rest []string) editors.RestoreParams {
			p.SessionID, p.CheckpointID = session, rest[0]
			return p
		}, func(a *app, r editors.RestoreResult) error {
			a.printRestored(r)
			if r.Undo != "" && len(r.Restored) > 0 {
				a.notice("To undo: " + a.undoing(p.SessionID, dir, r.Undo))
			}
			return nil
		}, func(r editors.RestoreResult) {
			if !p.DryRun && missed(r, p.Paths) {
				a.status = statusFailed
			}
		}),
	}
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "only tell what would happen")
	cmd.Flags().StringArrayVar(&p.Paths, "path", nil, "only this path and what is below it; may be repeated")
	workspaceFlag(cmd, &dir)
	return cmd
}

func workspaceFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "workspace", "", "the `folder` without session (default: the current one)")
}

// onCheckpoints makes a cobra function of a command on checkpoints. The first argument is the session if there is one
// more than the command itself takes.
func onCheckpoints[P, R any](
	a *app, dir *string, own int, def editors.Def[P, R], direct func(commands.Subject, context.Context, P) (R, error),
	params func(session string, rest []string) P, show func(*app, R) error, after ...func(R),
) func(*cobra.Command, []string) error {
	answer := func(result R, err error) error {
		if err != nil {
			return err
		}
		for _, do := range after {
			do(result)
		}
		if a.json {
			return a.printJSON(result)
		}
		return show(a, result)
	}
	ofSession := a.with(func(ctx context.Context, c lsp.Conn, args []string) error {
		return answer(call(ctx, c, def, params(args[0], args[1:])))
	})
	ofFolder := a.does(func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		s, err := a.folderCheckpoints(*dir)
		if err != nil {
			return err
		}
		return answer(direct(s, ctx, params("", args)))
	})
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= own {
			if cmd.Flags().Changed("request-id") {
				return usagef("--request-id is for sessions; of a folder's checkpoints there is no record of requests")
			}
			return ofFolder(cmd, args)
		}
		if *dir != "" {
			return usagef("a session has its own folder; leave --workspace out")
		}
		return ofSession(cmd, args)
	}
}

// folderCheckpoints opens the store of this host for a plain folder.
func (a *app) folderCheckpoints(dir string) (commands.Subject, error) {
	f, err := a.folder(dir)
	if err != nil {
		return commands.Subject{}, err
	}
	store, err := f.store()
	if err != nil {
		return commands.Subject{}, commands.Error(err)
	}
	s := commands.Subject{
		Store: store, Folder: f.path, Progress: a.showProgress(),
		Open: func(context.Context) (checkpoint.Workspace, error) { return store.Folder(f.path) },
	}
	s.Configure(f.settings)
	return s, nil
}

// showProgress tells people on a terminal how far a long picture is.
func (a *app) showProgress() func(worktree.Progress) {
	last := time.Now()
	return func(p worktree.Progress) {
		if time.Since(last) < 2*time.Second {
			return
		}
		last = time.Now()
		a.notice(fmt.Sprintf("%d files looked at, %s read", p.Files, size(p.Bytes)))
	}
}

func brief(id string) string { return id[:min(len(id), shortCheckpoint)] }

func (a *app) printCheckpoint(r editors.CheckpointResult) error {
	a.printf("%s\n", r.Checkpoint.ID)
	switch {
	case r.Unchanged:
		a.notice("Nothing changed since the checkpoint before.")
	case r.Partial:
		a.notice("It is partial: some files could not be read.")
	}
	for _, s := range r.Skipped {
		a.notice(fmt.Sprintf("%s: %s", name(s.Path), s.Reason))
	}
	if more := r.SkippedAll - len(r.Skipped); more > 0 {
		a.notice(fmt.Sprintf("and %d more", more))
	}
	return nil
}

func (a *app) printCheckpoints(r editors.CheckpointsResult) error {
	if len(r.Checkpoints) == 0 {
		a.notice("There is no checkpoint. Take one: sandbox-agent checkpoint")
	}
	for _, c := range together(r.Checkpoints) {
		turn := "-"
		if c.TurnID > 0 {
			turn = fmt.Sprint(c.TurnID)
		}
		a.printf("%s  %s  %3s  %s\n", brief(c.ID), c.At.Local().Format(time.DateTime), turn, oneLine(c.Summary, 100))
	}
	return nil
}

// together joins what one checkpoint was kept for more than once: a folder that has not changed has the same one.
func together(all []editors.Checkpoint) []editors.Checkpoint {
	var rows []editors.Checkpoint
	at := map[string]int{}
	for _, c := range all {
		i, known := at[c.ID]
		if !known {
			at[c.ID] = len(rows)
			rows = append(rows, c)
			continue
		}
		if row := &rows[i]; row.TurnID == 0 {
			row.TurnID = c.TurnID
		}
		rows[i].Summary += "; " + c.Summary
	}
	return rows
}

func (a *app) printDiff(r editors.DiffResult) error {
	for _, f := range r.Files {
		switch {
		case f.Patch != "" && name(f.Path) == f.Path: // the names in a patch are bare
			a.printf("%s", plain(f.Patch))
		case f.Kind == "renamed":
			a.printf("renamed %s → %s\n", name(f.OldPath), name(f.Path))
		case f.Binary:
			a.printf("%s %s (binary)\n", f.Kind, name(f.Path))
		default:
			a.printf("%s %s\n", f.Kind, name(f.Path))
		}
	}
	if r.Truncated {
		a.notice("There is more; name paths by --path to see it.")
	}
	return nil
}

func (a *app) printRestored(r editors.RestoreResult) {
	became := r.Files
	if len(became) == 0 {
		for _, path := range r.Restored {
			became = append(became, editors.FileChange{Path: path, Kind: "restored"})
		}
	}
	for _, f := range became {
		a.printf("%-8s %s\n", inPast(f.Kind), name(f.Path))
	}
	for _, path := range r.Kept {
		a.printf("kept     %s (%s)\n", name(path), line(r.Reasons[path]))
	}
	for _, path := range r.Conflicts {
		a.printf("conflict %s (%s)\n", name(path), line(r.Reasons[path]))
	}
	if left := len(r.Kept) + len(r.Conflicts); left > 0 && r.Undo != "" {
		a.notice(fmt.Sprintf("Not restored: %d of %d.", left, left+len(r.Restored)))
	}
	switch {
	case r.Truncated:
		a.notice("There are more paths than are listed.")
	case len(r.Restored)+len(r.Kept)+len(r.Conflicts) == 0:
		a.notice("Nothing differs.")
	}
	if r.Undo == "" && len(r.Restored) > 0 {
		a.notice("Nothing has changed yet: this is what a restore would do.")
	}
}

// undoing is the command that takes a restore back, wherever it is typed.
func (a *app) undoing(session, dir, undo string) string {
	if session == "" {
		session = "--workspace ."
		if path, err := a.absolute(dir); err == nil {
			session = "--workspace " + shellWord(path)
		}
	}
	return "sandbox-agent restore " + session + " " + brief(undo)
}

// shellWord writes s as one word for a shell.
func shellWord(s string) string {
	plainly := func(r rune) bool {
		return r > 0x7f || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plainly(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// missed tells whether something that was asked for by its path did not go back. Git's own state never does.
func missed(r editors.RestoreResult, asked []string) bool {
	if len(asked) == 0 {
		return false
	}
	gitOwn := func(path string) bool { return path == ".git" || strings.HasSuffix(path, "/.git") }
	return len(r.Conflicts) > 0 || slices.ContainsFunc(r.Kept, func(path string) bool {
		return !gitOwn(path) || slices.Contains(asked, path)
	})
}

// inPast says what a restore did to a file.
func inPast(kind string) string {
	if kind == "added" {
		return "created" // by the restore: "added" would leave open by whom
	}
	return kind
}
