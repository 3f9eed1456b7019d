// This file handles $/cancelRequest.

package lsp

import "encoding/json"

func (c *client) cancelRequest(raw json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		c.log.Warn("a cancellation could not be decoded", "error", err)
		return
	}
	if id, running := c.stream.call(p.ID); running {
		c.calls.cancel(id)
	}
}
