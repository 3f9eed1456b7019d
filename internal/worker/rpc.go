// This file answers what the servers on this host ask their worker directly.

package worker

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"sandboxagent/editors"
	"sandboxagent/internal/config"
	"sandboxagent/internal/model"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// The methods of the worker's socket.
const (
	MethodSetSecret  = "setSecret"  // editors.SetSecretParams → editors.Empty
	MethodModels     = "models"     // editors.Empty → editors.ModelsResult
	MethodBackends   = "backends"   // editors.Empty → editors.BackendsResult
	MethodReadOutput = "readOutput" // editors.ReadOutputParams → editors.ReadOutputResult, of a running command
	MethodStatus     = "status"     // editors.Empty → StatusResult
	MethodServers    = "mcp"        // editors.MCPParams → editors.MCPResult
)

// StatusResult tells how the worker is.
type StatusResult struct {
	Version  string            `json:"version"`
	PID      int               `json:"pid"`
	Temporal string            `json:"temporal"` // where it is connected and why there
	Embedded string            `json:"embedded,omitempty"`
	UI       string            `json:"ui,omitempty"`
	Keys     map[string]bool   `json:"keys"` // which secrets are known; never their values
	Notes    map[string]string `json:"notes,omitempty"`
}

type rpc struct {
	acts         *Activities
	secrets      *config.Secrets
	models       *model.Registry
	defaultModel string
	status       func() StatusResult
}

func (r *rpc) setSecret(_ context.Context, params json.RawMessage) (any, error) {
	var p editors.SetSecretParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "setSecret takes a name and a value.")
	}
	if err := r.secrets.Set(p.Name, p.Value); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "%v", err)
	}
	return editors.Empty{}, nil
}

func (r *rpc) listModels(ctx context.Context, _ json.RawMessage) (any, error) {
	out := editors.ModelsResult{Models: []editors.ModelInfo{}, DefaultModel: r.defaultModel}
	for _, m := range r.models.List(ctx) {
		out.Models = append(out.Models, editors.ModelInfo(m))
	}
	return out, nil
}

func (r *rpc) listBackends(ctx context.Context, _ json.RawMessage) (any, error) {
	return editors.BackendsResult{Backends: Availability(ctx, r.acts.Backends)}, nil
}

// Availability tells of every kind of backend whether this worker can use it.
func Availability(ctx context.Context, backends map[editors.BackendKind]sandbox.Backend) []editors.BackendInfo {
	kinds := []editors.BackendKind{editors.Local, editors.Docker, editors.E2B, editors.Daytona}
	out := make([]editors.BackendInfo, len(kinds))
	var asking sync.WaitGroup
	for i, kind := range kinds {
		asking.Go(func() { out[i] = available(ctx, kind, backends[kind]) })
	}
	asking.Wait()
	return out
}

// confiner is a backend that can say how it confines commands.
type confiner interface {
	Confinement(ctx context.Context) (confine.Report, error)
}

func available(ctx context.Context, kind editors.BackendKind, b sandbox.Backend) editors.BackendInfo {
	info := editors.BackendInfo{Kind: kind}
	if b == nil {
		info.Reason, info.Remedy = "This version does not offer it.", "Use the local backend."
		return info
	}
	err := b.Available(ctx)
	if info.Available = err == nil; err != nil {
		info.Reason, info.Remedy, _ = strings.Cut(plain(err), ": ") // messages name the remedy behind a colon
		return info
	}
	if c, ok := b.(confiner); ok {
		if report, err := c.Confinement(ctx); err == nil {
			info.Reason = report.String()
		}
	}
	return info
}

func (r *rpc) readOutput(ctx context.Context, params json.RawMessage) (any, error) {
	var p editors.ReadOutputParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "readOutput takes sessionId, itemId, stream, offset and limit.")
	}
	c, ok := r.acts.running.get(p.ItemID, p.SessionID)
	if !ok {
		return nil, editors.Errorf(editors.CodeNotFound, "Item %s does not run on this worker.", p.ItemID)
	}
	limit := p.Limit
	if limit <= 0 || limit > editors.MaxOutputRead {
		limit = editors.MaxOutputRead
	}
	chunk, err := c.sandbox.Output(ctx, c.id, sandbox.Stream(p.Stream), p.Offset, limit)
	if err != nil {
		return nil, editors.Errorf(editors.CodeNotFound, "The output cannot be read: %s", plain(err))
	}
	out := editors.ReadOutputResult{Offset: chunk.Offset, End: chunk.Offset + int64(len(chunk.Data)), Total: chunk.Total, Encoding: "utf8", Data: string(chunk.Data)}
	if !utf8.Valid(chunk.Data) {
		out.Encoding, out.Data = "base64", encodeBase64(chunk.Data)
	}
	return out, nil
}

func (r *rpc) readStatus(context.Context, json.RawMessage) (any, error) { return r.status(), nil }
