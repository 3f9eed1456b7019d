// This file finds out which of the names in a question are files that only the session's sandbox has.

package core

import (
	"context"
	"slices"
	"time"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/mentions"
)

// CallThere is answered by the worker.
const CallThere = "there" // agent.OnSandbox of []string, paths in the workspace → []string, those of them that are there

const (
	thereTime = 2 * time.Second // for which a question waits for the answer
	maxThere  = 64              // names
)

// thereIn returns a function that asks the worker which names are in a sandbox. It knows of none when the worker is away, the
// sandbox is not running, or it takes too long: the agent, which reads the question, can still look for itself.
func (c *Core) thereIn(in agent.Sandbox) func(context.Context, []string) []string {
	return func(ctx context.Context, names []string) []string {
		var found []string
		err := bounded(ctx, thereTime, func(ctx context.Context) error {
			return c.live.call(ctx, CallThere, agent.OnSandbox[[]string]{Sandbox: in, Params: names}, &found)
		})
		if err != nil {
			c.log.Info("mentions not looked for in the sandbox", "session", in.SessionID, "error", err)
			return nil
		}
		return found
	}
}

// lookThere finds out which of the names that a text may mention, and that are not in the folder, are in the copy.
func (e *enclosing) lookThere(ctx context.Context, text string) {
	if e.there == nil {
		return
	}
	var missing []string
	mentions.Find(text, func(name string) bool {
		if e.known(name) {
			return true
		}
		if rel, ok := e.inside(name); ok && len(missing) < maxThere && !slices.Contains(missing, rel) {
			missing = append(missing, rel)
		}
		return false
	})
	if len(missing) > 0 {
		e.copied = e.there(ctx, missing)
	}
	e.looks = mentionLooks
}
