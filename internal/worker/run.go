// This file puts the worker process together: one per installation, from its lock to its drain.

package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/config"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/model"
	"sandboxagent/internal/policy/store"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
	"sandboxagent/internal/sandbox/docker"
	"sandboxagent/internal/sandbox/local"
	"sandboxagent/internal/session"
	"sandboxagent/internal/temporal"
	"sandboxagent/internal/workerproc"
	"sandboxagent/internal/workspace"
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

func (p *process) activities(ctx context.Context) (*Activities, error) {
	blobs, err := blob.OpenDir(p.Paths.BlobDir)
	if err != nil {
		return nil, fmt.Errorf("open the blob store: %w", err)
	}
	keys, err := temporal.LoadKeys("", os.LookupEnv)
	if err != nil {
		return nil, err
	}
	dc, err := temporal.NewDataConverter(keys)
	if err != nil {
		return nil, err
	}
	if p.backends, err = p.makeBackends(); err != nil {
		return nil, err
	}
	realm, err := realmOf(ctx, p.client, p.profile.Namespace)
	if err != nil {
		p.Log.Warn("what is made for sessions will not be removed without them, since Temporal does not tell which one it is", "error", err)
	}
	p.servers = p.makeServers()
	fault, err := faultOf(p.Env.Get(FaultVariable))
	if err != nil {
		return nil, err
	}
	return &Activities{
		HostID: p.hostID, Realm: realm, Forks: workspace.Forks{Dir: p.Paths.ForkDir}, CarryWith: p.Config.Carry, Fault: fault,
		Others: temporalSessions{p.client}, Client: p.client, Converter: dc, Blobs: blobs, Live: p.hub, Models: p.models(), KeysBy: time.Now().Add(keyTime), PlanDir: filepath.Join(p.Paths.StateDir, "plans"),
		Backends: p.backends, Servers: p.servers,
		Checkpoints: sync.OnceValues(func() (*checkpoint.Store, error) {
			return checkpoint.Open(checkpoint.Options{Dir: p.Paths.CheckpointDir, Quota: p.Config.Checkpoint.Quota, Fault: fault})
		}),
		CheckpointWith:   p.Config.Checkpoint,
		Policies:         store.Store{PolicyFile: p.Paths.PolicyFile, RuleDir: p.Paths.RuleDir},
		SearchAttributes: EnsureSearchAttributes(ctx, p.client, p.profile.Namespace),
	}, nil
}

func (p *process) makeBackends() (map[editors.BackendKind]sandbox.Backend, error) {
	folders, err := local.New(local.Options{
		StateDir: p.Paths.SandboxDir, HostID: p.hostID, Logger: p.Log, Confinement: confine.Level(p.Config.Local.Confinement),
		Private: []string{p.Paths.ConfigDir, p.Paths.StateDir, p.Paths.DataDir, p.Paths.RuntimeDir},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the local backend: %w", err)
	}
	c := p.Config.Docker
	containers, err := docker.New(docker.Options{
		StateDir: filepath.Join(p.Paths.SandboxDir, "docker"), HostID: p.hostID, Logger: p.Log, Env: p.Env,
		Image: c.Image, Network: c.Network, Memory: c.Memory, CPUs: c.CPUs, Pids: c.Pids,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the docker backend: %w", err)
	}
	all := map[editors.BackendKind]sandbox.Backend{editors.Local: folders, editors.Docker: containers}
	return all, p.addClouds(all)
}

// makeServers makes the MCP servers that the user has configured; none is started before it is needed.
func (p *process) makeServers() *mcp.Pool {
	if len(p.Config.MCP) == 0 {
		return nil
	}
	return mcp.New(mcp.Options{
		Servers: p.Config.MCP, Dir: filepath.Join(p.Paths.StateDir, "mcp"), Env: p.lookup, Variable: p.Secrets.Variable, Redact: p.Secrets.Redact, Log: p.Log,
	})
}

func (p *process) lookup(name string) (string, bool) {
	value := p.Env.Get(name)
	return value, value != ""
}

func (p *process) models() *model.Registry {
	return model.New(model.Options{
		Key:     func() string { return p.Secrets.Get(config.OpenAIKey) },
		BaseURL: p.Config.OpenAI.BaseURL, API: p.Config.OpenAI.API, IdleTimeout: p.Config.OpenAI.IdleTimeout,
		Organization: p.Env.Get("OPENAI_ORG_ID"), Project: p.Env.Get("OPENAI_PROJECT_ID"), Facts: factsOf(p.Config.Models),
	})
}

// factsOf is what the user says of models.
func factsOf(models map[string]config.Model) map[string]model.Facts {
	facts := map[string]model.Facts{}
	for id, m := range models {
		f := model.Facts{Window: m.Window}
		if m.Price != nil {
			f.Price = &model.Price{Input: m.Price.Input, Cached: m.Price.Cached, Output: m.Price.Output}
		}
		facts[id] = f
	}
	return facts
}

func (p *process) workers(acts *Activities) (agentWorker, hostWorker sdkworker.Worker) {
	sdkworker.SetStickyWorkflowCacheSize(stickyWorkflows)
	opts := sdkworker.Options{
		WorkerStopTimeout: drainTime, MaxHeartbeatThrottleInterval: heartbeatThrottle, DefaultHeartbeatThrottleInterval: heartbeatThrottle,
		MaxConcurrentActivityExecutionSize: maxActivities,
	}
	agentWorker = sdkworker.New(p.client, agent.AgentQueue, opts)
	flows := &agent.Workflows{Ring: p.bells.hint}
	agentWorker.RegisterWorkflowWithOptions(flows.Agent, workflow.RegisterOptions{Name: agent.WorkflowName})
	agentWorker.RegisterWorkflowWithOptions(session.Manager, workflow.RegisterOptions{Name: session.WorkflowName})
	agentWorker.RegisterActivityWithOptions(acts.ListSessions, activity.RegisterOptions{Name: session.ActivityListSessions})
	opts.DisableWorkflowWorker = true
	hostWorker = sdkworker.New(p.client, agent.HostQueue(p.hostID), opts)
	for name, f := range map[string]any{
		agent.ActivityModelStep: acts.ModelStep, agent.ActivityRunTool: acts.RunTool,
		agent.ActivityCompact: acts.CompactConversation, agent.ActivityTitle: acts.SuggestTitle,
		agent.ActivityPing: acts.Ping, agent.ActivityCheckpoint: acts.TakeCheckpoint, agent.ActivitySeal: acts.SealItems, agent.ActivityDestroySandbox: acts.DestroySandbox,
		agent.ActivityOpenCarried: acts.OpenCarried, agent.ActivityMergeInto: acts.MergeInto, agent.ActivityRestore: acts.Restore,
		agent.ActivityFindForkPoint: acts.FindForkPoint, agent.ActivityEnsureSandbox: acts.EnsureSandbox, agent.ActivityStopSandbox: acts.StopSandbox,
		agent.ActivityStopCommand: acts.StopCommand, agent.ActivityAwaitCommand: acts.AwaitCommand,
		agent.ActivityKeepRule: acts.KeepRule,
	} {
		hostWorker.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	return agentWorker, hostWorker
}

func (p *process) answerCalls(acts *Activities) {
	registry, _ := acts.Models.(*model.Registry)
	r := &rpc{acts: acts, secrets: p.Secrets, models: registry, defaultModel: p.Config.Model, status: p.describe}
	p.hub.Handle(MethodSetSecret, r.setSecret)
	p.hub.Handle(MethodModels, r.listModels)
	p.hub.Handle(MethodBackends, r.listBackends)
	p.hub.Handle(MethodServers, acts.listServers)
	p.hub.Handle(MethodReadOutput, r.readOutput)
	p.hub.Handle(MethodStatus, r.readStatus)
	p.hub.Handle(MethodHoldUnsaved, r.holdUnsaved)
	p.hub.Handle(MethodContext, acts.showContext)
	p.hub.Handle(buffers.MethodTake, acts.takeEdit)
	p.hub.Handle(buffers.MethodAnswer, acts.answerEdit)
	p.hub.Handle(MethodCheckpoint, onCheckpoints(acts, commands.Subject.Take))
	p.hub.Handle(MethodCheckpoints, onCheckpoints(acts, commands.Subject.List))
	p.hub.Handle(MethodDiff, onCheckpoints(acts, commands.Subject.Diff))
	p.hub.Handle(MethodReadFile, onCheckpoints(acts, commands.Subject.ReadFile))
	p.hub.Handle(MethodPreview, acts.preview)
	p.hub.Handle(MethodRestore, onCheckpoints(acts, planRestore))
	p.hub.Handle(MethodPlanOpen, acts.planOpen)
	p.hub.Handle(MethodPlanMerge, acts.planMerge)
	p.hub.Handle(MethodOrphans, acts.orphans(temporalSessions{p.client}))
}

func (p *process) describe() StatusResult {
	out := StatusResult{Version: editors.Version, PID: os.Getpid(), Temporal: p.profile.String(), Keys: map[string]bool{}}
	for _, name := range config.SecretNames() {
		out.Keys[name] = p.Secrets.Get(name) != ""
	}
	if p.embedded != nil {
		s := p.embedded.State()
		out.Embedded, out.UI = string(s.Status), s.UIURL
	}
	return out
}

// IsRunning tells whether err means that another worker of this installation runs.
func IsRunning(err error) bool { return errors.Is(err, ErrRunning) }
