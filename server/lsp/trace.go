// This file handles $/setTrace and tells the client about its requests when it asked for that.

package lsp

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"go.lsp.dev/protocol"
)

// trace says whether the client wants $/logTrace.
type trace struct{ on atomic.Bool }

func (t *trace) set(value string) { t.on.Store(value == "messages" || value == "verbose") }

func (c *client) setTrace(raw json.RawMessage) error {
	var p protocol.SetTraceParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("decoding the trace level: %w", err)
	}
	c.trace.set(string(p.Value))
	return nil
}

// traced reports a request that was answered. Params and results are never part of it: they may hold secrets.
func (c *client) traced(method string, took time.Duration, err error) {
	c.log.Debug("answered", "method", method, "took", took, "error", err)
	if !c.trace.on.Load() {
		return
	}
	message := fmt.Sprintf("%s answered in %v", method, took.Round(time.Microsecond))
	if err != nil {
		message += ": " + err.Error()
	}
	c.tell(protocol.MethodLogTrace, struct {
		Message string `json:"message"`
	}{message})
}
