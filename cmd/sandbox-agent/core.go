// This file opens the installation: paths, configuration, log and core.

package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sourcegraph/conc"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/server/core"
	"sandboxagent/server/lsp"
)

// describeTime bounds what initialize may ask of the worker, so that it answers at once.
const describeTime = 25 * time.Millisecond

// realCore is the core of this installation.
type realCore struct {
	*core.Core
	paths  config.Paths
	config config.Config
	log    *slog.Logger
	file   *logFile
}

// openCore opens the installation that the environment asks for.
func openCore(a *app) (product, error) {
	paths, err := config.ResolvePaths(a.env)
	if err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "the installation cannot be found: %w", err).
			WithRemedy("Correct HOME and the XDG_* variables: they must be absolute paths.")
	}
	settings, warnings, broken := config.Load(paths, a.env)
	if broken != nil {
		if !a.examining {
			return nil, broken
		}
		settings = config.Default()
	}
	if err := paths.Ensure(); err != nil && !a.examining {
		return nil, err
	}
	if !a.examining { // the doctor has them in its report
		for _, w := range warnings {
			a.notice(w.String())
		}
	}
	secrets := config.NewSecrets(paths, a.env)
	file := newLogFile(filepath.Join(paths.LogDir, "server.log"), secrets.Redact)
	r := &realCore{paths: paths, config: settings, file: file, log: newLogger(file, a.warnings, settings.Log.Level)}
	r.Core = core.New(core.Options{
		Paths: paths, Config: settings, Warnings: warnings, Broken: broken, Secrets: secrets, Log: r.log, Autostart: true,
	})
	return r, nil
}

// Connect implements product.
func (r *realCore) Connect(name string, sink func(editors.EventMessage)) lsp.Conn {
	return r.Core.Connect(name, sink)
}

// Describe tells what is known at once.
func (r *realCore) Describe(ctx context.Context) lsp.Description {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	d := lsp.Description{DefaultBackend: editors.Local, DefaultModel: r.config.Model}
	var both conc.WaitGroup
	both.Go(func() { d.HostID, d.Backends = r.HostID(), r.Backends(ctx) })
	both.Go(func() { d.Models = r.Models(ctx) })
	both.Wait()
	return d
}

// Close implements product.
func (r *realCore) Close() {
	r.Core.Close()
	r.file.Close()
}
