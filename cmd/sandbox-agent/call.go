// This file calls commands with their types.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"sandboxagent/editors"
	"sandboxagent/server/lsp"
)

func call[P, R any](ctx context.Context, c lsp.Conn, d editors.Def[P, R], params P) (R, error) {
	var none R
	requestOf(ctx).name(d.Name, &params)
	raw, err := json.Marshal(params)
	if err != nil {
		return none, fmt.Errorf("encoding the params of %s: %w", d.Name, err)
	}
	result, err := c.Mux().Dispatch(ctx, d.Name, raw)
	if err != nil {
		return none, err
	}
	typed, ok := result.(R)
	if !ok {
		return none, fmt.Errorf("the answer to %s is a %T", d.Name, result)
	}
	return typed, nil
}
