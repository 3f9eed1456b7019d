// This file changes the workspace as a restore asks for.

package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

const opChange = "restore"

func handleChange(ctx context.Context, e *Engine, _ struct{}, body []byte) (any, []byte, error) {
	c, err := worktree.DecodeSteps(body)
	if err != nil {
		return nil, nil, &sandbox.Error{Class: sandbox.ClassInvalid, Op: opChange, Message: "the steps are malformed", Err: err}
	}
	b, err := e.tree.Begin(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	out := wire.Begun{FoldsCase: b.FoldsCase, FoldsForm: b.FoldsForm}
	if b.Outcome == nil {
		return out, nil, nil
	}
	out.Made = true
	return encodeOutcome(out, *b.Outcome)
}

func encodeOutcome(result any, o worktree.Outcome) (any, []byte, error) {
	b, err := json.Marshal(worktree.ToWire(o))
	if err != nil {
		return nil, nil, fmt.Errorf("encode outcome: %w", err)
	}
	return result, b, nil
}

func handleChangePut(ctx context.Context, e *Engine, a wire.ChangePutArgs, body []byte) (any, []byte, error) {
	if len(a.Pieces) > wire.MaxPieces {
		return nil, nil, sandbox.Errorf(sandbox.ClassLimit, opChange, "more than %d pieces at a time", wire.MaxPieces)
	}
	pieces := make([]worktree.Piece, len(a.Pieces))
	for i, p := range a.Pieces {
		if p.Size < 0 || p.Size > len(body) {
			return nil, nil, sandbox.Errorf(sandbox.ClassInvalid, opChange, "the contents are shorter than announced")
		}
		pieces[i] = worktree.Piece{Step: p.Step, Offset: p.Offset, Data: body[:p.Size], Last: p.Last}
		body = body[p.Size:]
	}
	return nil, nil, e.tree.Put(ctx, a.ID, pieces)
}

func handleChangeCommit(ctx context.Context, e *Engine, a wire.IDArgs, _ []byte) (any, []byte, error) {
	o, err := e.tree.Commit(ctx, a.ID)
	if err != nil {
		return nil, nil, err
	}
	return encodeOutcome(nil, o)
}

func handleChangeAbort(ctx context.Context, e *Engine, a wire.IDArgs, _ []byte) (any, []byte, error) {
	return nil, nil, e.tree.Abort(ctx, a.ID)
}
