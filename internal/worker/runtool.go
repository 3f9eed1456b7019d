// This file runs a tool call for a session, once, however often it is asked to.

package worker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/tools"
)

// How long a sandbox that is unavailable is waited for before the call is reported as failed.
const (
	openTries = 5
	openPause = 2 * time.Second
)

// RunTool runs a call under its effect id. A repeated id finds the first run again.
func (a *Activities) RunTool(ctx context.Context, in agent.RunToolInput) (agent.RunToolResult, error) {
	defer a.working()()
	live := &liveOutput{live: a.Live, in: in}
	defer beat(ctx, live.tail)()
	defer a.Live.Forget(in.SessionID, in.ItemID)
	call, err := a.toolCall(ctx, in)
	if err != nil {
		return agent.RunToolResult{}, err
	}
	sb, err := a.openPatiently(ctx, in.Sandbox)
	if err != nil {
		return a.notRun(ctx, err)
	}
	if in.Stop {
		if ran, err := end(ctx, sb, in.EffectID); err != nil || !ran {
			return a.neverRan(ctx, err)
		}
	}
	tctx, cancel := untilStop(ctx, tools.ErrDetach)
	defer cancel()
	defer a.running.add(in.ItemID, in.SessionID, runningCommand{sb, in.EffectID})()
	res, err := tools.Run(tctx, tools.Env{Sandbox: sb, Blobs: a.Blobs, Plans: a.plans(in.SessionID), OnOutput: live.output}, call)
	switch {
	case err != nil && stopping(ctx):
		return agent.RunToolResult{}, workerStopped()
	case err != nil && ctx.Err() != nil:
		return agent.RunToolResult{}, temporal.NewCanceledError()
	case err != nil:
		return a.unclear(ctx, err)
	}
	if in.Stop && res.Status == editors.ItemCompleted && res.Error == "" {
		res.Status = editors.ItemInterrupted
	}
	return a.outcome(ctx, res)
}

func (a *Activities) toolCall(ctx context.Context, in agent.RunToolInput) (tools.Call, error) {
	call := tools.Call{EffectID: in.EffectID, Name: in.Call.Tool, Arguments: in.Call.Arguments}
	if in.Call.Ref == "" {
		return call, nil
	}
	data, err := blob.ReadAll(ctx, a.Blobs, blob.Ref(in.Call.Ref), maxText)
	call.Arguments = string(data)
	return call, err
}

// openPatiently opens the session's sandbox, waiting a little for one that is unavailable.
func (a *Activities) openPatiently(ctx context.Context, in agent.Sandbox) (sandbox.Sandbox, error) {
	var err error
	for range openTries {
		var sb sandbox.Sandbox
		if sb, err = a.open(ctx, in); err == nil || sandbox.ClassOf(err) != sandbox.ClassUnavailable {
			return sb, err
		}
		select {
		case <-time.After(openPause):
		case <-ctx.Done():
			return nil, err
		}
	}
	return nil, err
}

// end kills what runs under an effect id and tells whether it ever ran.
func end(ctx context.Context, sb sandbox.Sandbox, id string) (bool, error) {
	err := sb.Kill(ctx, id)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return false, nil
	}
	return true, err
}

func (a *Activities) neverRan(ctx context.Context, err error) (agent.RunToolResult, error) {
	if err != nil {
		return a.unclear(ctx, err)
	}
	return a.outcome(ctx, tools.Result{Status: editors.ItemInterrupted, ForModel: "The user interrupted the turn before this call ran."})
}

// notRun reports a call that could not start because there is no sandbox.
func (a *Activities) notRun(ctx context.Context, err error) (agent.RunToolResult, error) {
	text := "The sandbox could not be opened, nothing was run: " + plain(err)
	return a.outcome(context.WithoutCancel(ctx), tools.Result{Status: editors.ItemFailed, Error: text, ForModel: text})
}

// unclear reports a call whose outcome nobody can tell.
func (a *Activities) unclear(ctx context.Context, err error) (agent.RunToolResult, error) {
	text := "The outcome of this call is unknown, and it was not repeated: " + plain(err)
	return a.outcome(ctx, tools.Result{Status: editors.ItemUnknown, Error: text, ForModel: text})
}

func plain(err error) string {
	var e *sandbox.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// outcome stores what the model gets and returns what the item shows.
func (a *Activities) outcome(ctx context.Context, res tools.Result) (agent.RunToolResult, error) {
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	ref, err := blob.PutAll(keep, a.Blobs, []byte(res.ForModel))
	if err != nil {
		return agent.RunToolResult{}, err
	}
	return agent.RunToolResult{
		Status: res.Status, ModelRef: string(ref), ExitCode: res.ExitCode, Cwd: res.Cwd, Output: res.Output, Diff: res.Diff, DiffBytes: res.DiffBytes,
		Files: firstFiles(res.Files), Error: tools.Head(res.Error, 1000), Refs: res.Refs, DurationMs: res.Duration.Milliseconds(),
	}, nil
}

// firstFiles bounds what an item lists; the diff names them all.
func firstFiles(files []editors.FileChange) []editors.FileChange { return files[:min(len(files), 100)] }

// liveOutput passes a command's output on while it runs, and remembers its end for editors without a feed.
type liveOutput struct {
	live Live
	in   agent.RunToolInput

	mu     sync.Mutex
	last   bytes.Buffer // of the stream seen last
	stream string
	offset map[string]int64
}

func (l *liveOutput) output(stream string, data []byte) {
	l.live.Publish(feed.Frame{Session: l.in.SessionID, Item: l.in.ItemID, Seq: l.in.ItemSeq, Attempt: l.in.Attempt, Stream: stream, Data: data})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.offset == nil {
		l.offset = map[string]int64{}
	}
	if stream != l.stream {
		l.last.Reset()
		l.stream = stream
	}
	l.offset[stream] += int64(len(data))
	l.last.Write(data)
	if over := l.last.Len() - maxTail; over > 0 {
		l.last.Next(over)
	}
}

func (l *liveOutput) tail() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return agent.HeartbeatTail{
		ItemID: l.in.ItemID, Seq: l.in.ItemSeq, Attempt: l.in.Attempt, Stream: l.stream,
		Offset: l.offset[l.stream] - int64(l.last.Len()), Tail: strings.ToValidUTF8(l.last.String(), ""),
	}
}

// runningCommand is a command whose output can be read before it ends.
type runningCommand struct {
	sandbox sandbox.Sandbox
	id      string
}

// registry finds running commands by session and item. Its zero value is empty.
type registry struct {
	mu   sync.Mutex
	cmds map[[2]string]runningCommand
}

func (r *registry) add(item, session string, c runningCommand) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmds == nil {
		r.cmds = map[[2]string]runningCommand{}
	}
	key := [2]string{session, item}
	r.cmds[key] = c
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cmds, key)
	}
}

func (r *registry) get(item, session string) (runningCommand, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.cmds[[2]string{session, item}]
	return c, ok
}
