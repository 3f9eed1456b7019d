// This file is the verb worker: it starts, stops and shows this host's worker.

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/server/core"
)

func (a *app) workerVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker start|stop|status",
		Short: "Start, stop or show this host's worker",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return usagef("start, stop or status is missing") },
	}
	cmd.AddCommand(
		a.workerAction("start", "Start the worker unless it runs", a.startWorker),
		a.workerAction("stop", "Stop the worker; sessions wait for the next one", a.stopWorker),
		a.workerAction("status", "Tell whether the worker runs", a.workerStatus),
	)
	return cmd
}

func (a *app) workerAction(name, short string, f func(context.Context, product) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			p, err := a.open(a)
			if err != nil {
				return err
			}
			defer p.Close()
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return f(a.patient(ctx), p)
		}),
	}
}

func (a *app) startWorker(ctx context.Context, p product) error {
	status, err := p.StartWorker(ctx)
	if err != nil {
		return err
	}
	return a.result(status, func() { a.printWorker(status) })
}

func (a *app) stopWorker(ctx context.Context, p product) error {
	if err := p.StopWorker(ctx); err != nil {
		return err
	}
	return a.result(editors.Empty{}, func() { a.printf("The worker is stopped.\n") })
}

func (a *app) workerStatus(ctx context.Context, p product) error {
	status, err := p.WorkerStatus(ctx)
	if err != nil {
		return err
	}
	return a.result(status, func() { a.printWorker(status) })
}

func (a *app) printWorker(s core.WorkerStatus) {
	if !s.Running {
		a.printf("The worker does not run. It starts when it is needed, or by: sandbox-agent worker start\n")
		a.printf("Log: %s\n", s.Log)
		return
	}
	runs := "runs"
	switch {
	case s.Starting:
		a.printf("The worker is starting.\n")
		a.printf("Log: %s\n", s.Log)
		return
	case s.Already:
		runs = "runs already"
	}
	a.printf("The worker %s: pid %d, version %s, since %s\n", runs, s.PID, s.Version, s.StartedAt.Local().Format(time.DateTime))
	a.printf("Log: %s\n", s.Log)
}
