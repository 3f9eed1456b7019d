// This file brings a command from its name and raw params to its typed handler.

package editors

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
)

// Mux dispatches commands to typed handlers. The zero value is ready; registering must end before dispatching begins.
//
//	var mux editors.Mux
//	editors.Handle(&mux, editors.Ask, server.ask)
//	result, err := mux.Dispatch(ctx, "ask", params)
type Mux struct {
	handlers map[string]handler
}

type handler func(ctx context.Context, params json.RawMessage) (any, error)

// Handle registers f for the command d. It panics when d has a handler already.
func Handle[P, R any](m *Mux, d Def[P, R], f func(ctx context.Context, params P) (R, error)) {
	if _, twice := m.handlers[d.Name]; twice {
		panic("editors: command " + d.Name + " has two handlers")
	}
	if m.handlers == nil {
		m.handlers = make(map[string]handler)
	}
	m.handlers[d.Name] = func(ctx context.Context, raw json.RawMessage) (any, error) {
		params, err := decodeParams[P](d.Name, raw)
		if err != nil {
			return nil, err
		}
		result, err := f(ctx, params)
		if err != nil {
			return nil, err
		}
		fillSlices(reflect.ValueOf(&result).Elem())
		return result, nil
	}
}

// Missing names the commands that have no handler, in the order of the table.
func (m *Mux) Missing() []string {
	var missing []string
	for _, c := range table {
		if m.handlers[c.Name] == nil {
			missing = append(missing, c.Name)
		}
	}
	return missing
}

// Dispatch runs a command and returns its result, in which no array is null. The name may be bare ("ask"), the JSON-RPC
// method ("sandboxAgent/ask") or the workspace/executeCommand name ("sandboxAgent.ask"); params may be an object, an array
// of one object, null or absent. Errors about the name and the params are of type *Error; those of handlers are
// returned as they are.
func (m *Mux) Dispatch(ctx context.Context, name string, params json.RawMessage) (any, error) {
	name = CommandName(name)
	if h := m.handlers[name]; h != nil {
		return h(ctx, params)
	}
	names := make([]string, 0, len(table))
	for _, c := range table {
		if c.Name == name {
			return nil, Errorf(CodeUnsupported, "this server does not offer the command %q", name)
		}
		names = append(names, c.Name)
	}
	return nil, Errorf(CodeUnsupported, "there is no command %q", clip(name)).
		WithRemedy("Use one of: " + strings.Join(names, ", ") + ".")
}

// CommandName strips the prefix of a JSON-RPC method or workspace/executeCommand name.
func CommandName(method string) string {
	if name, ok := strings.CutPrefix(method, MethodPrefix); ok {
		return name
	}
	return strings.TrimPrefix(method, CommandPrefix)
}
