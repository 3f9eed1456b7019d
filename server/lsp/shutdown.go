// This file handles shutdown.

package lsp

import (
	"context"
	"encoding/json"
)

// shutdown lets go of nothing yet: requests that run may still be answered before exit.
func (c *client) shutdown(context.Context, json.RawMessage) (any, error) { return nil, nil }
