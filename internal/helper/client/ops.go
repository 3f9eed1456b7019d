// This file has one method for each operation, checking what comes back against what was asked.

package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

// Start implements sandbox.Sandbox.
func (c *Client) Start(ctx context.Context, id string, cmd sandbox.Command) error {
	if err := sandbox.CheckID("start command", id); err != nil { // JSON would change it
		return err
	}
	if len(cmd.Script) > wire.MaxScript {
		return sandbox.Errorf(sandbox.ClassLimit, "start command", "the script has more than %d bytes", wire.MaxScript)
	}
	env := append(append([]string{}, c.opts.Env...), cmd.Env...)
	for _, pair := range env {
		if name, _, ok := strings.Cut(pair, "="); !ok || name == "" {
			return sandbox.Errorf(sandbox.ClassInvalid, "start command", "environment entries must have the form NAME=value")
		}
	}
	_, err := c.call(ctx, wire.OpStart, wire.StartArgs{
		ID: id, Argv: wire.Texts(cmd.Argv), Dir: wire.Text(cmd.Dir), Env: wire.Texts(env),
		Stdin: cmd.Stdin, TTY: cmd.TTY, Rows: cmd.Rows, Cols: cmd.Cols, Timeout: cmd.Timeout, OutputCap: cmd.OutputCap,
	}, []byte(cmd.Script), nil)
	return err
}

// Wait implements sandbox.Sandbox.
func (c *Client) Wait(ctx context.Context, id string, after sandbox.Offsets, atMost time.Duration) (sandbox.Status, error) {
	var st sandbox.Status
	_, err := c.call(ctx, wire.OpWait, wire.WaitArgs{ID: id, After: after, AtMost: atMost}, nil, &st)
	if err != nil {
		return sandbox.Status{}, err
	}
	return st, checkStatus(st, id)
}

func checkStatus(st sandbox.Status, id string) error {
	switch st.State {
	case sandbox.StateRunning, sandbox.StateExited, sandbox.StateLost:
	default:
		return lie("wait", fmt.Sprintf("the state %.40q", st.State))
	}
	if id != "" && st.ID != id {
		return lie("wait", "the status of another command")
	}
	if st.Total.Stdout < 0 || st.Total.Stderr < 0 {
		return lie("wait", "a negative size")
	}
	return nil
}

// lie reports an answer that cannot be true.
func lie(op, what string) error {
	return sandbox.Errorf(sandbox.ClassCorrupt, op, "the helper reported %s", what)
}

// Output implements sandbox.Sandbox.
func (c *Client) Output(ctx context.Context, id string, stream sandbox.Stream, offset int64, n int) (sandbox.Chunk, error) {
	var r wire.OutputResult
	n = min(n, wire.MaxOutput)
	data, err := c.call(ctx, wire.OpOutput, wire.OutputArgs{ID: id, Stream: stream, Offset: offset, N: n}, nil, &r)
	if err != nil {
		return sandbox.Chunk{}, err
	}
	if len(data) > n || r.Offset < offset || (len(data) > 0 && r.Offset > r.Total-int64(len(data))) {
		return sandbox.Chunk{}, lie("read output", "a range that was not asked for")
	}
	return sandbox.Chunk{Data: data, Offset: r.Offset, Total: r.Total, EOF: r.EOF}, nil
}

// Input implements sandbox.Sandbox.
func (c *Client) Input(ctx context.Context, id string, data []byte, eof bool) error {
	if len(data) > wire.MaxInput {
		return sandbox.Errorf(sandbox.ClassLimit, "write input", "at most %d bytes can be written at a time", wire.MaxInput)
	}
	_, err := c.call(ctx, wire.OpInput, wire.InputArgs{ID: id, EOF: eof}, data, nil)
	return err
}

// Resize implements sandbox.Sandbox.
func (c *Client) Resize(ctx context.Context, id string, rows, cols uint16) error {
	_, err := c.call(ctx, wire.OpResize, wire.ResizeArgs{ID: id, Rows: rows, Cols: cols}, nil, nil)
	return err
}

// Kill implements sandbox.Sandbox.
func (c *Client) Kill(ctx context.Context, id string) error {
	_, err := c.call(ctx, wire.OpKill, wire.IDArgs{ID: id}, nil, nil)
	return err
}

// Commands implements sandbox.Sandbox.
func (c *Client) Commands(ctx context.Context) ([]sandbox.Status, error) {
	var out []sandbox.Status
	if _, err := c.call(ctx, wire.OpCommands, struct{}{}, nil, &out); err != nil {
		return nil, err
	}
	for _, st := range out {
		if err := checkStatus(st, ""); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ReadFile implements sandbox.Sandbox.
func (c *Client) ReadFile(ctx context.Context, path string, offset int64, n int) (sandbox.FileContent, error) {
	var r wire.ReadResult
	n = min(n, wire.MaxRead)
	data, err := c.call(ctx, wire.OpRead, wire.PathArgs{Path: wire.Text(path), Offset: offset, N: n}, nil, &r)
	if err != nil {
		return sandbox.FileContent{}, err
	}
	if len(data) > n || r.Size < 0 {
		return sandbox.FileContent{}, lie("read file", "more than was asked for")
	}
	return sandbox.FileContent{Data: data, Size: r.Size, Mode: r.Mode, Hash: r.Hash}, nil
}

// Stat implements sandbox.Sandbox.
func (c *Client) Stat(ctx context.Context, path string) (sandbox.Entry, error) {
	var e wire.Entry
	_, err := c.call(ctx, wire.OpStat, wire.PathArgs{Path: wire.Text(path)}, nil, &e)
	return entry(e), err
}

func entry(e wire.Entry) sandbox.Entry {
	return sandbox.Entry{Path: string(e.Path), Mode: e.Mode, Size: e.Size, Mtime: e.Mtime, Target: string(e.Target)}
}

// List implements sandbox.Sandbox.
func (c *Client) List(ctx context.Context, path string, depth, limit int) (sandbox.Listing, error) {
	var r wire.ListResult
	if _, err := c.call(ctx, wire.OpList, wire.PathArgs{Path: wire.Text(path), Depth: depth, Limit: limit}, nil, &r); err != nil {
		return sandbox.Listing{}, err
	}
	out := sandbox.Listing{Truncated: r.Truncated, Entries: make([]sandbox.Entry, len(r.Entries))}
	for i, e := range r.Entries {
		out.Entries[i] = entry(e)
	}
	return out, nil
}

// Search implements sandbox.Sandbox.
func (c *Client) Search(ctx context.Context, q sandbox.Query) (sandbox.SearchResult, error) {
	var r wire.SearchResult
	_, err := c.call(ctx, wire.OpSearch, wire.SearchArgs{
		Path: wire.Text(q.Path), Pattern: wire.Text(q.Pattern), Literal: q.Literal, Glob: wire.Text(q.Glob), Hidden: q.Hidden, Limit: q.Limit,
	}, nil, &r)
	if err != nil {
		return sandbox.SearchResult{}, err
	}
	out := sandbox.SearchResult{Truncated: r.Truncated, Skipped: r.Skipped, Matches: make([]sandbox.Match, len(r.Matches))}
	for i, m := range r.Matches {
		out.Matches[i] = sandbox.Match{Path: string(m.Path), Line: m.Line, Text: string(m.Text)}
	}
	return out, nil
}

// Apply implements sandbox.Sandbox.
func (c *Client) Apply(ctx context.Context, id string, edits []sandbox.Edit) error {
	if err := sandbox.CheckID("apply edits", id); err != nil {
		return err
	}
	args := wire.ApplyArgs{ID: id, Edits: make([]wire.Edit, len(edits))}
	var body []byte
	for i, e := range edits {
		args.Edits[i] = wire.Edit{Path: wire.Text(e.Path), Before: e.Before, Delete: e.Delete, Size: len(e.Content), Mode: e.Mode}
		body = append(body, e.Content...)
	}
	_, err := c.call(ctx, wire.OpApply, args, body, nil)
	return err
}

// Health implements sandbox.Sandbox.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.call(ctx, wire.OpPing, struct{}{}, nil, nil)
	return err
}

// Shutdown kills every command and makes the helper leave.
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := c.call(ctx, wire.OpShutdown, struct{}{}, nil, nil)
	return err
}
