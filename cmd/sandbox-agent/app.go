// This file is what all verbs share: the streams, the installation, and how a verb's outcome becomes an exit status.

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/server/core"
	"sandboxagent/server/lsp"
)

// Exit statuses.
const (
	statusDone    = 0
	statusFailed  = 1
	statusUsage   = 2
	statusWaiting = 3 // for an approval that nobody here can give
)

// product is what the verbs need of the core.
type product interface {
	Connect(name string, sink func(editors.EventMessage)) lsp.Conn
	HostID() string
	HoldFirst(ctx context.Context) (release func())
	Describe(ctx context.Context) lsp.Description
	StartWorker(ctx context.Context) (core.WorkerStatus, error)
	StopWorker(ctx context.Context) error
	WorkerStatus(ctx context.Context) (core.WorkerStatus, error)
	Close()
}

// app is one run of the program.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            config.Env
	dir            string // where relative folders begin
	term           terminal
	signals        chan os.Signal
	warnings       io.Writer                     // where warnings of the log go besides the file
	open           func(a *app) (product, error) // the installation, at most once
	examining      bool                          // the installation is opened as far as possible, to say what is wrong with it
	json           bool
	unanswered     *request // of which nobody knows what became
	status         int      // of a verb that ended without an error
}

func newApp(stdin, stdout, stderr *os.File, env config.Env) *app {
	a := &app{
		stdin: stdin, stdout: stdout, stderr: stderr, env: env, warnings: io.Discard, open: openCore, signals: make(chan os.Signal, 4),
		term: terminalOf(stdin, stdout, env),
	}
	a.dir, _ = os.Getwd() // where it fails, relative folders are refused
	return a
}

// run runs the verb that args name and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	signal.Ignore(syscall.SIGPIPE) // a reader that is gone is an error of writing
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	verb, err := root.ExecuteContextC(ctx)
	return a.report(verb, err)
}

// failure is an error of a verb that was called rightly.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// does makes a cobra function of a verb.
func (a *app) does(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd.Context(), args)
		var usage *usageError
		switch {
		case errors.Is(err, errWaiting):
			a.status = statusWaiting
			return nil
		case err == nil, errors.As(err, &usage):
			return err
		}
		return failure{err}
	}
}

// with makes a cobra function of a verb that works with a connection to the core. Its session may be named by the
// beginning of its id.
func (a *app) with(f func(ctx context.Context, c lsp.Conn, args []string) error) func(*cobra.Command, []string) error {
	return a.withProduct(func(ctx context.Context, _ product, c lsp.Conn, args []string) error { return f(ctx, c, args) })
}

// withProduct is with for a verb that also asks where it is.
func (a *app) withProduct(f func(ctx context.Context, p product, c lsp.Conn, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.does(func(ctx context.Context, args []string) error {
			p, err := a.open(a)
			if err != nil {
				return err
			}
			defer p.Close()
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			conn := p.Connect(clientName, func(editors.EventMessage) {})
			defer conn.Close()
			ctx = a.patient(ctx)
			if namesSession(cmd, args) {
				if args[0], err = fullID(ctx, conn, args[0]); err != nil {
					return err
				}
			}
			return f(ctx, p, conn, args)
		})(cmd, args)
	}
}

// clientName stands where the terminal answers an approval.
const clientName = "terminal"

// patient has commands that take long tell on stderr what they wait for, each thing once.
func (a *app) patient(ctx context.Context) context.Context {
	var mu sync.Mutex
	told := ""
	return core.WithProgress(ctx, func(message string) {
		mu.Lock()
		defer mu.Unlock()
		if message != told {
			told = message
			a.notice(message)
		}
	})
}
