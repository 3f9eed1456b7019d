// This file reads all checkpoints of this host and tells which are damaged.

package main

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
)

// verified is what --verify answers as JSON.
type verified struct {
	Checkpoints int           `json:"checkpoints"` // that there are
	Damaged     []damagedLine `json:"damaged"`
}

type damagedLine struct {
	ID    string   `json:"id"`
	Kept  []string `json:"kept"` // for what
	Error string   `json:"error"`
}

// verifyCheckpoints fails with status 1 when something is damaged.
func (a *app) verifyCheckpoints(ctx context.Context, _ []string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	f, err := a.installed()
	if err != nil {
		return err
	}
	store, err := f.store()
	if err != nil {
		return commands.Error(err)
	}
	checked, err := store.Check(ctx)
	if err != nil {
		return commands.Error(err)
	}
	out := verified{Checkpoints: checked.Checkpoints, Damaged: []damagedLine{}}
	for _, d := range checked.Damaged {
		out.Damaged = append(out.Damaged, damagedLine{ID: d.Checkpoint, Kept: keptFor(d.Refs), Error: asKnown(commands.Error(d.Err)).Message})
	}
	if len(out.Damaged) > 0 {
		a.status = statusFailed
	}
	return a.result(out, func() { a.printVerified(out) })
}

func keptFor(refs []checkpoint.Ref) []string {
	kept := []string{}
	for _, r := range refs {
		whose := "session " + r.Session
		if r.Session == "" {
			whose = r.Folder
		}
		kept = append(kept, strings.TrimSuffix(whose+": "+r.Summary, ": "))
	}
	return kept
}

func (a *app) printVerified(v verified) {
	for _, d := range v.Damaged {
		a.printf("%s  %s\n", brief(d.ID), oneLine(d.Error, 200))
		for _, k := range d.Kept {
			a.printf("              %s\n", oneLine(k, 200))
		}
	}
	if len(v.Damaged) == 0 {
		a.printf("All %d checkpoints are whole.\n", v.Checkpoints)
		return
	}
	a.notice(fmt.Sprintf("%d damaged or missing, of %d. What a workspace still has of them, its next checkpoint stores again; nothing else needs them.", len(v.Damaged), v.Checkpoints))
}
