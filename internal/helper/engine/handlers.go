// This file maps the operations of the protocol to the engine's methods.

package engine

import (
	"context"
	"encoding/json"
	"time"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const (
	maxOutput = 1 << 20 // bytes of one Output
	maxWait   = 10 * time.Minute
)

type handler func(ctx context.Context, e *Engine, args json.RawMessage, body []byte) (result any, reply []byte, err error)

var handlers = map[string]handler{
	wire.OpPing:     func(context.Context, *Engine, json.RawMessage, []byte) (any, []byte, error) { return nil, nil, nil },
	wire.OpStart:    with(handleStart),
	wire.OpWait:     with(handleWait),
	wire.OpOutput:   with(handleOutput),
	wire.OpInput:    with(handleInput),
	wire.OpResize:   with(handleResize),
	wire.OpKill:     with(handleKill),
	wire.OpCommands: with(handleCommands),
	wire.OpRead:     with(handleRead),
	wire.OpStat:     with(handleStat),
	wire.OpList:     with(handleList),
	wire.OpSearch:   with(handleSearch),
	wire.OpApply:    with(handleApply),

	wire.OpScan:         with(handleScan),
	wire.OpScanNext:     with(handleScanNext),
	wire.OpScanEnd:      with(handleScanEnd),
	wire.OpChange:       with(handleChange),
	wire.OpChangePut:    with(handleChangePut),
	wire.OpChangeCommit: with(handleChangeCommit),
	wire.OpChangeAbort:  with(handleChangeAbort),
}

// with decodes the arguments of a handler.
func with[A any](h func(ctx context.Context, e *Engine, args A, body []byte) (any, []byte, error)) handler {
	return func(ctx context.Context, e *Engine, raw json.RawMessage, body []byte) (any, []byte, error) {
		var args A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, nil, &sandbox.Error{Class: sandbox.ClassInvalid, Op: "serve", Message: "the arguments are malformed", Err: err}
			}
		}
		return h(ctx, e, args, body)
	}
}

func handleStart(ctx context.Context, e *Engine, a wire.StartArgs, body []byte) (any, []byte, error) {
	return nil, nil, e.Start(ctx, a.ID, sandbox.Command{
		Script: string(body), Argv: wire.Strings(a.Argv), Dir: string(a.Dir), Env: wire.Strings(a.Env),
		Stdin: a.Stdin, TTY: a.TTY, Rows: a.Rows, Cols: a.Cols, Timeout: a.Timeout, OutputCap: a.OutputCap,
	})
}

func handleWait(ctx context.Context, e *Engine, a wire.WaitArgs, _ []byte) (any, []byte, error) {
	c, err := e.find(ctx, "wait", a.ID)
	if err != nil {
		return nil, nil, err
	}
	st, err := c.wait(ctx, a.After, min(a.AtMost, maxWait))
	return st, nil, err
}

func handleOutput(ctx context.Context, e *Engine, a wire.OutputArgs, _ []byte) (any, []byte, error) {
	if a.Offset < 0 || a.N < 0 || (a.Stream != sandbox.Stdout && a.Stream != sandbox.Stderr) {
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, "read output", "there is no such stream or range")
	}
	c, err := e.find(ctx, "read output", a.ID)
	if err != nil {
		return nil, nil, err
	}
	chunk, err := c.output(a.Stream, a.Offset, min(a.N, maxOutput))
	return wire.OutputResult{Offset: chunk.Offset, Total: chunk.Total, EOF: chunk.EOF}, chunk.Data, err
}

func handleInput(ctx context.Context, e *Engine, a wire.InputArgs, body []byte) (any, []byte, error) {
	c, err := e.find(ctx, opInput, a.ID)
	if err != nil {
		return nil, nil, err
	}
	if c.input == nil {
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, opInput, "the command takes no input: start it with stdin or a terminal")
	}
	if c.snapshot().State != sandbox.StateRunning { // others of its tree may still hold its input
		return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, opInput, "the command has ended")
	}
	if err := c.input.put(body, a.EOF); err != nil {
		return nil, nil, err
	}
	if len(body) > 0 || a.EOF {
		c.given()
	}
	return nil, nil, nil
}

func handleResize(ctx context.Context, e *Engine, a wire.ResizeArgs, _ []byte) (any, []byte, error) {
	c, err := e.find(ctx, opResize, a.ID)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, c.resize(a.Rows, a.Cols)
}

func handleKill(ctx context.Context, e *Engine, a wire.IDArgs, _ []byte) (any, []byte, error) {
	c, err := e.find(ctx, "kill command", a.ID)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, c.kill(ctx, false)
}

func handleCommands(_ context.Context, e *Engine, _ struct{}, _ []byte) (any, []byte, error) {
	out := []sandbox.Status{}
	for _, c := range e.live() {
		select {
		case <-c.ready:
		default:
			continue // being started
		}
		if st := c.snapshot(); st.State == sandbox.StateRunning || st.Left > 0 {
			out = append(out, st)
		}
	}
	return out, nil, nil
}

func handleRead(ctx context.Context, e *Engine, a wire.PathArgs, _ []byte) (any, []byte, error) {
	f, err := e.ReadFile(ctx, string(a.Path), a.Offset, a.N)
	return wire.ReadResult{Size: f.Size, Mode: f.Mode, Hash: f.Hash}, f.Data, err
}

func handleStat(ctx context.Context, e *Engine, a wire.PathArgs, _ []byte) (any, []byte, error) {
	entry, err := e.Stat(ctx, string(a.Path))
	return toWire(entry), nil, err
}

func handleList(ctx context.Context, e *Engine, a wire.PathArgs, _ []byte) (any, []byte, error) {
	l, err := e.List(ctx, string(a.Path), a.Depth, a.Limit)
	out := wire.ListResult{Truncated: l.Truncated, Entries: make([]wire.Entry, len(l.Entries))}
	for i, entry := range l.Entries {
		out.Entries[i] = toWire(entry)
	}
	return out, nil, err
}

func toWire(e sandbox.Entry) wire.Entry {
	return wire.Entry{Path: wire.Text(e.Path), Mode: e.Mode, Size: e.Size, Mtime: e.Mtime, Target: wire.Text(e.Target)}
}

func handleSearch(ctx context.Context, e *Engine, a wire.SearchArgs, _ []byte) (any, []byte, error) {
	r, err := e.Search(ctx, sandbox.Query{
		Path: string(a.Path), Pattern: string(a.Pattern), Literal: a.Literal, Glob: string(a.Glob), Hidden: a.Hidden, Limit: a.Limit,
	})
	out := wire.SearchResult{Truncated: r.Truncated, Skipped: r.Skipped, Matches: make([]wire.Match, len(r.Matches))}
	for i, m := range r.Matches {
		out.Matches[i] = wire.Match{Path: wire.Text(m.Path), Line: m.Line, Text: wire.Text(m.Text)}
	}
	return out, nil, err
}

func handleApply(ctx context.Context, e *Engine, a wire.ApplyArgs, body []byte) (any, []byte, error) {
	edits := make([]sandbox.Edit, len(a.Edits))
	for i, w := range a.Edits {
		if w.Size < 0 || w.Size > len(body) {
			return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, opApply, "the contents are shorter than announced")
		}
		edits[i] = sandbox.Edit{Path: string(w.Path), Before: w.Before, Delete: w.Delete, Content: body[:w.Size], Mode: w.Mode}
		body = body[w.Size:]
	}
	return nil, nil, e.Apply(ctx, a.ID, edits)
}
