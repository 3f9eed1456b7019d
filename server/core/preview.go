// This file holds the command that tells where servers in sandboxes are reached.

package core

import (
	"context"

	"sandboxagent/editors"
)

// CallPreview is answered by the worker. Its params are agent.OnSandbox of the command's; its result never enters a history.
const CallPreview = "preview" // editors.PreviewParams → editors.PreviewResult

func (c *Conn) preview(ctx context.Context, p editors.PreviewParams) (editors.PreviewResult, error) {
	if p.Port < 1 || p.Port > 65535 {
		return editors.PreviewResult{}, editors.Errorf(editors.CodeInvalidParams, "%d is no port", p.Port).WithRemedy("Give one from 1 to 65535.")
	}
	return onSandbox[editors.PreviewResult](ctx, c, "looking where the server can be reached", p.SessionID, CallPreview, p)
}
