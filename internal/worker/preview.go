// This file answers where servers in a session's sandbox are reached.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/sandbox"
)

// MethodPreview is answered on the worker's socket only: what it tells may hold secrets, which no history may have.
const MethodPreview = "preview" // agent.OnSandbox of editors.PreviewParams → editors.PreviewResult

func (a *Activities) preview(ctx context.Context, params json.RawMessage) (any, error) {
	var call agent.OnSandbox[editors.PreviewParams]
	if err := json.Unmarshal(params, &call); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "The call is malformed.")
	}
	defer a.working()()
	b, err := a.backend(call.Sandbox)
	if err != nil {
		return nil, commands.Error(err)
	}
	p, ok := b.(sandbox.Previewer)
	if !ok {
		return nil, editors.Errorf(editors.CodeUnsupported, "Servers in sandboxes of %s cannot be reached from outside.", call.Sandbox.Backend.Kind)
	}
	to, err := p.Preview(ctx, refOf(call.Sandbox), call.Params.Port)
	if err != nil {
		return nil, notReached(err)
	}
	out := editors.PreviewResult{URL: to.URL}
	for name, value := range to.Header {
		out.Headers = append(out.Headers, editors.PreviewHeader{Name: name, Value: value})
	}
	slices.SortFunc(out.Headers, func(x, y editors.PreviewHeader) int { return strings.Compare(x.Name, y.Name) })
	if !to.Until.IsZero() {
		out.Until = &to.Until
	}
	return out, nil
}

// notReached says what to do where there is no sandbox.
func notReached(err error) error {
	err = commands.Error(err)
	var known *editors.Error
	if errors.As(err, &known) && known.Code == editors.CodeNotFound && known.Remedy == "" {
		return known.WithRemedy("Have the agent start the server: asking makes a sandbox where there is none.")
	}
	return err
}
