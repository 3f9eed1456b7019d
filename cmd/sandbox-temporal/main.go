// Command sandbox-temporal exists so that one machine needs no other service: it is a real Temporal server on one
// SQLite file, reachable only from this machine and only with the certificates it keeps in its state directory.
//
// It is a Go module of its own because the Temporal server pins an older Temporal API than the product's SDK, takes
// minutes to build, and must be able to crash without taking a worker with it. The two talk over the wire.
//
// Vet this module on its own: `go test -vet=off ./...` keeps its tests quick, since vetting a package that imports
// the server first vets some 1,700 packages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"go.temporal.io/server/common/headers"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// version of the product; set by the linker for releases.
var version = "dev"

// Exit statuses. A supervisor reads them: another instance runs (adopt it), this start can never succeed (give up),
// anything else may be tried again.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitLocked  = 75 // another live instance holds the state directory
	exitRefused = 78 // the state cannot be used by this binary; starting again will not help
)

// errRefused marks failures that starting again cannot cure.
var errRefused = errors.New("refused")

type options struct {
	stateDir   string
	ui         bool
	uiPort     int
	parentPipe bool
	logLevel   slog.Level
	version    bool
}

func main() {
	o, err := parseFlags(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(exitOK)
	case err != nil:
		fmt.Fprintln(os.Stderr, "sandbox-temporal:", err)
		os.Exit(exitUsage)
	case o.version:
		fmt.Printf("sandbox-temporal %s (Temporal server %s, schema %s)\n", version, headers.ServerVersion, sqliteschema.Version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	if o.parentPipe {
		ctx = untilEOF(ctx, os.Stdin)
	}
	syscall.Umask(0o077) // the database and its companions are the owner's alone
	err = run(ctx, o, os.Stdout, os.Stderr)
	stop()
	os.Exit(report(err, os.Stderr))
}

// report says why the program ends in one line and returns its exit status.
func report(err error, w io.Writer) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(w, "sandbox-temporal:", err)
	var held *lockedError
	switch {
	case errors.As(err, &held):
		return exitLocked
	case errors.Is(err, errRefused):
		return exitRefused
	}
	return exitFailed
}

func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	level := "warn"
	fs := flag.NewFlagSet("sandbox-temporal", flag.ContinueOnError)
	fs.SetOutput(w)
	fs.StringVar(&o.stateDir, "state-dir", "", "directory of the database, certificates and lock (required; made with mode 0700)")
	fs.BoolVar(&o.ui, "ui", false, "also serve the read-only Temporal web UI on loopback; it has no login, every local user can read it")
	fs.IntVar(&o.uiPort, "ui-port", 0, "port of the web UI (0: any free one)")
	fs.BoolVar(&o.parentPipe, "parent-pipe", false, "stop when standard input ends, because the parent is gone")
	fs.StringVar(&level, "log-level", level, "debug, info, warn or error; logs go to standard error")
	fs.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if err := o.logLevel.UnmarshalText([]byte(level)); err != nil {
		return o, fmt.Errorf("--log-level %q is none of debug, info, warn, error", level)
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.stateDir == "" && !o.version:
		return o, errors.New("--state-dir is required")
	case o.uiPort < 0 || o.uiPort > 65535:
		return o, fmt.Errorf("--ui-port %d is no port", o.uiPort)
	}
	return o, nil
}

// run owns the state directory from lock to clean stop.
func run(ctx context.Context, o options, out, logs io.Writer) error {
	log := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: o.logLevel}))
	var serverLevel slog.LevelVar
	serverLevel.Set(o.logLevel)
	serverLog := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: &serverLevel}))
	st, err := openState(o.stateDir)
	if err != nil {
		return err
	}
	lock, err := acquireLock(st.path("temporal.lock"))
	if err != nil {
		return err
	}
	if lock.unclean {
		log.Info("the previous instance did not stop cleanly; checking the database")
	}
	if err := prepareDatabase(ctx, st, lock.unclean, log); err != nil {
		return err
	}
	certs, err := ensureCertificates(st.path("tls"))
	if err != nil {
		return err
	}
	srv, err := startServer(ctx, st, certs, serverLog)
	if err != nil {
		return err
	}
	ready := srv.info()
	if o.ui {
		ui, err := startUI(o.uiPort, srv.address, certs)
		if err != nil {
			return errors.Join(err, srv.stop())
		}
		defer ui.Stop()
		ready.UIURL = ui.url
		fmt.Fprintln(out, "Temporal web UI:", ui.url)
	}
	if err := st.write(ready); err != nil {
		return errors.Join(err, srv.stop())
	}
	log.Info("ready", "address", ready.Address, "namespace", ready.Namespace)

	<-ctx.Done()
	if o.logLevel >= slog.LevelWarn {
		serverLevel.Set(slog.LevelError + 1) // services that stop one after the other complain about each other
	}
	// Whoever reads the state file from here on must see that nobody serves.
	ready.PID, ready.UIURL = 0, ""
	if err := st.write(ready); err != nil {
		log.Error("marking the server as stopping", "error", err)
	}
	if err := srv.stop(); err != nil {
		log.Error("stopping", "error", err)
		return nil // the lock stays marked: the next start checks the database
	}
	lock.markClean()
	return nil
}

// untilEOF returns a context that also ends when r does.
func untilEOF(parent context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	return ctx
}
