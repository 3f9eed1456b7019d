// This file tells which backends and models there are, and hands secrets to the worker.

package core

import (
	"context"
	"slices"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
)

const (
	catalogTime = 2 * time.Second // for the worker to tell of backends and models; initialize gives it less
	secretTime  = 5 * time.Second
)

const (
	workerAsleep = "the worker is not running, so it was not checked"
	workerBusy   = "the worker did not answer in time, so it was not checked"
)

// unchecked says why something that only the worker can check was not, and what helps.
func (c *Core) unchecked() (reason, remedy string) {
	if c.workerAlive() {
		return workerBusy, c.remedySlow()
	}
	return workerAsleep, remedyStart
}

// remedySlow is for a worker that runs and does not answer.
func (c *Core) remedySlow() string {
	return "Look again; if it stays so, read the worker's log: " + c.workerLog()
}

// Backends lists the backends as the worker finds them. Without its answer it says what is known of old.
func (c *Core) Backends(ctx context.Context) []editors.BackendInfo {
	if tested := c.testedBackends(ctx); len(tested) > 0 {
		return tested
	}
	reason, remedy := c.unchecked()
	local := editors.BackendInfo{Kind: editors.Local, Available: true}
	switch {
	case reason == workerBusy:
		local.Reason = reason
	case c.canStart(ctx):
		local.Reason = "the worker starts with the first request"
	default:
		local.Available, local.Reason, local.Remedy = false, reason, remedy
	}
	infos := []editors.BackendInfo{local}
	for _, kind := range []editors.BackendKind{editors.Docker, editors.E2B, editors.Daytona} {
		infos = append(infos, editors.BackendInfo{Kind: kind, Reason: reason, Remedy: remedy})
	}
	return infos
}

// testedBackends lists the backends as the worker found them, none if it does not answer in time.
func (c *Core) testedBackends(ctx context.Context) []editors.BackendInfo {
	var result editors.BackendsResult
	if !c.askCatalog(ctx, CallBackends, &result) {
		return nil
	}
	return result.Backends
}

// Models lists the models as the worker knows them. Without its answer it says what is known of old.
func (c *Core) Models(ctx context.Context) []editors.ModelInfo {
	var result editors.ModelsResult
	if c.askCatalog(ctx, CallModels, &result) && len(result.Models) > 0 {
		return result.Models
	}
	chosen := editors.ModelInfo{ID: c.opts.Config.Model, Provider: "openai", Available: true}
	if c.opts.Config.OpenAI.BaseURL != "" {
		chosen.Provider = "compatible"
	} else if c.opts.Secrets == nil || c.opts.Secrets.Get(config.OpenAIKey) == "" {
		chosen.Available, chosen.Reason = false, "there is no OpenAI API key"
		chosen.Remedy = "Set OPENAI_API_KEY in the environment or in " + c.opts.Paths.EnvFile + ", or use the model demo: --model demo in the terminal."
	}
	demo := editors.ModelInfo{ID: editors.DemoModel, Provider: "demo", Available: true}
	if chosen.ID == demo.ID {
		return []editors.ModelInfo{demo}
	}
	return []editors.ModelInfo{chosen, demo}
}

func (c *Core) askCatalog(ctx context.Context, method string, result any) bool {
	if !c.workerAlive() {
		return false
	}
	err := bounded(ctx, catalogTime, func(ctx context.Context) error { return c.live.await(ctx, method, editors.Empty{}, result) })
	return err == nil
}

// canStart tells whether the first request will start the worker.
func (c *Core) canStart(ctx context.Context) bool {
	if !c.opts.Autostart || !c.embedded(ctx) {
		return false
	}
	_, err := c.findWorker()
	return err == nil
}

func (c *Conn) backends(ctx context.Context, _ editors.Empty) (editors.BackendsResult, error) {
	return editors.BackendsResult{Backends: c.core.Backends(ctx)}, nil
}

func (c *Conn) models(ctx context.Context, _ editors.Empty) (editors.ModelsResult, error) {
	return editors.ModelsResult{Models: c.core.Models(ctx), DefaultModel: c.core.opts.Config.Model}, nil
}

// setSecret gives the worker a key by its private socket, and keeps it in memory for a worker that comes later. The value goes
// nowhere else, not even into an error.
func (c *Conn) setSecret(ctx context.Context, p editors.SetSecretParams) (editors.Empty, error) {
	if names := config.SecretNames(); !slices.Contains(names, p.Name) {
		return editors.Empty{}, editors.Errorf(editors.CodeInvalidParams, "there is no such secret").
			WithRemedy("Use one of: " + strings.Join(names, ", ") + ".")
	}
	if _, err := c.core.link.engine(ctx); err != nil && !c.core.live.connected() {
		return editors.Empty{}, err
	}
	if err := c.core.live.setKey(ctx, p); err != nil {
		return editors.Empty{}, asError("giving the worker a key", err)
	}
	return editors.Empty{}, nil
}
