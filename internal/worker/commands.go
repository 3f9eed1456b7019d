// This file is about single commands: it stops one, waits for the end of one, and tells a session that one is quiet.

package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/internal/agent"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/tools"
)

const (
	signalTime = 5 * time.Second
	maxWatched = maxActivities / 2 // commands whose end is waited for at a time, so that other activities find room
)

// StopCommand kills a command for a user, who is remembered. Repeating it is harmless.
func (a *Activities) StopCommand(ctx context.Context, in agent.CommandInput) (agent.CommandEnd, error) {
	defer a.working()()
	env, done, err := a.commandEnv(ctx, in.Sandbox)
	if err != nil {
		return agent.CommandEnd{}, err
	}
	defer done()
	ended, already, err := tools.Stop(ctx, env, in.CommandID, in.By)
	if err != nil {
		return agent.CommandEnd{}, err
	}
	return agent.CommandEnd{How: ended.How, StoppedBy: ended.StoppedBy, Already: already}, nil
}

// AwaitCommand waits for the end of a command in the background, unless too many are waited for.
func (a *Activities) AwaitCommand(ctx context.Context, in agent.CommandInput) (agent.CommandEnd, error) {
	defer a.watched.Add(-1)
	if a.watched.Add(1) > maxWatched {
		return agent.CommandEnd{Unwatched: true}, nil
	}
	defer beat(ctx, func() any { return "" })()
	tctx, cancel := untilStop(ctx, tools.ErrDetach)
	defer cancel()
	for try := 1; ; try++ {
		ended, err := a.awaitCommand(tctx, in)
		switch {
		case err == nil:
			return agent.CommandEnd{How: ended.How, StoppedBy: ended.StoppedBy}, nil
		case stopping(ctx):
			return agent.CommandEnd{}, workerStopped()
		case ctx.Err() != nil:
			return agent.CommandEnd{}, temporal.NewCanceledError()
		case !again(err) || try >= begunTries:
			return agent.CommandEnd{}, temporal.NewNonRetryableApplicationError(plain(err), string(sandbox.ClassOf(err)), err)
		}
		select {
		case <-time.After(pause):
		case <-tctx.Done():
		}
	}
}

func (a *Activities) awaitCommand(ctx context.Context, in agent.CommandInput) (tools.Ended, error) {
	env, done, err := a.commandEnv(ctx, in.Sandbox)
	if err != nil {
		return tools.Ended{}, err
	}
	defer done()
	return tools.AwaitEnd(ctx, env, in.CommandID)
}

// commandEnv opens the sandbox of a command.
func (a *Activities) commandEnv(ctx context.Context, in agent.Sandbox) (env tools.Env, done func(), err error) {
	sb, err := a.open(ctx, in, func(string) {})
	if err != nil {
		return tools.Env{}, nil, err
	}
	env = tools.Env{Sandbox: sb, Blobs: a.Blobs, Plans: a.plans(in.SessionID)}
	return env, func() { _ = sb.Close() }, nil
}

// tellQuiet tells the session that the command of a call prints nothing, or prints again. What cannot be told is not: it
// only explains.
func (a *Activities) tellQuiet(ctx context.Context, in agent.RunToolInput, q tools.Quiet) {
	if a.Client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signalTime)
	defer cancel()
	signal := agent.QuietSignal{ItemID: in.ItemID, Since: q.Since, Asks: q.Asks}
	_ = a.Client.SignalWorkflow(ctx, agent.WorkflowID(in.SessionID), "", agent.SignalQuiet, signal)
}
