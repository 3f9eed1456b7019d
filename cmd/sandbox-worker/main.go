// Command sandbox-worker is the engine: it runs the sessions' workflows, calls models and runs tools on this host.
// With --embedded it brings its own Temporal server; without, it joins the one that Temporal's environment names.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/worker"
)

// Exit statuses.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitRunning = 75 // EX_TEMPFAIL: another worker of this installation runs
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("sandbox-worker", flag.ContinueOnError)
	embedded := flags.Bool("embedded", false, "start and watch the embedded Temporal server")
	ui := flags.Bool("ui", false, "with --embedded: serve Temporal's web UI on this machine; it has no login")
	idle := flags.Bool("exit-when-idle", false, "end when no editor was connected and nothing ran for worker.idle_timeout")
	version := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	switch {
	case *version:
		fmt.Println("sandbox-worker", editors.Version)
		return 0
	case flags.NArg() > 0:
		fmt.Fprintf(os.Stderr, "sandbox-worker: unknown argument %q; see --help\n", flags.Arg(0))
		return exitUsage
	case *ui && !*embedded:
		fmt.Fprintln(os.Stderr, "sandbox-worker: --ui needs --embedded; another Temporal server has its own UI")
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := serve(ctx, worker.Options{Embedded: *embedded, UI: *ui, ExitWhenIdle: *idle})
	switch {
	case err == nil:
		return 0
	case worker.IsRunning(err):
		fmt.Fprintln(os.Stderr, "sandbox-worker: a worker of this installation runs already; `sandbox-agent worker status` tells about it")
		return exitRunning
	}
	fmt.Fprintln(os.Stderr, "sandbox-worker:", err)
	return exitFailed
}

func serve(ctx context.Context, o worker.Options) error {
	paths, err := config.ResolvePaths(os.LookupEnv)
	if err != nil {
		return err
	}
	conf, warnings, err := config.Load(paths, os.LookupEnv)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: conf.Log.Level}))
	for _, w := range warnings {
		log.Warn("configuration", "warning", w.String())
	}
	o.Paths, o.Config, o.Secrets, o.Log = paths, conf, config.NewSecrets(paths, os.LookupEnv), log
	o.Env, o.Ready = os.LookupEnv, report
	return worker.Run(ctx, o)
}

// report says what the worker serves, and what it cannot and why.
func report(s worker.Status) {
	fmt.Fprintln(os.Stderr, "sandbox-worker is ready, with", s.Temporal)
	if s.UI != "" {
		fmt.Fprintln(os.Stderr, "Temporal's web UI:", s.UI)
	}
	for _, b := range s.Backends {
		if !b.Available {
			fmt.Fprintf(os.Stderr, "backend %s is not available: %s %s\n", b.Kind, b.Reason, b.Remedy)
		}
	}
}
