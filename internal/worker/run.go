// This file is the life of the worker process: one per installation, from its lock to its drain.

package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/temporal"
	"sandboxagent/internal/workerproc"
)

// Tuning for a desktop.
const (
	stickyWorkflows   = 256
	maxActivities     = 64
	drainTime         = 10 * time.Second
	stopEmbeddedTime  = 10 * time.Second
	heartbeatThrottle = time.Second
	connectTries      = 30
)

// Options configures Run.
type Options struct {
	Paths    config.Paths
	Config   config.Config
	Secrets  *config.Secrets
	Log      *slog.Logger
	Embedded bool // start and watch the embedded Temporal server, whatever the environment says
	UI       bool // with it, the web UI
	// ExitWhenIdle ends the worker when no editor was connected and nothing ran for Config.Worker.IdleTimeout: what a
	// command started in the background, a command may start again.
	ExitWhenIdle bool
	Env          config.Env
	// Ready is called once the worker serves. May be nil.
	Ready func(Status)
}

// Status describes a worker that serves.
type Status struct {
	Temporal string // where it is connected, and why there
	UI       string
	Socket   string
	Backends []editors.BackendInfo
}

// ErrRunning means that this installation's worker runs already.
var ErrRunning = workerproc.ErrHeld

// Run serves until ctx ends, then drains: running commands go on by themselves and are found again by the next worker.
func Run(ctx context.Context, o Options) error {
	if err := o.Paths.Ensure(); err != nil {
		return fmt.Errorf("prepare directories: %w", err)
	}
	release, err := workerproc.Hold(ctx, o.Paths.WorkerLock)
	if err != nil {
		return fmt.Errorf("take the worker's lock: %w", err)
	}
	defer func() { _ = release() }()
	hostID, err := config.HostID(o.Paths)
	if err != nil {
		return err
	}
	hub, err := feed.Listen(o.Paths.WorkerSocket, o.Log)
	if err != nil {
		return fmt.Errorf("open the worker's socket: %w", err)
	}
	defer func() { _ = hub.Close() }()
	p := &process{Options: o, hostID: hostID, identity: identity(hostID), hub: hub}
	defer p.close()
	return p.serve(ctx)
}

// process is a worker between its start and its end.
type process struct {
	Options
	hostID   string
	identity string // of this process in histories
	hub      *feed.Hub
	embedded *temporal.Embedded
	client   client.Client
	profile  temporal.Profile
	bells    *bells
	backends map[editors.BackendKind]sandbox.Backend
	servers  *mcp.Pool // nil: the user has none
}

func (p *process) close() {
	p.closeBackends()
	if p.servers != nil {
		p.servers.Close()
	}
	if p.client != nil {
		p.client.Close()
	}
	if p.embedded != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopEmbeddedTime)
		defer cancel()
		if err := p.embedded.Stop(ctx); err != nil {
			p.Log.Warn("embedded Temporal did not stop by itself", "error", err)
		}
	}
}

func (p *process) serve(ctx context.Context) error {
	p.bells = newBells(p.hub.Ring)
	if err := p.connect(ctx); err != nil {
		return err
	}
	acts, err := p.activities(ctx)
	if err != nil {
		return err
	}
	p.answerCalls(acts)
	go acts.collectCheckpoints(ctx, p.Log)
	agentWorker, hostWorker := p.workers(acts)
	if err := hostWorker.Start(); err != nil {
		return fmt.Errorf("start the worker of this host: %w", err)
	}
	defer hostWorker.Stop()
	if err := agentWorker.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer agentWorker.Stop()
	info := config.WorkerInfo{PID: os.Getpid(), Version: editors.Version, StartedAt: time.Now(), Socket: p.Paths.WorkerSocket}
	if err := config.WriteWorkerInfo(p.Paths, info); err != nil {
		return err
	}
	defer func() { _ = os.Remove(p.Paths.WorkerState) }()
	p.tellReady(ctx, acts)
	go p.reclaim(ctx, acts.SearchAttributes)
	go acts.reap(ctx, temporalSessions{p.client}, p.Log)
	if timeout := p.Config.Worker.IdleTimeout; p.ExitWhenIdle && timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go whenIdle(ctx, timeout, func() bool { return p.hub.Connections() > 0 || acts.busy.Load() > 0 }, cancel)
	}
	return p.wait(ctx)
}

// whenIdle calls stop once needed has been false for the whole of timeout, or returns when ctx ends.
func whenIdle(ctx context.Context, timeout time.Duration, needed func() bool, stop func()) {
	tick := time.NewTicker(max(min(timeout/10, 10*time.Second), 10*time.Millisecond))
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if needed() {
				last = now
			} else if now.Sub(last) >= timeout {
				stop()
				return
			}
		}
	}
}

func (p *process) wait(ctx context.Context) error {
	if p.embedded == nil {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-p.embedded.Done():
		return fmt.Errorf("the embedded Temporal server cannot go on: %w", p.embedded.State().Err)
	}
}

func (p *process) tellReady(ctx context.Context, acts *Activities) {
	s := Status{Temporal: p.profile.String(), Socket: p.Paths.WorkerSocket, Backends: Availability(ctx, acts.Backends)}
	if p.embedded != nil {
		s.UI = p.embedded.State().UIURL
	}
	if p.Ready != nil {
		p.Ready(s)
	}
}

// connect reaches Temporal, starting the embedded server when that is wanted.
func (p *process) connect(ctx context.Context) error {
	t := p.Config.Temporal
	resolve := temporal.ResolveOptions{
		Address: t.Address, Namespace: t.Namespace, ProfileName: t.Profile, StateDir: p.Paths.TemporalDir, Embedded: p.Embedded,
	}
	if p.Embedded {
		e, err := temporal.StartEmbedded(ctx, temporal.EmbeddedOptions{StateDir: p.Paths.TemporalDir, Log: p.Log, UI: p.UI})
		if err != nil {
			return fmt.Errorf("start the embedded Temporal server: %w", err)
		}
		p.embedded = e
	}
	var err error
	if p.profile, err = temporal.Resolve(ctx, resolve); err != nil {
		return fmt.Errorf("find Temporal: %w", err)
	}
	keys, err := temporal.LoadKeys("", os.LookupEnv)
	if err != nil {
		return fmt.Errorf("load payload keys: %w", err)
	}
	opts := temporal.Options{Log: p.Log, Identity: p.identity, OnWorkflowTaskCompleted: p.bells.completed, Keys: keys}
	for range connectTries {
		if p.client, err = temporal.Dial(ctx, p.profile, opts); err == nil || !temporal.IsUnavailable(err) || ctx.Err() != nil {
			break
		}
		p.Log.Warn("Temporal does not answer yet", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	return nil
}

// IsRunning tells whether err means that another worker of this installation runs.
func IsRunning(err error) bool { return errors.Is(err, ErrRunning) }
