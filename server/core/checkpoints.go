// This file holds the commands on checkpoints, which this host's worker answers.

package core

import (
	"context"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
)

// The calls on checkpoints that a worker answers on its feed; their params are agent.OnSandbox of the command's.
const (
	CallCheckpoint  = "checkpoint"  // editors.CheckpointParams → editors.CheckpointResult
	CallCheckpoints = "checkpoints" // editors.SessionParams → editors.CheckpointsResult
	CallDiff        = "diff"        // editors.DiffParams → editors.DiffResult
	CallRestore     = "restore"     // editors.RestoreParams → editors.RestoreResult
)

// checkpointTime bounds a command on checkpoints: the first picture of a large folder takes its time.
const checkpointTime = 2 * time.Minute

func (c *Conn) takeCheckpoint(ctx context.Context, p editors.CheckpointParams) (editors.CheckpointResult, error) {
	p.RequestID = newRequestID(p.RequestID)
	return onSandbox[editors.CheckpointResult](ctx, c, "taking a checkpoint", p.SessionID, CallCheckpoint, p, false)
}

func (c *Conn) checkpoints(ctx context.Context, p editors.SessionParams) (editors.CheckpointsResult, error) {
	return onSandbox[editors.CheckpointsResult](ctx, c, "listing the checkpoints", p.SessionID, CallCheckpoints, p, false)
}

func (c *Conn) diff(ctx context.Context, p editors.DiffParams) (editors.DiffResult, error) {
	return onSandbox[editors.DiffResult](ctx, c, "comparing checkpoints", p.SessionID, CallDiff, p, false)
}

func (c *Conn) restore(ctx context.Context, p editors.RestoreParams) (editors.RestoreResult, error) {
	if p.CheckpointID == "" {
		return editors.RestoreResult{}, editors.Errorf(editors.CodeInvalidParams, "checkpointId is empty").WithRemedy("List the checkpoints, and name one.")
	}
	p.RequestID = newRequestID(p.RequestID)
	return onSandbox[editors.RestoreResult](ctx, c, "restoring a checkpoint", p.SessionID, CallRestore, p, !p.DryRun)
}

// onSandbox asks the worker about a session's sandbox. One that changes it must not meet a running turn.
func onSandbox[R, P any](ctx context.Context, c *Conn, what, sessionID, method string, params P, changes bool) (R, error) {
	var result R
	if sessionID == "" {
		return result, noSession()
	}
	v, err := c.core.view(ctx, sessionID, nil)
	if err != nil {
		return result, err
	}
	s := v.Session
	switch {
	case s.HostID != c.core.HostID():
		return result, editors.Errorf(editors.CodeUnsupported, "the session's workspace is on another host").WithRemedy("Do this on that host.")
	case s.State.Status == editors.StatusDestroyed:
		return result, editors.Errorf(editors.CodeNotFound, "the session was destroyed").WithRemedy(remedyNewSession)
	case changes && midTurn(s.State.Status):
		return result, editors.Errorf(editors.CodeBusy, "turn %d is running in this workspace", s.TurnID).WithRemedy("Wait for its end, or interrupt it.")
	}
	folder, err := folderPath(s.WorkspaceFolder)
	if err != nil {
		return result, err
	}
	call := agent.OnSandbox[P]{Params: params, Sandbox: agent.Sandbox{
		SessionID: s.ID, Owner: c.core.opts.Config.Owner, HostID: s.HostID, Folder: folder, Backend: s.Backend, Epoch: s.Epoch,
	}}
	err = bounded(ctx, checkpointTime, func(ctx context.Context) error { return c.core.live.await(ctx, method, call, &result) })
	if err != nil {
		var none R
		return none, asError(what, err)
	}
	return result, nil
}

func midTurn(s editors.Status) bool {
	switch s {
	case editors.StatusRunning, editors.StatusWaitingApproval, editors.StatusSwitching, editors.StatusRecovering:
		return true
	}
	return false
}
