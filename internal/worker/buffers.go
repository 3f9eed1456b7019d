// This file has changes of unsaved documents made by the editor that shows them.

package worker

import (
	"context"
	"encoding/json"
	"errors"

	"sandboxagent/editors"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/tools"
)

const editOp = "apply patch"

// editFunc is the type of tools.Env.Editor.
type editFunc = func(ctx context.Context, id string, changes []tools.EditorChange) error

// intoEditor has changes made in the editor of a session. What the tools see from then on is what the editor has then.
func (a *Activities) intoEditor(session string) editFunc {
	return func(ctx context.Context, id string, changes []tools.EditorChange) error {
		known, err := a.loadUnsaved(ctx, session)
		if err != nil {
			return err
		}
		edit := buffers.Edit{ID: id}
		for _, c := range changes {
			edit.Files = append(edit.Files, buffers.File{URI: known.URIs[c.Path], Base: buffers.Sum(c.Before), Text: c.After})
		}
		answer, err := a.buffers.Do(ctx, known.Holder, edit)
		switch {
		case errors.Is(err, buffers.ErrNobody):
			return sandbox.Errorf(sandbox.ClassDenied, editOp,
				"%s has unsaved changes in an editor that is not there any more, so nothing was written; ask the user to save or close it, then try again", changes[0].Path)
		case err != nil || answer.Unknown:
			return &sandbox.Error{Class: sandbox.ClassUnknown, Op: editOp, Message: "the user's editor did not tell whether it has made the change", Err: err}
		}
		for _, c := range changes {
			u := known.Files[c.Path]
			if now, ok := answer.Now[known.URIs[c.Path]]; ok {
				u.Text = now
			}
			if answer.Applied {
				u.Text = c.After
			}
			known.Files[c.Path] = u
		}
		if err := a.saveUnsaved(context.WithoutCancel(ctx), session, known); err != nil {
			return err
		}
		if !answer.Applied {
			return sandbox.Errorf(sandbox.ClassDenied, editOp, "the user's editor did not take the change, and nothing was written: %s", answer.Reason)
		}
		return nil
	}
}

func (a *Activities) takeEdit(ctx context.Context, params json.RawMessage) (any, error) {
	var p buffers.Taker
	if err := json.Unmarshal(params, &p); err != nil || p.Holder == "" {
		return nil, editors.Errorf(editors.CodeInvalidParams, "takeEdit takes a holder.")
	}
	return a.buffers.Take(ctx, p.Holder), nil
}

func (a *Activities) answerEdit(_ context.Context, params json.RawMessage) (any, error) {
	var p buffers.Answer
	if err := json.Unmarshal(params, &p); err != nil || p.ID == "" {
		return nil, editors.Errorf(editors.CodeInvalidParams, "answerEdit takes an id and what came of the edit.")
	}
	a.buffers.Answer(p)
	return editors.Empty{}, nil
}
