// This file takes the agent's changes of documents that an editor shows unsaved.

package core

import (
	"context"

	"sandboxagent/internal/buffers"
)

// Buffers has apply called with the changes for a holder of unsaved documents, until ctx ends.
func (c *Core) Buffers(ctx context.Context, holder string, apply func(context.Context, buffers.Edit) buffers.Answer) {
	buffers.Serve(ctx, c.live.call, holder, apply)
}
