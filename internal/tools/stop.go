// This file ends one command because a user wants it to, and remembers who, so that whoever reports the command tells it.

package tools

import (
	"context"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

// stopPlan is what is remembered of a command that a user stops.
type stopPlan struct {
	By string `json:"by"`
}

// stopKey is where the plans remember it.
func stopKey(commandID string) string { return "stop " + commandID }

// Ended is what became of a command, for who did not run it.
type Ended struct {
	How       string // one sentence for the model, as in "Exit code 0 after 1.5 s."
	Duration  time.Duration
	StoppedBy string // the name of the user's client that stopped it
	ByItself  bool   // nobody stopped or killed it, nor did its time run out
}

// Stop kills a command, which may be about to start, with everything that it started, and keeps what it printed. by names the
// user's client; of several the first is remembered. already means that the command had ended, or was stopped, before.
func Stop(ctx context.Context, env Env, commandID, by string) (ended Ended, already bool, err error) {
	status, err := env.Sandbox.Wait(ctx, commandID, sandbox.Offsets{}, 0)
	known := sandbox.ClassOf(err) != sandbox.ClassNotFound
	if known && err != nil {
		return Ended{}, false, err
	}
	if known && status.State != sandbox.StateRunning && status.Left == 0 {
		ended, err := endOf(ctx, env, status)
		return ended, true, err
	}
	first, err := stopper(ctx, env, commandID)
	if err != nil {
		return Ended{}, false, err
	}
	if first == "" {
		if err := savePlan(ctx, env, stopKey(commandID), stopPlan{By: by}); err != nil {
			return Ended{}, false, err
		}
	}
	// after it was noted: a command that starts meanwhile is stopped by who starts it
	err = env.Sandbox.Kill(ctx, commandID)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return Ended{How: stoppedFirst(by), StoppedBy: orElse(first, by)}, first != "", nil
	}
	if err != nil {
		return Ended{}, false, err
	}
	if status, err = env.Sandbox.Wait(ctx, commandID, sandbox.Offsets{}, 0); err != nil {
		return Ended{}, false, err
	}
	ended, err = endOf(ctx, env, status)
	return ended, first != "", err
}

// AwaitEnd waits for the end of a command that runs in the background.
func AwaitEnd(ctx context.Context, env Env, commandID string) (Ended, error) {
	f := &follower{env: env, id: commandID, leaveAsking: -1}
	status, err := f.follow(ctx, -1)
	if err != nil {
		return Ended{}, err
	}
	return endOf(ctx, env, status)
}

// endOf puts the end of a command into words.
func endOf(ctx context.Context, env Env, status sandbox.Status) (Ended, error) {
	by, err := stopperOf(ctx, env, status)
	if err != nil {
		return Ended{}, err
	}
	result := Result{}.ended(status, by)
	how := outcome(result, status)
	if result.Status == editors.ItemUnknown {
		how = result.Error
	}
	return Ended{
		How: how, Duration: result.Duration, StoppedBy: by,
		ByItself: status.State == sandbox.StateExited && !status.Killed && !status.TimedOut,
	}, nil
}

// stopper returns who stops a command, "" if nobody does.
func stopper(ctx context.Context, env Env, commandID string) (string, error) {
	var plan stopPlan
	_, err := loadPlan(ctx, env, stopKey(commandID), &plan)
	return plan.By, err
}

// stopperOf returns which user stopped a command, "" if it ended otherwise.
func stopperOf(ctx context.Context, env Env, status sandbox.Status) (string, error) {
	if !status.Killed {
		return "", nil
	}
	return stopper(ctx, env, status.ID)
}

// stoppedFirst tells that a command was stopped before it ran.
func stoppedFirst(by string) string {
	return "Stopped by the user (" + by + ") before it started: it did not run."
}

// start starts the command of a call, unless a user has stopped it before.
func (f *follower) start(ctx context.Context, cmd sandbox.Command) (stoppedBy string, err error) {
	by, err := stopper(ctx, f.env, f.id)
	if err != nil {
		return "", err
	}
	if by != "" { // it may have run all the same
		_, err := f.env.Sandbox.Wait(ctx, f.id, sandbox.Offsets{}, 0)
		if sandbox.ClassOf(err) == sandbox.ClassNotFound {
			return by, nil
		}
		return "", err
	}
	if err := f.env.Sandbox.Start(ctx, f.id, cmd); err != nil {
		return "", err
	}
	if by, err = stopper(ctx, f.env, f.id); by == "" || err != nil {
		return "", err
	}
	return "", f.env.Sandbox.Kill(ctx, f.id)
}
