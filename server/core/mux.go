// This file binds the table of commands to a connection.

package core

import (
	"context"

	"sandboxagent/editors"
)

func (c *Conn) register() {
	handle(c, editors.New, c.new)
	handle(c, editors.Ask, c.ask)
	handle(c, editors.Steer, c.steer)
	handle(c, editors.Interrupt, c.interrupt)
	handle(c, editors.Stop, c.stop)
	handle(c, editors.Queue, c.queue)
	handle(c, editors.AnswerApproval, c.answerApproval)
	handle(c, editors.Switch, c.switchBackend)
	handle(c, editors.Fork, c.fork)
	handle(c, editors.Adopt, c.adoptFork)
	handle(c, editors.Title, c.title)
	handle(c, editors.Configure, c.configure)
	handle(c, editors.Rules, c.rules)
	handle(c, editors.Compact, c.compact)
	handle(c, editors.ShowContext, c.showContext)
	handle(c, editors.SetSecret, c.setSecret)
	handle(c, editors.Pause, c.pause)
	handle(c, editors.Destroy, c.destroy)
	handle(c, editors.Sessions, c.sessions)
	handle(c, editors.Attach, c.attach)
	handle(c, editors.Detach, c.detach)
	handle(c, editors.History, c.history)
	handle(c, editors.ReadOutput, c.readOutput)
	handle(c, editors.TakeCheckpoint, c.takeCheckpoint)
	handle(c, editors.Checkpoints, c.checkpoints)
	handle(c, editors.Diff, c.diff)
	handle(c, editors.ReadFile, c.readFile)
	handle(c, editors.Preview, c.preview)
	handle(c, editors.Restore, c.restore)
	handle(c, editors.Backends, c.backends)
	handle(c, editors.Models, c.models)
	handle(c, editors.MCP, c.mcp)
	handle(c, editors.Doctor, c.doctor)
}

// handle registers a command so that its params are checked and all its errors are *editors.Error.
func handle[P, R any](c *Conn, d editors.Def[P, R], f func(context.Context, P) (R, error)) {
	editors.Handle(&c.mux, d, func(ctx context.Context, p P) (R, error) {
		if err := checkParams(p); err != nil {
			var none R
			return none, err
		}
		result, err := f(ctx, p)
		return result, asEditorsError("the command "+d.Name, err)
	})
}
