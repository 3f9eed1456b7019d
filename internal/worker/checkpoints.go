// This file answers what the servers on this host ask about a session's checkpoints.

package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/carry"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/checkpoint/commands"
	"sandboxagent/internal/sandbox"
)

// The methods on checkpoints. Their params are agent.OnSandbox of the command's.
const (
	MethodCheckpoint  = "checkpoint"  // editors.CheckpointParams → editors.CheckpointResult
	MethodCheckpoints = "checkpoints" // editors.SessionParams → editors.CheckpointsResult
	MethodDiff        = "diff"        // editors.DiffParams → editors.DiffResult
	MethodReadFile    = "readFile"    // editors.ReadFileParams → editors.ReadFileResult
	MethodRestore     = "restore"     // agent.RestoreInput → editors.RestoreResult, of a dry run
)

// onCheckpoints decodes a call and answers it by do.
func onCheckpoints[P, R any](a *Activities, do func(commands.Subject, context.Context, P) (R, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var call agent.OnSandbox[P]
		if err := json.Unmarshal(params, &call); err != nil {
			return nil, editors.Errorf(editors.CodeInvalidParams, "The call is malformed.")
		}
		defer a.working()()
		s, closeIt, err := a.checkpointsOf(call.Sandbox)
		if err != nil {
			return nil, commands.Error(err)
		}
		defer closeIt()
		return do(s, ctx, call.Params)
	}
}

// checkpointsOf returns the checkpoints of a session, whose sandbox is opened when it is needed.
func (a *Activities) checkpointsOf(in agent.Sandbox) (commands.Subject, func(), error) {
	if a.Checkpoints == nil {
		return commands.Subject{}, nil, editors.Errorf(editors.CodeUnsupported, "This worker keeps no checkpoints.")
	}
	store, err := a.Checkpoints()
	if err != nil {
		return commands.Subject{}, nil, err
	}
	var opened []sandbox.Sandbox
	s := commands.Subject{Store: store, Owner: in.Owner, Session: in.SessionID, Held: a.heldIn(in, nil)}
	s.Configure(a.CheckpointWith)
	s.Comes = a.comes(in, store)
	s.Open = func(ctx context.Context) (checkpoint.Workspace, error) {
		sb, err := a.open(ctx, in, func(string) {})
		if err != nil {
			return nil, err
		}
		opened = append(opened, sb)
		return checkpoint.Of(sb)
	}
	return s, func() {
		for _, sb := range opened {
			_ = sb.Close()
		}
	}, nil
}

// TakeCheckpoint pictures a session's workspace. What keeps it from being pictured is a value in the result.
func (a *Activities) TakeCheckpoint(ctx context.Context, in agent.CheckpointInput) (agent.CheckpointOutput, error) {
	defer a.working()()
	defer beat(ctx, func() any { return in.Summary })()
	if a.Checkpoints == nil {
		return agent.CheckpointOutput{}, nil
	}
	tctx, cancel := untilStop(ctx, carry.ErrStopped)
	defer cancel()
	out, err := a.picture(tctx, in)
	if err == nil {
		return out, nil
	}
	if ended := ended(ctx); ended != nil {
		return agent.CheckpointOutput{}, ended
	}
	f := failureOf(err)
	return agent.CheckpointOutput{Failure: plain(err), Code: f.Code}, nil
}

// picture takes a checkpoint and keeps it for the session.
func (a *Activities) picture(ctx context.Context, in agent.CheckpointInput) (agent.CheckpointOutput, error) {
	pin := checkpoint.Ref{
		Owner: in.Owner, Session: in.SessionID, Realm: a.Realm, Turn: in.TurnID, Item: in.ItemID, Lacks: in.Lacks, Reason: reasonOf(in.Reason), Effect: in.Effect,
		Summary: in.Summary, At: time.Now(),
	}
	if in.KeepFor != "" {
		pin.Session = in.KeepFor
	}
	info, err := a.take(ctx, in.Sandbox, &pin)
	if err != nil {
		return agent.CheckpointOutput{}, err
	}
	if in.Unless != "" {
		if err := a.dropUnlessNew(pin, info, in.Unless); err != nil {
			return agent.CheckpointOutput{}, err
		}
	}
	out := agent.CheckpointOutput{
		Checkpoint: &editors.Checkpoint{ID: pin.Checkpoint, TurnID: pin.Turn, ItemID: pin.Item, At: pin.At, Summary: pin.Summary},
		Files:      info.Files, Bytes: info.Bytes,
	}
	for _, n := range info.Notes {
		if !n.Reason.Partial() {
			continue
		}
		if out.MissingAll++; len(out.Missing) < maxMissing {
			out.Missing = append(out.Missing, editors.Skipped{Path: strings.ToValidUTF8(n.Path, "\ufffd"), Reason: n.Reason.String()})
		}
	}
	return out, nil
}

// dropUnlessNew lets a checkpoint go in which nothing differs from another one.
func (a *Activities) dropUnlessNew(pin checkpoint.Ref, info checkpoint.Info, other string) error {
	store, err := a.Checkpoints()
	if err != nil {
		return err
	}
	if known, err := store.Stat(other); err != nil || known.Root != info.Root {
		return nil //nolint:nilerr // what it cannot be compared with, it may differ from
	}
	return store.Unpin(pin)
}

// maxMissing bounds the paths that are told to be missing in a checkpoint.
const maxMissing = 100

// take pictures the workspace of a sandbox, for the moment only unless it is pinned.
func (a *Activities) take(ctx context.Context, in agent.Sandbox, pin *checkpoint.Ref) (checkpoint.Info, error) {
	s, closeIt, err := a.checkpointsOf(in)
	if err != nil {
		return checkpoint.Info{}, err
	}
	defer closeIt()
	refs, err := s.Store.List(in.SessionID, "")
	if err != nil {
		return checkpoint.Info{}, err
	}
	w, err := s.Open(ctx)
	if err != nil {
		return checkpoint.Info{}, err
	}
	o := checkpoint.TakeOptions{Excludes: s.Excludes, Limits: s.Limits, Pin: pin}
	if len(refs) > 0 {
		o.Parent = refs[len(refs)-1].Checkpoint
	}
	return s.Store.Take(ctx, w, o)
}

// reasonOf says what a checkpoint is kept for. Only what is kept for a turn counts as what the agent has seen.
func reasonOf(reason string) checkpoint.Reason {
	switch reason {
	case "", "start":
		return checkpoint.Turn
	case "fork":
		return checkpoint.Fork
	}
	return checkpoint.Carry
}

// releaseCheckpoints lets a session's checkpoints be collected.
func (a *Activities) releaseCheckpoints(sessionID string) error {
	if a.Checkpoints == nil {
		return nil
	}
	store, err := a.Checkpoints()
	if err != nil {
		return err
	}
	return store.Release(sessionID, "")
}

// collectAge spares checkpoints that somebody may be about to refer to.
const collectAge = time.Hour

// collectCheckpoints removes what nothing refers to, as far as the store is over its quota.
func (a *Activities) collectCheckpoints(ctx context.Context, log *slog.Logger) {
	store, err := a.Checkpoints()
	if err == nil {
		_, err = store.GC(ctx, checkpoint.GCOptions{Grace: collectAge})
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("checkpoints not collected", "error", err)
	}
}
