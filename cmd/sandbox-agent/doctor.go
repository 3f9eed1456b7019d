// This file is the verb doctor.

package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
)

func (a *app) doctorVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and tell what to do about what is wrong",
		Args:  cobra.NoArgs,
		RunE:  a.does(func(ctx context.Context, _ []string) error { return a.doctor(ctx) }),
	}
}

// doctor always has something to say, also of an installation that cannot be opened.
func (a *app) doctor(ctx context.Context) error {
	a.examining = true
	found, err := a.examine(ctx)
	if err != nil {
		e := asKnown(err)
		found.Checks = append(found.Checks, editors.Check{Name: "installation", Status: "error", Detail: e.Message, Remedy: e.Remedy})
	}
	found.Checks = append(found.Checks, a.checkFolder(ctx)...)
	for _, check := range found.Checks {
		if check.Status == "error" {
			a.status = statusFailed
		}
	}
	return a.result(found, func() { a.printChecks(found.Checks) })
}

func (a *app) examine(ctx context.Context) (editors.DoctorResult, error) {
	p, err := a.open(a)
	if err != nil {
		return editors.DoctorResult{}, err
	}
	defer p.Close()
	conn := p.Connect(clientName, func(editors.EventMessage) {})
	defer conn.Close()
	return call(ctx, conn, editors.Doctor, editors.Empty{})
}

func (a *app) printChecks(checks []editors.Check) {
	for _, check := range checks {
		mark := a.term.green("✓")
		switch check.Status {
		case "warning":
			mark = a.term.yellow("!")
		case "error":
			mark = a.term.red("✗")
		}
		a.printf("%s %s: %s\n", mark, a.term.bold(line(check.Name)), block(check.Detail, "    "))
		if check.Remedy != "" {
			a.printf("    %s\n", block(check.Remedy, "    "))
		}
	}
}
