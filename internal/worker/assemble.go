// This file makes what a worker is of: its activities with all that they use, the workflows, and the calls that it answers.

package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/config"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/model"
	"sandboxagent/internal/policy/store"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
	"sandboxagent/internal/sandbox/docker"
	"sandboxagent/internal/sandbox/local"
	"sandboxagent/internal/session"
	"sandboxagent/internal/temporal"
	"sandboxagent/internal/workspace"
)

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
	p.hub.Handle(MethodThere, acts.there)
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
