// This file has changes of unsaved documents made by the editor that shows them.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"sandboxagent/editors"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/tools"
)

const editOp = "apply patch"

// editFunc is the type of tools.Env.Editor.
type editFunc = func(ctx context.Context, id string, changes []tools.EditorChange) error

// intoEditor has changes made in the editor of a session, or in the one that shows the documents. What the tools see from then on is
// what the editor has then.
func (a *Activities) intoEditor(session string) editFunc {
	return func(ctx context.Context, id string, changes []tools.EditorChange) error {
		known, err := a.loadUnsaved(ctx, session)
		if err != nil {
			return err
		}
		edit, editor := buffers.Edit{ID: id}, ""
		for i := range changes {
			c := &changes[i]
			c.Open = whereOpen(known.Files[c.Path].Open, c.Open)
			if i > 0 && c.Editor != editor {
				return sandbox.Errorf(sandbox.ClassDenied, editOp, "these files are open in several editors, so nothing was written; change each by a patch of its own")
			}
			editor = c.Editor
			edit.Files = append(edit.Files, buffers.File{URI: c.URI, From: c.Before, Text: c.After})
		}
		if editor == "" {
			return sandbox.Errorf(sandbox.ClassDenied, editOp, "%s: this file has unsaved changes in the user's editor, so nothing was written; "+
				"ask the user to save it, then try again", changes[0].Path)
		}
		answer, err := a.buffers.Do(ctx, editor, edit)
		switch {
		case errors.Is(err, buffers.ErrNobody):
			return sandbox.Errorf(sandbox.ClassDenied, editOp,
				"%s has unsaved changes in an editor that is not there any more, so nothing was written; ask the user to save or close it, then try again", changes[0].Path)
		case err != nil || answer.Unknown:
			return &sandbox.Error{Class: sandbox.ClassUnknown, Op: editOp, Message: "the user's editor did not tell whether it has made the change", Err: err}
		}
		known.learn(changes, answer)
		if err := a.saveUnsaved(context.WithoutCancel(ctx), session, known); err != nil {
			return err
		}
		if !answer.Applied {
			return sandbox.Errorf(sandbox.ClassDenied, editOp, "the user's editor did not take the change, and nothing was written: %s", answer.Reason)
		}
		return nil
	}
}

// whereOpen prefers the editor that shows a document now to the one that did when the user asked.
func whereOpen(asked, now tools.Open) tools.Open {
	if now.Editor == "" {
		return asked
	}
	return now
}

// learn takes what an editor has told of documents that it was to change.
func (u *unsavedTexts) learn(changes []tools.EditorChange, answer buffers.Answer) {
	if u.Files == nil {
		u.Files = map[string]unsavedText{}
	}
	for _, c := range changes {
		now, told := answer.Now[c.URI]
		file, asked := u.Files[c.Path]
		switch {
		case slices.Contains(answer.Closed, c.URI):
			delete(u.Files, c.Path) // the file counts
			continue
		case !told && !answer.Applied:
			continue
		case !told:
			now = c.After
		}
		file.Text, file.Base, file.Open, file.Late = now, c.Base, c.Open, file.Late || !asked
		u.Files[c.Path] = file
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
