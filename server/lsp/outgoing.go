// This file sends requests and notifications of our own to the client.

package lsp

import (
	"context"
	"encoding/json"
	"fmt"

	"go.lsp.dev/protocol"
)

// ask sends a request and decodes the client's answer into result. When ctx ends first, the request is cancelled.
func (c *client) ask(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	var answer json.RawMessage
	id, err := c.rpc.Call(ctx, method, json.RawMessage(raw), &answer)
	if ctx.Err() != nil && c.ctx.Err() == nil {
		c.tell(protocol.MethodCancelRequest, map[string]any{"id": &id})
	}
	if err != nil {
		return fmt.Errorf("asking the client by %s: %w", method, err)
	}
	if result == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decoding the client's answer to %s: %w", method, err)
	}
	return nil
}

// tell sends a notification.
func (c *client) tell(method string, params any) {
	body, err := encodeNotification(method, params)
	if err != nil {
		c.log.Error("a notification cannot be encoded", "method", method, "error", err)
		return
	}
	if err := c.out.put(c.ctx, frameOf(body)); err != nil {
		c.log.Info("a notification was not sent", "method", method, "error", err)
	}
}

// show shows a message to the user.
func (c *client) show(kind protocol.MessageType, text string) {
	c.tell(protocol.MethodWindowShowMessage, protocol.ShowMessageParams{Type: kind, Message: text})
}
