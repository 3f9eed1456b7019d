// This file prints what was brought from one workspace into another.

package main

import (
	"fmt"

	"sandboxagent/editors"
)

// printCarry prints what is, or would be, brought: how much, which files if asked for, and what was not.
func (a *app) printCarry(c editors.Carry, files bool) {
	amount := ""
	if c.Bytes > 0 {
		amount = " (" + size(c.Bytes) + ")"
	}
	a.printf("%s%s.\n", upperFirst(c.Summary()), amount)
	if files {
		for _, f := range c.Files {
			a.printf("%-8s %s\n", f.Kind, name(f.Path))
		}
		a.more(c.Changes() - len(c.Files))
	}
	a.printSkipped("conflict", c.Conflicts, c.ConflictsAll)
	a.printSkipped("left out", c.Skipped, c.SkippedAll)
}

func (a *app) printSkipped(what string, list []editors.Skipped, all int) {
	for _, s := range list {
		a.printf("%s %s (%s)\n", what, name(s.Path), line(s.Reason))
	}
	a.more(all - len(list))
}

func (a *app) more(n int) {
	if n > 0 {
		a.printf("… and %d more\n", n)
	}
}

// tellTheirs says where to find the versions that conflicts kept out.
func (a *app) tellTheirs(session string, c editors.Carry) {
	if c.ConflictsAll > 0 && c.Theirs != "" {
		a.notice(fmt.Sprintf("What came is in the checkpoint %s: sandbox-agent diff --from %[1]s %s", brief(c.Theirs), session))
	}
}
