// This file runs shell commands: to their end, or until they may be left to go on in the background.

package tools

import (
	"context"
	"errors"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

const (
	maxTimeout      = 2 * time.Hour
	minYield        = 250 * time.Millisecond
	defaultYield    = time.Second
	foreground      = 2 * time.Minute // how long a command is waited for that is to run to its end
	askTime         = 5 * time.Second // how long such a command may wait for input
	minPoll         = 5 * time.Second // of a mere look, so that waiting is not done in many short calls
	defaultPoll     = 5 * time.Second
	maxYield        = 10 * time.Minute
	killTime        = 5 * time.Second  // for a killed command to end
	reportTime      = 20 * time.Second // for reading and keeping the output of one that was interrupted
	maxCommandBytes = 256 << 10
)

// execArgs are the arguments of exec_command.
type execArgs struct {
	Command    string `json:"command"`
	Workdir    string `json:"workdir"`
	TimeoutMs  int64  `json:"timeout_ms"`
	Background bool   `json:"background"`
	TTY        bool   `json:"tty"`
	Network    bool   `json:"network"`
	YieldMs    int64  `json:"yield_ms"`
}

// runExec runs exec_command. What has not ended when its time is over, or asks for input, goes on in the background. The effect id is the command's id, so that a call that is run again finds its command again.
func runExec(ctx context.Context, env Env, call Call) (Result, error) {
	var args execArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	cmd, err := args.command(env)
	if err != nil {
		return Result{}, err
	}
	f := &follower{env: env, id: call.EffectID, tty: args.TTY, deaf: !cmd.Stdin && !cmd.TTY}
	result := Result{Cwd: cmd.Dir, CommandID: f.id}
	limit := yield(args.YieldMs, foreground, minYield)
	f.leaveAsking = askTime
	if args.Background {
		limit, f.leaveAsking = yield(args.YieldMs, defaultYield, minYield), 0
	}
	var status sandbox.Status
	by, err := f.start(ctx, cmd)
	if by != "" {
		return result.stoppedBefore(by), nil
	}
	if err == nil {
		status, err = f.follow(ctx, limit)
	}
	if ctx.Err() != nil && (err != nil || status.State == sandbox.StateRunning) {
		return f.interrupt(ctx, result)
	}
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return result.unknown("the sandbox no longer knows the command"), nil
	}
	if err != nil {
		return Result{}, err
	}
	if status.State == sandbox.StateRunning || args.Background {
		if err := rememberLook(ctx, env, f.id, status.Total); err != nil {
			return Result{}, err
		}
	}
	return f.report(ctx, result, status, sandbox.Offsets{})
}

// command checks the arguments and makes the command of them.
func (a execArgs) command(env Env) (sandbox.Command, error) {
	const op = "run command"
	switch {
	case strings.TrimSpace(a.Command) == "":
		return sandbox.Command{}, sandbox.Errorf(sandbox.ClassInvalid, op, "the command is empty; give a shell command")
	case strings.ContainsRune(a.Command, 0):
		return sandbox.Command{}, sandbox.Errorf(sandbox.ClassInvalid, op, "the command has a NUL byte; give text")
	case len(a.Command) > maxCommandBytes:
		return sandbox.Command{}, sandbox.Errorf(sandbox.ClassLimit, op,
			"the command has more than %d KiB; put its data into a file by apply_patch", maxCommandBytes>>10)
	case a.TimeoutMs < 0 || a.YieldMs < 0:
		return sandbox.Command{}, sandbox.Errorf(sandbox.ClassInvalid, op, "times cannot be negative")
	}
	timeout := min(time.Duration(min(a.TimeoutMs, maxTimeout.Milliseconds()))*time.Millisecond, maxTimeout)
	if timeout == 0 {
		timeout = maxTimeout
	}
	return sandbox.Command{
		Script: a.Command, Dir: relative(env, a.Workdir), Stdin: a.Background, TTY: a.TTY, Network: a.Network, Timeout: timeout,
	}, nil
}

// yield returns how long to wait for a command until it is left to run in the background: as asked, within bounds.
func yield(ms int64, otherwise, least time.Duration) time.Duration {
	if ms <= 0 {
		return otherwise
	}
	return max(time.Duration(min(ms, maxYield.Milliseconds()))*time.Millisecond, least)
}

// interrupt kills the command, because ctx ended, and reports what it had printed. Where the worker is only to let go of it,
// the command stays and an error says so.
func (f *follower) interrupt(ctx context.Context, result Result) (Result, error) {
	if err := detached(ctx); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime+reportTime)
	defer cancel()
	err := f.env.Sandbox.Kill(ctx, f.id)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		result.Status, result.Error = editors.ItemInterrupted, "interrupted before it started"
		result.ForModel = "The command was interrupted before it started: it did not run."
		return result, nil
	}
	if err != nil {
		return result.unknown("it was interrupted, but could not be killed: " + sentence(err)), nil
	}
	status, err := f.follow(ctx, killTime)
	if err != nil {
		return result.unknown("it was killed, but the sandbox does not answer: " + sentence(err)), nil
	}
	if status.State == sandbox.StateRunning {
		return result.unknown("it was killed, but has not ended yet"), nil
	}
	reported, err := f.report(ctx, result, status, sandbox.Offsets{})
	if err != nil {
		result.Status, result.Error = editors.ItemInterrupted, "its output could not be read: "+sentence(err)
		result.ForModel = "The command was interrupted: it and all it started were killed. Its output could not be read.\n"
		return result, nil
	}
	return reported, nil
}

// stoppedBefore says that the command was stopped before it ran.
func (r Result) stoppedBefore(by string) Result {
	r.Status, r.StoppedBy, r.ForModel = editors.ItemInterrupted, by, stoppedFirst(by)
	r.Error = "stopped by " + by + " before it started"
	return r
}

// detached returns an error if ctx ended only to let the worker go.
func detached(ctx context.Context) error {
	if !errors.Is(context.Cause(ctx), ErrDetach) {
		return nil
	}
	return &sandbox.Error{
		Class: sandbox.ClassUnavailable, Op: "run command", Message: "the worker stops while the command goes on", Err: ErrDetach,
	}
}

// unknown makes the result say that nobody can tell whether the command ran to its end.
func (r Result) unknown(why string) Result {
	r.Status = editors.ItemUnknown
	r.Error = "the outcome of the command is unknown; it was not run again"
	r.ForModel = "The outcome of this command is unknown: " + Head(why, 500) + ". It may have run partly or to its end; it was not run again. " +
		"Look at what it should have done before you repeat it.\n"
	return r
}
