// This file holds the commands on checkpoints, which this host's worker answers.

package core

import (
	"context"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// The calls on checkpoints that a worker answers on its feed; their params are agent.OnSandbox of these.
const (
	CallCheckpoint  = "checkpoint"  // editors.CheckpointParams → editors.CheckpointResult
	CallCheckpoints = "checkpoints" // editors.SessionParams → editors.CheckpointsResult
	CallDiff        = "diff"        // editors.DiffParams → editors.DiffResult
	CallReadFile    = "readFile"    // editors.ReadFileParams → editors.ReadFileResult
	CallRestore     = "restore"     // agent.RestoreInput → editors.RestoreResult; of a dry run
)

// checkpointTime bounds a command on checkpoints: the first picture of a large folder takes its time.
const checkpointTime = 2 * time.Minute

// takeCheckpoint has the worker take one, and then the session tell everybody of it.
func (c *Conn) takeCheckpoint(ctx context.Context, p editors.CheckpointParams) (editors.CheckpointResult, error) {
	if err := checkLength("summary", p.Summary); err != nil {
		return editors.CheckpointResult{}, err
	}
	p.RequestID = newRequestID(p.RequestID)
	result, err := onSandbox[editors.CheckpointResult](ctx, c, "taking a checkpoint", p.SessionID, CallCheckpoint, p)
	if err != nil {
		return result, err
	}
	taken := agent.TakenInput{RequestID: p.RequestID, Checkpoint: result.Checkpoint}
	_, err = change(ctx, c, "telling of the checkpoint", p.SessionID, agent.UpdateTaken, p.RequestID, taken,
		func(r agent.SeqResult) int64 { return r.Seq })
	return result, err
}

func (c *Conn) checkpoints(ctx context.Context, p editors.SessionParams) (editors.CheckpointsResult, error) {
	return onSandbox[editors.CheckpointsResult](ctx, c, "listing the checkpoints", p.SessionID, CallCheckpoints, p)
}

func (c *Conn) diff(ctx context.Context, p editors.DiffParams) (editors.DiffResult, error) {
	return onSandbox[editors.DiffResult](ctx, c, "comparing checkpoints", p.SessionID, CallDiff, p)
}

func (c *Conn) readFile(ctx context.Context, p editors.ReadFileParams) (editors.ReadFileResult, error) {
	return onSandbox[editors.ReadFileResult](ctx, c, "reading a file of a checkpoint", p.SessionID, CallReadFile, p)
}

// restore changes the workspace, so that it is the session's workflow that does it; a dry run only looks.
func (c *Conn) restore(ctx context.Context, p editors.RestoreParams) (editors.RestoreResult, error) {
	if p.CheckpointID == "" {
		return editors.RestoreResult{}, editors.Errorf(editors.CodeInvalidParams, "checkpointId is empty").WithRemedy("List the checkpoints, and name one.")
	}
	const what = "restoring a checkpoint"
	v, err := c.core.here(ctx, p.SessionID)
	if err != nil {
		return editors.RestoreResult{}, err
	}
	place, err := c.core.sandboxOf(v)
	if err != nil {
		return editors.RestoreResult{}, err
	}
	held, err := unsavedIn(ctx, onDisk(place))
	if err != nil {
		return editors.RestoreResult{}, err
	}
	p.RequestID = newRequestID(p.RequestID)
	in := agent.RestoreInput{RestoreParams: p, Held: held}
	if p.DryRun {
		return askWorker[editors.RestoreResult](ctx, c, what, v, CallRestore, in)
	}
	return carry(ctx, c, what, v, agent.UpdateRestore, p.RequestID, in,
		func(r editors.RestoreResult) int64 { return r.Seq })
}

// onSandbox asks the worker about a session's sandbox.
func onSandbox[R, P any](ctx context.Context, c *Conn, what, sessionID, method string, params P) (R, error) {
	v, err := c.core.here(ctx, sessionID)
	if err != nil {
		var none R
		return none, err
	}
	return askWorker[R](ctx, c, what, v, method, params)
}

// askWorker asks this host's worker about the sandbox of a session that is here.
func askWorker[R, P any](ctx context.Context, c *Conn, what string, v agent.View, method string, params P) (R, error) {
	var result R
	in, err := c.core.sandboxOf(v)
	if err != nil {
		return result, err
	}
	call := agent.OnSandbox[P]{Params: params, Sandbox: in}
	err = bounded(ctx, checkpointTime, func(ctx context.Context) error { return c.core.live.await(ctx, method, call, &result) })
	if err != nil {
		var none R
		return none, asError(what, err)
	}
	return result, nil
}
