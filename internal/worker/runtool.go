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
	if in.Call.External != nil {
		return a.callServer(ctx, in, call, live)
	}
	tctx, cancel := untilStop(ctx, tools.ErrDetach)
	defer cancel()
	begun := in.Stop || in.Attempt > 1 // it may have had its effect
	for try := 1; ; try++ {
		res, reached, err := a.try(tctx, in, call, live)
		begun = begun || reached
		switch {
		case err == nil:
			return a.outcome(ctx, res)
		case stopping(ctx):
			return agent.RunToolResult{}, workerStopped()
		case ctx.Err() != nil:
			return agent.RunToolResult{}, temporal.NewCanceledError()
		case !again(err) || try >= triesOf(begun):
			return a.outcome(ctx, given(call, err, begun, live))
		}
		select {
		case <-time.After(pause):
		case <-tctx.Done():
		}
	}
}

// How often, and after which pause, a call is tried whose sandbox is unavailable or whose outcome is not yet known. Trying
// again is safe: the effect id stays. For what was begun it is worth to wait until an engine was started again.
const (
	maxTries   = 5
	begunTries = 20
	pause      = 2 * time.Second
)

func triesOf(begun bool) int {
	if begun {
		return begunTries
	}
	return maxTries
}

func again(err error) bool {
	class := sandbox.ClassOf(err)
	return class == sandbox.ClassUnavailable || class == sandbox.ClassUnknown
}

// try opens the sandbox and runs the call in it, or, for a turn that was interrupted, ends what it has begun. reached: the
// sandbox was there, so that the call may have begun.
func (a *Activities) try(ctx context.Context, in agent.RunToolInput, call tools.Call, live *liveOutput) (res tools.Result, reached bool, err error) {
	sb, err := a.open(ctx, in.Sandbox, live.note)
	if err != nil {
		return tools.Result{}, false, err
	}
	defer sb.Close()
	live.kept.again() // a call that is found again tells its output from its beginning
	env := tools.Env{Sandbox: sb, Blobs: a.Blobs, Plans: a.plans(in.SessionID), OnOutput: live.output}
	if err = a.withEditors(ctx, in.Sandbox, &env); err != nil {
		return tools.Result{}, false, err
	}
	if in.Stop {
		res, err = stop(ctx, env, call)
		return res, true, err
	}
	env.OnQuiet = func(q tools.Quiet) { a.tellQuiet(ctx, in, q) }
	defer a.running.add(in.ItemID, in.SessionID, runningCommand{sb, in.EffectID})()
	res, err = tools.Run(ctx, env, call)
	return res, true, err
}

// stop ends what the call has begun, if anything, and reports it.
func stop(ctx context.Context, env tools.Env, call tools.Call) (tools.Result, error) {
	begun, err := tools.Begun(ctx, env, call)
	if err != nil {
		return tools.Result{}, err
	}
	if !begun {
		return tools.Result{Status: editors.ItemInterrupted, ForModel: "The user interrupted the turn before this call ran."}, nil
	}
	err = env.Sandbox.Kill(ctx, call.EffectID)
	if err != nil && sandbox.ClassOf(err) != sandbox.ClassNotFound { // not every call is a command
		return tools.Result{}, err
	}
	return tools.Run(ctx, env, call)
}

// given is the result of a call given up on. What only reads, or never reached its sandbox, has simply failed. Of what was
// begun, the output that came is kept.
func given(call tools.Call, err error, begun bool, live *liveOutput) tools.Result {
	text := plain(err)
	if tools.ReadOnly(call.Name) || !begun && sandbox.ClassOf(err) != sandbox.ClassUnknown {
		return tools.Result{Status: editors.ItemFailed, Error: text, ForModel: "Error: " + text}
	}
	text = "The outcome of this call is unknown, and it was not repeated: " + text
	res := tools.Result{Status: editors.ItemUnknown, Error: text, ForModel: "Error: " + text}
	if printed := live.kept.preview(); printed != nil {
		res.Output = printed
		res.ForModel += "\nThe end of its output until then:\n" + printed.Head
	}
	return res
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
		Files: firstFiles(res.Files), Error: tools.Head(res.Error, 1000), Refs: res.Refs, Images: res.Images, DurationMs: res.Duration.Milliseconds(),
		CommandID: res.CommandID, Running: res.Running, StoppedBy: res.StoppedBy,
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
	kept   printed
}

func (l *liveOutput) output(stream string, data []byte) {
	l.kept.add(stream, data)
	l.publish(stream, data)
}

func (l *liveOutput) publish(stream string, data []byte) {
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

// note shows what is done before the call can run. It is no part of the call's output, which the ended item has.
func (l *liveOutput) note(text string) { l.publish(string(sandbox.Stderr), []byte("["+text+"]\n")) }

func (l *liveOutput) tail() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return agent.HeartbeatTail{
		ItemID: l.in.ItemID, Seq: l.in.ItemSeq, Attempt: l.in.Attempt, Stream: l.stream,
		Offset: l.offset[l.stream] - int64(l.last.Len()), Tail: strings.ToValidUTF8(l.last.String(), ""),
	}
}

// printed keeps the end of what a call printed, for when its outcome cannot be found out. Its zero value is empty.
type printed struct {
	mu     sync.Mutex
	end    []byte
	total  int64
	stream string // the last one
	anew   bool   // what comes next comes in place of what is here
}

func (p *printed) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.anew = true
}

func (p *printed) add(stream string, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.anew {
		p.end, p.total, p.anew = nil, 0, false
	}
	p.end, p.total, p.stream = append(p.end, data...), p.total+int64(len(data)), stream
	p.end = bytes.Clone(p.end[max(0, len(p.end)-maxTail):])
}

// preview returns nil when nothing was printed.
func (p *printed) preview() *editors.Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 {
		return nil
	}
	return &editors.Output{Head: strings.ToValidUTF8(string(p.end), ""), TotalBytes: p.total, Stream: p.stream}
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
